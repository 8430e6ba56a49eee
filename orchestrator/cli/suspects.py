"""Get a suspect's answers from its model file, files of answers, or a network address."""

from __future__ import annotations

import hashlib
import os
import secrets
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, get_args

import click

from orchestrator.cli.common import INPUT, option_group
from orchestrator.cli.model_files import trust_options
from orchestrator.cli.urls import read_secret
from wm.verification.answers import KINDS, AnswerKind, Answers
from wm.verification.endpoint import FORMATS, PLACED, Limits
from wm.verification.questions import Units, build_questions, controls_needed, read_order, sort_answers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wm.forest import Forest
    from wm.verification.endpoint import Endpoint, Wire
    from wm.verification.judgement import Response
    from wm.verification.questions import Questions
    from wm.verification.samples import Sample

TOKEN_VARIABLE = "WM_ENDPOINT_TOKEN"  # noqa: S105 - the name of the variable that holds it
"""Environment variable with the token of an endpoint."""

_AUTO = "auto"
PROBES = 3
"""Controls that are shown to find out the format of questions."""

_LIMITS = {
    "batch_size": ("batch_size", click.IntRange(1, 100_000), "Maximum rows in one request to --url."),
    "request_limit_s": (
        "request_s",
        click.FloatRange(0, 86_400, min_open=True),
        "Maximum seconds for one request.",
    ),
    "total_limit_s": (
        "total_s",
        click.FloatRange(0, 604_800, min_open=True),
        "Maximum seconds for all requests, with pauses.",
    ),
    "attempts": ("attempts", click.IntRange(1, 1000), "Maximum tries of one request."),
}
"""Options of an endpoint: field of `Limits`, type and help."""


TEXT_TO_URL = (
    "--url is asked for numbers, but the raw rows have text: write them by wm queries --units raw, "
    "and give the answers in a file"
)


