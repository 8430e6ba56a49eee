"""`wm forge`: try to forge a trigger set of one model."""

from __future__ import annotations

import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import rich.console
from rich.progress import track

from orchestrator.cli import Exit
from orchestrator.cli.attacker_data import attacker_rows
from orchestrator.cli.common import INPUT, OUTPUT, json_option, print_json, print_table
from orchestrator.cli.forged_files import plain_cells, write_forged
from orchestrator.cli.forged_rows import IMPOSSIBLE_ON_GRID, Answer, Question, question_of, rule_options
from orchestrator.cli.model_files import data_options, scaling_option, test_share_option, trust_options
from orchestrator.cli.schemes import refuse_foreign
from orchestrator.files import refuse_unwritable
from wm.attacks.forgery import Forger, attacker_signature
from wm.engines import EngineOptions, ForgeryOutcome, Status, names, options_model
from wm.errors import ModelError, SignatureError
from wm.signature import Signature

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wm.forest import Forest
    from wm.formats.raw_form import RawForm
    from wm.models import TreeModel


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
@test_share_option
@scaling_option("How to scale the rows of --dataset.  [default: as the model's thresholds are]")
@click.option(
    "--domain",
    "domain_file",
    type=INPUT,
    help="Rows, labelled or not, whose range is what features may have (csv, npz, svmlight).  [default: that "
    "of the instances, or 0 to 1 for a scaled model]",
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
    help="File for the forged rows: npz, with labels and signatures; of a pipeline csv, with raw rows.",
)
@json_option
def forge(
    model: Path, output: Path | None, json: bool, trust_pickle: bool, trusted: tuple[str, ...], **options: Any
) -> None:
    """Search for instances on which MODEL shows a false signature.

    A tree that adds to a margin, as in boosted models, votes by the sign of what it adds about its centre.
    A pipeline of scikit-learn is given raw rows. The search starts from natural instances. The exit code is 3
    if a limit left an instance without answer.
    """
    from wm.formats.reading import read_model
    from wm.interface import read_interface

    if options["bits"] is not None:
        refuse_foreign(
            click.get_current_context(),
            ("count", "ones_share"),
            "is for random signatures",
            "leave it out with --signature",
        )
    if options["certify"] and options["eps"] is None:
        raise click.UsageError("--certify needs --eps as a number")
    engine = options["engine"]
    options["engine_option"] = options_model(engine).of(options["engine_option"], engine=engine, texts=True)
    suspect = read_model(model, trusted=trusted, trust_pickle=trust_pickle)
    form = _raw_form(suspect, model)
    ending = ".npz" if form is None else ".csv"
    if output is not None and output.suffix != ending:
        raise click.UsageError(f"{output}: the ending must be {ending}")
    if output is not None:
        refuse_unwritable(output)
    if form is not None:
        suspect = form.model
    classes = None if suspect.classes is None else len(suspect.classes)
    interface = read_interface(model, suspect.forest, classes)
    start = attacker_rows(suspect, interface, form=form, **options)
    question = question_of(suspect, start, form=form, **options)
    y = start.labels
    signatures = _signatures(question.forest, **options)
    answers = list(
        track(
            _answers(question, signatures, **options),
            "forging",
            total=len(signatures) * len(y),
            console=rich.console.Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )
    )
    if output is not None:
        write_forged(output, start, answers, signatures)
    counts = [_counts(answers, number, question) for number in range(len(signatures))]
    if json:
        print_json(_document(counts, y, answers, signatures))
    else:
        print_table(list(counts[0]), [list(row.values()) for row in counts])
    answered = all(answer.outcome.status in (Status.FORGED, Status.IMPOSSIBLE) for answer in answers)
    click.get_current_context().exit(Exit.DONE if answered else Exit.INCOMPLETE)


def _raw_form(suspect: TreeModel, file: Path) -> RawForm | None:
    """Return the raw form of a pipeline; None for another model."""
    from wm.formats.raw_form import raw_form

    if suspect.preparation is None:
        return None
    try:
        return raw_form(suspect)
    except ModelError as reason:
        raise ModelError(
            f"{file}: {reason}: save its last step alone, and give rows that are prepared"
        ) from reason


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
    signatures: list[Signature],
    *,
    eps: float | None,
    engine: str,
    engine_option: EngineOptions,
    timeout_s: float,
    memory_mb: int | None,
    certify: bool,
    **_: Any,
) -> Iterator[Answer]:
    memory = None if memory_mb is None else memory_mb * 2**20
    chosen = engine_option.model_dump()
    with Forger(
        question.forest, engine, timeout_s=timeout_s, memory_bytes=memory, certify=certify, options=chosen
    ) as forger:
        answer = forger.nearest if eps is None else forger.ask
        for number, instance, query in question.queries(signatures, 1.0 if eps is None else eps):
            yield question.answered(number, instance, query, answer(query), forger.ask)


def _counts(answers: list[Answer], number: int, question: Question) -> dict[str, Any]:
    """Return the counts and distances of one signature."""
    mine = [answer for answer in answers if answer.signature == number]
    counts = Counter(answer.status for answer in mine)
    kinds = [status.value for status in Status]
    if question.slack != 0:  # the model compares float64 numbers
        kinds.insert(kinds.index(Status.IMPOSSIBLE) + 1, IMPOSSIBLE_ON_GRID)
    distances = [answer.outcome.distance for answer in mine if answer.outcome.distance is not None]
    return {
        "signature": number,
        "instances": len(mine),
        **{kind: counts[kind] for kind in kinds},
        "seconds": sum(answer.outcome.seconds for answer in mine),
        "least_distance": min(distances, default=None),
        "median_distance": statistics.median(distances) if distances else None,
    }


def _document(
    counts: list[dict[str, Any]], y: NDArray[Any], answers: list[Answer], signatures: list[Signature]
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
                "status": answer.status,
                "distance": answer.outcome.distance,
                "seconds": answer.outcome.seconds,
                "reason": answer.outcome.reason,
                "missing_values": _missing(answer.outcome),
                **({} if answer.raw is None else {"row": plain_cells(answer.raw)}),
            }
            for answer in answers
        ],
    }


def _missing(outcome: ForgeryOutcome) -> int | None:
    """Return how many values a witness leaves out; None without a witness."""
    return None if outcome.witness is None else int((outcome.witness != outcome.witness).sum())
