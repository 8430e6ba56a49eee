"""`wm verify`: judge a claim against a suspect."""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from orchestrator.cli import Exit
from orchestrator.cli.common import INPUT, OUTPUT, json_option, option_group, print_facts, print_json
from orchestrator.cli.model_files import moment
from orchestrator.cli.suspects import Suspect, ask_suspect, suspect_options
from orchestrator.files import write_whole
from wm.claims.opening import Opening, read_claim_or_opening
from wm.claims.publication import commitments_before, read_publications
from wm.verification.rules import Policy, RuleResult
from wm.verification.verdict import Verdict, judge, transcript

_POLICY = {
    "level": ("level", "Maximum p-value that counts as proof."),
    "least_ones": ("min_ones", "Minimum share of ones in the signature."),
    "most_ones": ("max_ones", "Maximum share of ones in the signature."),
    "least_distinct": (
        "min_distinct",
        "Minimum share of distinct trigger rows, as rows and by the leaves they reach.",
    ),
}
"""Field of `Policy` and help text for each option."""

_policy_options = option_group(
    *(
        click.option(f"--{name.replace('_', '-')}", type=float, default=getattr(Policy(), field), help=text)
        for name, (field, text) in _POLICY.items()
    )
)


@click.command()
@click.argument("claim_file", metavar="CLAIM", type=INPUT)
@suspect_options
@click.option(
    "--published",
    type=INPUT,
    multiple=True,
    help="Published commitment, or a log of them, known to be older than the suspect; repeatable.",
)
@click.option(
    "--suspect-since",
    callback=moment,
    metavar="DATE",
    help="Count only published commitments dated before this (ISO 8601).",
)
@click.option("--challenge", help="For an opening: your challenge, which drew its rows.")
@_policy_options
@click.option(
    "--transcript", "transcript_file", type=OUTPUT, help="Write the verdict as text, for the record."
)
@json_option
def verify(
    claim_file: Path,
    published: tuple[Path, ...],
    suspect_since: datetime | None,
    challenge: str | None,
    transcript_file: Path | None,
    json: bool,
    **options: Any,
) -> None:
    """Judge whether a suspect carries the watermark of a CLAIM.

    CLAIM may be an opening. The suspect is a model file, a file of its answers to the rows of wm queries, or
    a network address. Every rule of the protocol is printed with its figure. The exit code is 0 if no rule
    failed, 1 if one did, 4 if the network address does not answer.
    """
    claim = read_claim_or_opening(claim_file)
    if suspect_since is not None and not published:
        raise click.UsageError("--suspect-since needs --published")
    publications = [each for file in published for each in read_publications(file)]
    suspect = ask_suspect(claim, options)
    verdict = judge(
        claim,
        suspect.answers,
        policy=Policy(**{field: options[name] for name, (field, _) in _POLICY.items()}),
        published=commitments_before(publications, suspect_since) if published else None,
        suspect=suspect.forest,
        challenge=None if challenge is None else challenge.encode(),
    )
    if transcript_file is not None:
        answers = suspect.answers
        consistency = f"{answers.asked_twice} rows, {answers.answered_differently} with different answers"
        about = {
            "opening" if isinstance(claim, Opening) else "claim": str(claim_file),
            "commitment": claim.commitment,
            "model": claim.model_id,
            "suspect": suspect.description,
            "asked twice": consistency if answers.asked_twice else "no row",
        }
        write_whole(transcript_file, transcript(verdict, about=about).encode())
    facts = _facts(verdict, suspect)
    with contextlib.suppress(BrokenPipeError):  # the verdict is the exit code, even if nobody reads the rest
        if json:
            print_json(facts)
        else:
            print_facts(_in_words(facts, verdict))
    click.get_current_context().exit(Exit.DONE if verdict.accepted else Exit.NEGATIVE)


def _facts(verdict: Verdict, suspect: Suspect) -> dict[str, Any]:
    answers = suspect.answers
    return {
        "verdict": "verified" if verdict.accepted else "not verified",
        "source": answers.triggers.kind,
        **asdict(verdict.evidence),
        "p_value": float(10.0**verdict.evidence.log10_p),
        "stopped_by": list(verdict.stopped_by),
        "open_questions": list(verdict.open_questions),
        "suspect": suspect.description,
        "decoys": len(answers.decoys),
        "asked_twice": answers.asked_twice,
        "answered_differently": answers.answered_differently,
        "rules": [asdict(each) for each in verdict.rules],
    }


def _in_words(facts: dict[str, Any], verdict: Verdict) -> dict[str, Any]:
    """Return the same facts as text, one line each."""
    unchecked = ", ".join(verdict.open_questions)
    # The first line alone must not suggest that unchecked rules passed.
    proviso = f", with open questions: {unchecked}" if verdict.accepted and unchecked else ""
    return facts | {
        "verdict": f"{facts['verdict']}{proviso}",
        "stopped_by": ", ".join(verdict.stopped_by) or "nothing",
        "open_questions": unchecked or "none",
        "rules": [_line(each) for each in verdict.rules],
    }


def _line(result: RuleResult) -> str:
    figure = "" if result.figure is None else f" ({result.figure:.4g})"
    return f"{result.rule}: {result.outcome}{figure}: {result.reason}"
