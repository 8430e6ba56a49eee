"""Get a suspect's answers from its model file, files of answers, or a network address."""

from __future__ import annotations

import hashlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.common import INPUT, option_group
from orchestrator.cli.model_files import column, trust_options
from orchestrator.cli.urls import read_secret
from wm.claims.claim import Claim
from wm.claims.opening import Opening
from wm.verification.answers import KINDS, Answers, model_votes
from wm.verification.endpoint import Limits
from wm.verification.questions import (
    DECOYS_FOR_EACH,
    Questions,
    SortedAnswers,
    build_questions,
    plain_order,
    read_order,
    sort_answers,
)

if TYPE_CHECKING:
    from wm.forest import Forest

TOKEN_VARIABLE = "WM_ENDPOINT_TOKEN"  # noqa: S105 - the name of the variable that holds it
"""Environment variable with the token of an endpoint."""

_REPEATS = 5
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


@dataclass(frozen=True, eq=False)
class Suspect:
    """The answers of a suspect."""

    answers: SortedAnswers
    forest: Forest | None
    """The model, if the judge has it."""
    description: str
    """Source of the answers, for the record."""


decoy_options = option_group(
    click.option(
        "--decoys",
        type=INPUT,
        help="Ordinary rows with their labels to hide the trigger rows among (csv, npz, svmlight); "
        "scaled as the model takes them.",
    ),
    click.option("--decoy-label", help="Label column of a csv file of decoys: name, or index from 0."),
    click.option(
        "--decoys-for-each",
        type=click.IntRange(1, 10_000),
        default=DECOYS_FOR_EACH,
        help="Decoys for each trigger row.",
    ),
    click.option(
        "--repeats",
        type=click.IntRange(0, 10_000),
        default=_REPEATS,
        help="Rows asked twice, to check that the answers are consistent.",
    ),
    click.option(
        "--order-seed",
        type=click.IntRange(min=0),
        help="The judge's seed for decoys and their order.  [default: random]",
    ),
)
"""Options that hide trigger rows among others."""

suspect_options = option_group(
    click.option("--model", type=INPUT, help="Suspect model (npz, skops, joblib)."),
    trust_options,
    click.option("--votes", type=INPUT, help="Suspect's votes on the trigger rows (csv or npz)."),
    click.option(
        "--probabilities",
        type=INPUT,
        help="Suspect's probabilities of class 1, or of both classes, if it gives no votes.",
    ),
    click.option("--labels", type=INPUT, help="Suspect's labels, if it gives nothing else."),
    click.option("--order", type=INPUT, help="File of wm queries --order, for answers to its rows."),
    click.option("--url", metavar="URL", help="Suspect at a network address (docs/verification.md)."),
    decoy_options,
    *(
        click.option(f"--{name.replace('_', '-')}", type=kind, default=getattr(Limits(), field), help=text)
        for name, (field, kind, text) in _LIMITS.items()
    ),
    click.option(
        "--token-file",
        type=INPUT,
        help=f"File with the token of --url.  [default: the variable {TOKEN_VARIABLE}]",
    ),
)
"""The sources of answers, of which exactly one is given, and the options of an endpoint."""


def ask_suspect(claim: Claim | Opening, options: dict[str, Any]) -> Suspect:
    """Get the answers of the suspect that the options name.

    Raises
    ------
    click.UsageError
        No or several suspects, or options that do not go together.
    WmError
        Files or an endpoint with invalid answers.
    """
    sources = [name for name in ("model", *KINDS, "url") if options[name] is not None]
    if len(sources) != 1:
        raise click.UsageError("give either --model or --votes, --probabilities, --labels or --url")
    if options["order"] is not None and sources[0] not in KINDS:
        raise click.UsageError("--order is for the answers in --votes, --probabilities or --labels")
    if options["decoys"] is not None and sources[0] != "url":
        raise click.UsageError("--decoys is for --url; for files of answers give it to wm queries")
    match sources[0]:
        case "model":
            return _from_model(claim, options)
        case "url":
            return _from_endpoint(claim, options)
        case kind:
            return _from_file(claim, kind, options)


def chosen_questions(claim: Claim | Opening, options: dict[str, Any]) -> tuple[Questions, int]:
    """Return the questions for a suspect, and the seed of their order."""
    from wm import streams
    from wm.verification.decoys import read_decoys

    seed = secrets.randbits(62) if options["order_seed"] is None else options["order_seed"]
    file = options["decoys"]
    decoys = None if file is None else read_decoys(file, claim, label=column(options["decoy_label"]))
    questions = build_questions(
        claim,
        decoys,
        streams.generator(seed, streams.Role.JUDGE_QUESTIONS),
        decoys_for_each=options["decoys_for_each"],
        repeats=options["repeats"],
    )
    return questions, seed


def _from_model(claim: Claim | Opening, options: dict[str, Any]) -> Suspect:
    from wm.formats.export import load_model

    file = options["model"]
    forest = load_model(file, trusted=options["trusted"], trust_pickle=options["trust_pickle"])
    votes = Answers("votes", model_votes(forest, claim.trigger_set.X, claim.class_names, what=str(file)))
    return Suspect(
        sort_answers(votes, plain_order(claim)), forest, f"model {file}, content hash {forest.content_hash}"
    )


def _from_file(claim: Claim | Opening, kind: Any, options: dict[str, Any]) -> Suspect:
    from wm.verification.answer_files import parse_answers, read_file

    file = options[kind]
    if options["order"] is None and kind != "votes":
        raise click.UsageError(
            f"--{kind} prove nothing without decoys to compare with: ask the rows of wm queries --decoys, "
            "and give its --order"
        )
    order = plain_order(claim) if options["order"] is None else read_order(options["order"], claim)
    content = read_file(file)
    answers = parse_answers(content, kind, class_names=claim.class_names, what=str(file))
    digest = hashlib.sha256(content).hexdigest()
    return Suspect(sort_answers(answers, order), None, f"{kind} in {file}, SHA-256 {digest}")


def _from_endpoint(claim: Claim | Opening, options: dict[str, Any]) -> Suspect:
    from wm.verification.endpoint import ask, check_address

    token = _token(options["token_file"])
    url = options["url"]
    place = check_address(url, has_token=token is not None)
    questions, seed = chosen_questions(claim, options)
    order = questions.order
    if not order.decoys:
        click.echo(
            "No --decoys: the suspect may recognize the trigger rows and answer them differently.",
            err=True,
        )
    answers = ask(
        url,
        questions.X,
        token=token,
        class_names=claim.class_names,
        limits=Limits(**{field: options[name] for name, (field, _, _) in _LIMITS.items()}),
    )
    return Suspect(
        sort_answers(answers, order),
        None,
        f"endpoint {place}, asked {order.size} rows in the order of seed {seed}: {len(order.triggers)} "
        f"trigger rows, {len(order.decoys)} decoys, {len(order.repeats)} rows again",
    )


def _token(file: Path | None) -> str | None:
    if file is not None:
        return read_secret(file, "--token-file")
    return os.environ.get(TOKEN_VARIABLE) or None
