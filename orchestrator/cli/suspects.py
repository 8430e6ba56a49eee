"""Get a suspect's answers from its model file, files of answers, or a network address."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import click

from orchestrator.cli.common import INPUT, option_group, say
from orchestrator.cli.endpoints import AUTO, LIMITS, PROBES, TEXT_TO_URL, TOKEN_VARIABLE, Named, ask_endpoint
from orchestrator.cli.model_files import trust_options
from wm.verification.answers import KINDS, AnswerKind, Answers
from wm.verification.endpoint.endpoint import Limits
from wm.verification.endpoint.formats import FORMATS, PLACED
from wm.verification.questions import Units, build_questions, controls_needed, read_order, sort_answers

if TYPE_CHECKING:
    from wm.forest import Forest
    from wm.models import TreeModel
    from wm.verification.judgement import Response
    from wm.verification.questions import Order, Questions
    from wm.verification.samples import Sample


NO_ORDER = "answers need the --order of their questions: ask the rows of wm queries"


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
        help="Suspect model file: npz, skops, joblib, onnx, XGBoost, LightGBM, CatBoost (docs/formats.md).",
    ),
    trust_options,
    click.option("--votes", type=INPUT, help="Suspect's votes of each tree (csv or npz)."),
    click.option(
        "--probabilities", type=INPUT, help="Suspect's probabilities of each class, or of class 1 of two."
    ),
    click.option("--labels", type=INPUT, help="Suspect's labels."),
    click.option("--order", type=INPUT, help="File of wm queries --order, for files of answers."),
    click.option("--url", metavar="URL", help="Suspect at a network address (docs/servers.md)."),
    question_options,
    click.option(
        "--format",
        type=click.Choice([AUTO, *FORMATS]),
        default=AUTO,
        help="Format of requests to --url (docs/servers.md); auto detects it with some controls.",
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
        for name, (field, kind, text) in LIMITS.items()
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
    """Read the model that --model names, whose trees must vote, on rows as they are given."""
    return read_suspect(options).voting_forest(str(options["model"]))


def read_suspect(options: dict[str, Any]) -> TreeModel:
    """Read the model that --model names."""
    from wm.formats.reading import read_model

    return read_model(options["model"], trusted=options["trusted"], trust_pickle=options["trust_pickle"])


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
        from wm.verification.suspects import suspect_response

        model, what = read_suspect(options), str(options["model"])
        response = suspect_response(model, sample, what=what)
        return Suspect(response, f"model {what}, content hash {model.forest.content_hash}")
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
        options["format"] != AUTO or options["json_rows"] is not None or options["json_path"] is not None
    ):
        raise click.UsageError("--format, --json-rows and --json-path say how to ask a --url: give one")


def questions_of(
    sample: Sample, options: dict[str, Any], level: float, *, spare: int = 0
) -> Questions[Order]:
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
    if options["order"] is None:
        raise click.UsageError(NO_ORDER)
    order = read_order(options["order"])
    answers, description = answers_in_files(sample.header, len(order.asked), options)
    return Suspect(sort_answers(answers, order, sample), description)


def answers_in_files(
    header: Named, asked: int, options: dict[str, Any]
) -> tuple[dict[AnswerKind, Answers], str]:
    """Return the answers in the files that the options name, to so many rows, and a description of them."""
    from wm.verification.answer_files import parse_answers, read_file

    answers: dict[AnswerKind, Answers] = {}
    texts = []
    for kind in KINDS:
        file = options[kind]
        if file is None:
            continue
        content = read_file(file)
        answers[kind] = parse_answers(
            content,
            kind,
            class_names=header.class_names,
            feature_names=header.feature_names,
            rows=asked,
            what=str(file),
        )
        if answers[kind].header:
            first = answers[kind].header
            say(f"{file}: has a line more than rows were asked: the first, {first}, is its header")
        texts.append(f"{kind} in {file}, SHA-256 {hashlib.sha256(content).hexdigest()}")
    return answers, "; ".join(texts)


def _from_endpoint(sample: Sample, options: dict[str, Any], level: float) -> Suspect:
    spare = PROBES if options["format"] == AUTO else 0
    questions = questions_of(sample, options, level, spare=spare)
    if questions.cells is not None:
        raise click.UsageError(TEXT_TO_URL)
    answers, endpoint, wire = ask_endpoint(questions.X, questions.spare, sample.header, options)
    response = sort_answers({answers.kind: answers}, questions.order, sample)
    note = f"asked in format {wire.name}, answered by {answers.kind}"
    count = len(questions.order.asked)
    return Suspect(
        response.noted(note),
        f"endpoint {endpoint.what}, format {wire.name}, asked {count} rows, {response.asked_twice} of them a "
        "second time",
    )
