"""`wm forge`: try to forge a trigger set of one model."""

from __future__ import annotations

import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import rich.console
from rich.progress import track

from orchestrator.cli import Exit
from orchestrator.cli.attacker_data import attacker_rows
from orchestrator.cli.common import INPUT, OUTPUT, json_option, print_json, print_table
from orchestrator.cli.forged_rows import Question, model_to_forge, queries, question_of, rule_options
from orchestrator.cli.model_files import data_options, scaling_option, trust_options
from orchestrator.files import writing
from wm.attacks.forgery import Forger, attacker_signature
from wm.engines import EngineOptions, ForgeryOutcome, Status, names, options_model
from wm.errors import SignatureError
from wm.formats import npz
from wm.signature import Signature

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wm.forest import Forest
    from wm.formats.units import Domain


def _distance(_context: click.Context, _option: click.Parameter, text: str) -> float | None:
    """Return a distance in [0, 1]; None for "minimal"."""
    if text == "minimal":
        return None
    try:
        if 0 <= (distance := float(text)) <= 1:
            return distance
    except ValueError:
        pass
    raise click.BadParameter(f"{text!r} is neither a number from 0 to 1 nor the word minimal")


def _pairs(_context: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    if wrong := [text for text in texts if "=" not in text]:
        raise click.BadParameter(f"{wrong[0]!r} is not of the form NAME=VALUE")
    return {name.strip(): value.strip() for name, _, value in (text.partition("=") for text in texts)}


@dataclass(frozen=True)
class _Answer:
    """The outcome of one instance for one signature."""

    signature: int
    instance: int
    outcome: ForgeryOutcome


@click.command()
@click.argument("model", type=INPUT)
@click.option(
    "--rows",
    type=INPUT,
    help="Instances to start from: a raw table if the model knows its columns, else model input.",
)
@click.option("--dataset", help="Start from test rows of this data set instead: breast-cancer, mnist2-6, ...")
@click.option(
    "--split-seed", type=click.IntRange(0, 2**32 - 1), default=0, help="Seed of the split of --dataset."
)
@data_options
@scaling_option("How to scale the rows of --dataset.  [default: as the model's thresholds are]")
@click.option(
    "--domain",
    "domain_file",
    type=INPUT,
    help="Rows whose range is what features may have (csv, npz, svmlight).  [default: that of the instances, "
    "or 0 to 1 for a scaled model]",
)
@rule_options
@click.option("--signature", "bits", metavar="BITS", help="Forge this signature, not random ones.")
@click.option("--signatures", "count", type=click.IntRange(1), default=1, help="Random signatures to forge.")
@click.option("--ones-share", type=click.FloatRange(0, 1), default=0.5, help="Share of ones in each.")
@click.option("--seed", type=click.IntRange(0), default=0, help="The attacker's seed.")
@click.option("--instances", type=click.IntRange(1), default=50, help="Instances for each signature.")
@click.option(
    "--eps",
    metavar="EPS",
    callback=_distance,
    default="minimal",
    help="Largest change of a feature, as a share of its range, or minimal: search for the smallest one of "
    "each instance.",
)
@click.option("--engine", type=click.Choice(names()), default="portfolio", help="The solver.")
@click.option(
    "--engine-option",
    multiple=True,
    metavar="NAME=VALUE",
    callback=_pairs,
    help="Option of the engine, as in margin=1e-4 for z3; repeatable.",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    help="Seconds for each instance.",
)
@click.option("--memory-mb", type=click.IntRange(1), help="Memory limit of one query.")
@click.option("--certify", is_flag=True, help="Confirm each impossible by a checked proof; not for minimal.")
@trust_options
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    help="npz file for the forged rows, their labels and the signatures.",
)
@json_option
def forge(
    model: Path,
    output: Path | None,
    json: bool,
    trust_pickle: bool,
    trusted: tuple[str, ...],
    **options: Any,
) -> None:
    """Search for instances on which MODEL shows a false signature.

    A tree that adds to a margin, as in boosted models, votes by the sign of what it adds about its centre.
    The search starts from natural instances. The exit code is 3 if a limit left an instance without answer.
    """
    from wm.formats.reading import read_model
    from wm.interface import read_interface

    if options["certify"] and options["eps"] is None:
        raise click.UsageError("--certify needs --eps as a number")
    if output is not None and output.suffix != ".npz":
        raise click.UsageError(f"{output}: the ending must be .npz")
    engine = options["engine"]
    options["engine_option"] = options_model(engine).of(options["engine_option"], engine=engine, texts=True)
    suspect = model_to_forge(read_model(model, trusted=trusted, trust_pickle=trust_pickle), str(model))
    X, y, domain = attacker_rows(suspect, read_interface(model, suspect.forest), **options)
    question = question_of(suspect, domain, **options)
    if question.domain is not None:
        X = question.domain.to_unit(X)
    signatures = _signatures(question.forest, **options)
    answers = list(
        track(
            _answers(question, X, y, signatures, **options),
            "forging",
            total=len(signatures) * len(y),
            console=rich.console.Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
    )
    if output is not None:
        _write(output, X, y, answers, signatures, question.domain)
    counts = [_counts(answers, number) for number in range(len(signatures))]
    if json:
        print_json(_document(counts, y, answers, signatures))
    else:
        print_table(list(counts[0]), [list(row.values()) for row in counts])
    answered = all(answer.outcome.status in (Status.FORGED, Status.IMPOSSIBLE) for answer in answers)
    click.get_current_context().exit(Exit.DONE if answered else Exit.INCOMPLETE)


def _signatures(
    forest: Forest, *, bits: str | None, count: int, ones_share: float, seed: int, **_: Any
) -> list[Signature]:
    if bits is None:
        return [
            attacker_signature(seed, number=number, length=forest.n_trees, ones_share=ones_share, repeat=0)
            for number in range(count)
        ]
    if len(bits) != forest.n_trees:
        raise SignatureError(f"--signature has {len(bits)} bits, the model {forest.n_trees} trees")
    return [Signature.of(bits)]


def _answers(
    question: Question,
    X: NDArray[np.floating],
    y: NDArray[Any],
    signatures: list[Signature],
    *,
    eps: float | None,
    engine: str,
    engine_option: EngineOptions,
    timeout_s: float,
    memory_mb: int | None,
    certify: bool,
    **_: Any,
) -> Iterator[_Answer]:
    memory = None if memory_mb is None else memory_mb * 2**20
    chosen = engine_option.model_dump()
    with Forger(
        question.forest, engine, timeout_s=timeout_s, memory_bytes=memory, certify=certify, options=chosen
    ) as forger:
        answer = forger.nearest if eps is None else forger.ask
        for number, instance, query in queries(question, X, y, signatures, 1.0 if eps is None else eps):
            yield _Answer(number, instance, question.replayed(query, answer(query)))


def _counts(answers: list[_Answer], number: int) -> dict[str, Any]:
    """Return the counts and distances of one signature."""
    mine = [answer for answer in answers if answer.signature == number]
    counts = Counter(answer.outcome.status for answer in mine)
    distances = [answer.outcome.distance for answer in mine if answer.outcome.distance is not None]
    return {
        "signature": number,
        "instances": len(mine),
        **{status.value: counts[status] for status in Status},
        "seconds": sum(answer.outcome.seconds for answer in mine),
        "least_distance": min(distances, default=None),
        "median_distance": statistics.median(distances) if distances else None,
    }


def _document(
    counts: list[dict[str, Any]], y: NDArray[np.int64], answers: list[_Answer], signatures: list[Signature]
) -> dict[str, Any]:
    return {
        "signatures": [
            row | {"bits": str(signature)} for row, signature in zip(counts, signatures, strict=True)
        ],
        "instances": [
            {
                "signature": answer.signature,
                "instance": answer.instance,
                "label": y[answer.instance].item(),
                "status": answer.outcome.status.value,
                "distance": answer.outcome.distance,
                "seconds": answer.outcome.seconds,
                "reason": answer.outcome.reason,
                "missing_values": _missing(answer.outcome),
            }
            for answer in answers
        ],
    }


def _missing(outcome: ForgeryOutcome) -> int | None:
    """Return how many values a witness leaves out; None without a witness."""
    return None if outcome.witness is None else int((outcome.witness != outcome.witness).sum())


def _write(
    output: Path,
    X: NDArray[np.floating],
    y: NDArray[np.int64],
    answers: list[_Answer],
    signatures: list[Signature],
    domain: Domain | None,
) -> None:
    import numpy as np

    found = [answer for answer in answers if answer.outcome.witness is not None]
    instances = [answer.instance for answer in found]
    rows = [answer.outcome.witness for answer in found if answer.outcome.witness is not None]
    forged, centre = np.array(rows, dtype=np.float32).reshape(len(rows), X.shape[1]), X[instances]
    if domain is not None:
        forged, centre = domain.from_unit(forged), domain.low + centre * (domain.high - domain.low)
    data = npz.pack(
        {
            "X": forged,
            "y": y[instances],
            "centre": centre,
            "distance": np.array([answer.outcome.distance for answer in found], dtype=np.float64),
            "signature": np.array([answer.signature for answer in found], dtype=np.int64),
            "signatures": np.array([signature.array for signature in signatures], dtype=np.int8),
        }
    )
    with writing(output):
        output.write_bytes(data)