class Named(Protocol):
    """The part of a claim's header that says what rows and answers mean."""

    @property
    def class_names(self) -> tuple[str, str]:
        """Names of the classes 0 and 1."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""


@dataclass(frozen=True, eq=False)
class Suspect:
    """The answers of a suspect."""

    response: Response
    """On the rows of the sample."""
    description: str
    """Source of the answers, for the record."""


question_options = option_group(
    click.option(
        "--controls",
        type=click.IntRange(min=1),
        help="Controls to ask beside the trigger rows.  [default: as many as the level needs]",
    ),
    click.option(
        "--repeats",
        type=click.IntRange(0, 10_000),
        default=5,
        help="Rows asked twice, to check that the answers are consistent.",
    ),
    click.option(
        "--units",
        type=click.Choice(get_args(Units)),
        default="model",
        help="Ask rows as model input, or in the owner's raw units.",
    ),
)
"""Options that say which rows are asked, and how."""

suspect_options = option_group(
    click.option(
        "--model",
        type=INPUT,
        help="Suspect model whose trees vote (docs/formats.md): npz, onnx, skops, joblib.",
    ),
    trust_options,
    click.option("--votes", type=INPUT, help="Suspect's votes of each tree (csv or npz)."),
    click.option(
        "--probabilities", type=INPUT, help="Suspect's probabilities of class 1, or of both classes."
    ),
    click.option("--labels", type=INPUT, help="Suspect's labels."),
    click.option("--order", type=INPUT, help="File of wm queries --order, for files of answers."),
    click.option("--url", metavar="URL", help="Suspect at a network address (docs/verification.md)."),
    question_options,
    click.option(
        "--format",
        type=click.Choice([_AUTO, *FORMATS]),
        default=_AUTO,
        help="Format of questions to --url (docs/servers.md); auto finds it with some controls.",
    ),
    click.option(
        "--json-rows",
        metavar="PATH",
        help=f"Keys under which --url takes rows, as in data.rows; for --format {' or '.join(PLACED)}.",
    ),
    click.option(
        "--json-path",
        metavar="PATH",
        help="Place of the answers in what --url replies, as in result.scores or items[*].score.",
    ),
    *(
        click.option(f"--{name.replace('_', '-')}", type=kind, default=getattr(Limits(), field), help=text)
        for name, (field, kind, text) in _LIMITS.items()
    ),
    click.option(
        "--header",
        "headers",
        multiple=True,
        metavar="NAME: VALUE",
        help="Header of each request to --url, beside or instead of the default ones; repeatable.",
    ),
    click.option(
        "--token-file",
        type=INPUT,
        help=f"File with the token of --url.  [default: the variable {TOKEN_VARIABLE}]",
    ),
)
"""The sources of answers, and the options of an endpoint."""


def read_suspect_model(options: dict[str, Any]) -> Forest:
    """Read the model that --model names, whose trees must vote."""
    from wm.formats.reading import read_model

    file = options["model"]
    model = read_model(file, trusted=options["trusted"], trust_pickle=options["trust_pickle"])
    return model.voting_forest(str(file))


def ask_suspect(sample: Sample, options: dict[str, Any], level: float) -> Suspect:
    """Get the answers of the suspect that the options name.

    Raises
    ------
    click.UsageError
        No suspect, or options that do not go together.
    WmError
        Files or an endpoint with invalid answers.
    """
    check_sources(options)
    if options["model"] is not None:
        from wm.verification.judgement import model_response

        forest = read_suspect_model(options)
        description = f"model {options['model']}, content hash {forest.content_hash}"
        return Suspect(model_response(forest, sample), description)
    if options["url"] is not None:
        return _from_endpoint(sample, options, level)
    return _from_files(sample, options)


def check_sources(options: dict[str, Any]) -> None:
    """Raise `click.UsageError` unless either a model, an address, or files of answers are given."""
    kinds = [kind for kind in KINDS if options[kind] is not None]
    sources = [options["model"] is not None, options["url"] is not None, bool(kinds)]
    if sum(sources) != 1:
        raise click.UsageError(
            "give a suspect: --model, or --url, or files of its answers: --votes, --probabilities, --labels"
        )
    if options["order"] is not None and not kinds:
        raise click.UsageError("--order is for the answers in --votes, --probabilities or --labels")
    if options["url"] is None and (
        options["format"] != _AUTO or options["json_rows"] is not None or options["json_path"] is not None
    ):
        raise click.UsageError("--format, --json-rows and --json-path say how to ask a --url: give one")


def questions_of(sample: Sample, options: dict[str, Any], level: float, *, spare: int = 0) -> Questions:
    """Return the questions that the options ask for, in an order that nobody can foresee.

    Parameters
    ----------
    spare
        As in `build_questions`.
    """
    import numpy as np

    given = options["controls"]
    return build_questions(
        sample,
        np.random.default_rng(secrets.randbits(128)),
        controls=controls_needed(sample, level) if given is None else given,
        repeats=options["repeats"],
        units=options["units"],
        spare=spare,
    )


def _from_files(sample: Sample, options: dict[str, Any]) -> Suspect:
    answers, description = answers_in_files(sample.header, options)
    return Suspect(sort_answers(answers, read_order(options["order"]), sample), description)


def answers_in_files(header: Named, options: dict[str, Any]) -> tuple[dict[AnswerKind, Answers], str]:
    """Return the answers in the files that the options name, and a description of them."""
    from wm.verification.answer_files import parse_answers, read_file

    if options["order"] is None:
        raise click.UsageError("answers need the --order of their questions: ask the rows of wm queries")
    answers: dict[AnswerKind, Answers] = {}
    texts = []
    for kind in KINDS:
        file = options[kind]
        if file is None:
            continue
        content = read_file(file)
        answers[kind] = parse_answers(
            content, kind, class_names=header.class_names, feature_names=header.feature_names, what=str(file)
        )
        texts.append(f"{kind} in {file}, SHA-256 {hashlib.sha256(content).hexdigest()}")
    return answers, "; ".join(texts)


def _from_endpoint(sample: Sample, options: dict[str, Any], level: float) -> Suspect:
    spare = PROBES if options["format"] == _AUTO else 0
    questions = questions_of(sample, options, level, spare=spare)
    if questions.cells is not None:
        raise click.UsageError(TEXT_TO_URL)
    answers, endpoint, wire = ask_endpoint(questions.X, questions.spare, sample.header, options)
    response = sort_answers({answers.kind: answers}, questions.order, sample)
    note = f"asked in format {wire.name}, answered by {answers.kind}"
    count = len(questions.order.asked)
    return Suspect(
        replace(response, notes=(*response.notes, note)),
        f"endpoint {endpoint.what}, format {wire.name}, asked {count} rows, {response.asked_twice} of them a "
        "second time",
    )


def ask_endpoint(
    X: NDArray[np.float32], spare: NDArray[np.float32], header: Named, options: dict[str, Any]
) -> tuple[Answers, Endpoint, Wire]:
    """Return the answers of the endpoint that the options name, and how it was asked.

    Parameters
    ----------
    X : (q, d), spare : (s, d)
        The questions, and other rows to find out the format with.
    """
    from wm.verification.endpoint import Endpoint, ask, read_headers

    endpoint = Endpoint(
        options["url"],
        token=_token(options["token_file"]),
        headers=read_headers(options["headers"]),
        limits=Limits(**{field: options[name] for name, (field, _, _) in _LIMITS.items()}),
    )
    wire = _wire(endpoint, spare, header, options)
    return ask(endpoint, X, class_names=header.class_names, wire=wire), endpoint, wire


def _wire(endpoint: Endpoint, spare: NDArray[np.float32], header: Named, options: dict[str, Any]) -> Wire:
    from wm.verification.endpoint import find_wire, read_path, wire_of

    answers_at = options["json_path"]
    places: Any = {
        "rows_at": read_path(options["json_rows"] or ""),
        "answers_at": None if answers_at is None else read_path(answers_at),
    }
    names, classes = header.feature_names, header.class_names
    if options["format"] != _AUTO:
        return wire_of(options["format"], endpoint, names, **places)
    if not len(spare):
        raise click.UsageError("the claim shows no control to spare: give the --format of questions")
    return find_wire(endpoint, spare, names=names, class_names=classes, **places)


def _token(file: Path | None) -> str | None:
    if file is not None:
        return read_secret(file, "--token-file")
    return os.environ.get(TOKEN_VARIABLE) or None
