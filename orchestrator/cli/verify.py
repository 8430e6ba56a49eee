"""`wm verify`: judge a claim against a suspect."""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import wm
from orchestrator.cli import Exit
from orchestrator.cli.common import INPUT, OUTPUT, jobs_option, json_option, print_json
from orchestrator.cli.lineup import OF_JUDGE, judge_options, verify_lineup
from orchestrator.cli.marks import mark
from orchestrator.cli.model_files import level_option, moment
from orchestrator.cli.schemes import refuse_foreign
from orchestrator.cli.suspects import ask_suspect, check_sources, read_suspect_model, suspect_options
from orchestrator.files import refuse_existing, refuse_unwritable, write_new, write_whole
from wm.claims.claim import Claim
from wm.claims.lineup import Drawn, LineupClaim
from wm.claims.lineup_opened import OpenedLineup
from wm.claims.opened import OpenedClaim
from wm.claims.pooled import PooledClaim
from wm.claims.reading import read_any_claim
from wm.embedding.options import DEFAULT_CANDIDATES, MAX_CANDIDATES
from wm.verification.judgement import Judgement, Requirements, VerdictKind, judge_sample
from wm.verification.transcript import judge_old_claim, transcript

if TYPE_CHECKING:
    from wm.claims.beacons.base import Receipt, Trust

_EXITS = {
    VerdictKind.VERIFIED: Exit.DONE,
    VerdictKind.INDICATION: Exit.OPEN,
    VerdictKind.UNJUDGED: Exit.OPEN,
    VerdictKind.NOT_VERIFIED: Exit.NEGATIVE,
}
_JUDGED = {Exit.DONE: True, Exit.OPEN: None, Exit.NEGATIVE: False}
_LONGEST = 12
"""Lines of output without --verbose."""


@click.command()
@click.argument("claim_file", metavar="CLAIM", type=INPUT)
@suspect_options
@click.option(
    "--trust", "trust_file", type=INPUT, help="File of the beacons that you trust (wm notary trust)."
)
@click.option("--log", "logs", type=INPUT, multiple=True, help="A notary's log of receipts; repeatable.")
@click.option(
    "--suspect-since",
    callback=moment,
    metavar="DATE",
    help="When the suspect appeared (ISO 8601): the draw must be older.",
)
@level_option("Significance level: the largest p-value that is verified.")
@click.option("--challenge", help="For an opening: the challenge that you gave.")
@click.option("--open", "opened", type=click.IntRange(min=1), help="For an opening: trigger rows asked for.")
@click.option(
    "--open-controls",
    type=click.IntRange(min=1),
    help="For an opening: controls asked for.  [default: as many as the level needs]",
)
@click.option(
    "--tried",
    type=click.IntRange(1, 10**9),
    default=1,
    help="Suspects and openings on which this claim was tried so far, this one included.",
)
@click.option(
    "--transcript", "transcript_file", type=OUTPUT, help="Write the complete verdict as text, for the record."
)
@judge_options
@click.option(
    "--candidates",
    type=click.IntRange(2, MAX_CANDIDATES),
    default=DEFAULT_CANDIDATES,
    help="For a line-up: trees to compare each tree with, the owner's among them.",
)
@click.option("--committed", type=INPUT, help="For a line-up: the candidates that the claim commits to.")
@click.option(
    "--judge-seed",
    metavar="TEXT",
    help="For a line-up: repeats a judge's choices; unknown to the claimant.  [default: a new one]",
)
@jobs_option("For a line-up: threads for training")
@click.option("--force", is_flag=True, help="Replace an existing transcript.")
@click.option("--verbose", is_flag=True, help="Print the complete verdict.")
@json_option
@click.pass_context
def verify(
    context: click.Context,
    /,
    claim_file: Path,
    trust_file: Path | None,
    logs: tuple[Path, ...],
    suspect_since: datetime | None,
    level: float,
    challenge: str | None,
    opened: int | None,
    open_controls: int | None,
    tried: int,
    transcript_file: Path | None,
    force: bool,
    verbose: bool,
    json: bool,
    **options: Any,
) -> None:
    """Judge whether a suspect carries the watermark of a CLAIM.

    CLAIM may be an opening. The suspect is a model file, files of its answers to the rows of wm queries, or a
    network address. The exit code is 0 for verified, 1 for not verified, 5 for an indication or if the claim
    cannot be judged, 4 if the network address does not answer. What verdicts mean: docs/security.md.
    """
    if transcript_file is not None:
        refuse_unwritable(transcript_file)
        if not force:
            refuse_existing(transcript_file)
    claim = read_any_claim(claim_file)
    if isinstance(claim, LineupClaim | OpenedLineup):
        refuse_foreign(context, ("controls", "open_controls"), "has no meaning for scheme lineup")
    else:
        refuse_foreign(context, OF_JUDGE, "is for claims of scheme lineup")
    if isinstance(claim, OpenedClaim | OpenedLineup) and (challenge is None or opened is None):
        raise click.UsageError(
            "an opening needs your --challenge and --open: without them the owner may have picked the rows"
        )
    if not isinstance(claim, OpenedClaim | OpenedLineup) and {challenge, opened, open_controls} != {None}:
        raise click.UsageError(
            f"--challenge, --open and --open-controls are for openings: {claim_file} is a whole claim"
        )
    asked = Requirements(
        level=level,
        suspect_since=suspect_since,
        challenge=challenge,
        opened=opened or 1,
        controls=open_controls,
        tried=tried,
    )
    about = {
        "program": f"treeproof {wm.__version__}",
        "opening" if isinstance(claim, OpenedClaim | OpenedLineup) else "claim": _named(claim_file),
        "commitment": claim.commitment,
    }
    if isinstance(claim, Claim):
        judgement, description = _judge_old(claim, options, level)
        about["model"] = claim.model_id
    else:
        header = claim.header
        trust, log = _trust(trust_file), _lines(logs, header.owner, claim.receipts)
        about |= {"model": header.model_id, "owner": header.owner}
        about |= {"trust": "none" if trust_file is None else _named(trust_file)}
        about |= {f"log {number}": _named(file) for number, file in enumerate(logs, 1)}
        if isinstance(claim, LineupClaim | OpenedLineup):
            judgement, description = verify_lineup(claim, options, asked, trust=trust, log=log)
        else:
            from wm.verification.samples import sample_of

            sample = sample_of(claim, trust=trust, log=log)
            suspect = ask_suspect(sample, options, level)
            judgement, description = judge_sample(sample, suspect.response, asked), suspect.description
        about |= _draw_and_suspect(claim, trust, log, asked)
    text = transcript(judgement, about=about | {"suspect": description})
    if transcript_file is not None:
        (write_whole if force else write_new)(transcript_file, text.encode())
    code = _EXITS[judgement.verdict]
    with contextlib.suppress(BrokenPipeError):  # the verdict is the exit code, even if nobody reads the rest
        if json:
            print_json(_facts(judgement, description))
        else:
            click.echo(text if verbose else "\n".join(_short(judgement, mark(_JUDGED[code]))), nl=not verbose)
    context.exit(code)


def _judge_old(claim: Claim, options: dict[str, Any], level: float) -> tuple[Judgement, str]:
    """Judge a claim of version 1 or 2, by the trees' votes only."""
    from wm.verification.answer_files import parse_answers, read_file
    from wm.verification.answers import model_votes

    check_sources(options)
    if options["model"] is not None:
        forest = read_suspect_model(options)
        votes = model_votes(forest, claim.trigger_set.X, claim.class_names, what=str(options["model"]))
        description = f"model {options['model']}, content hash {forest.content_hash}"
        return judge_old_claim(claim, votes, level=level, suspect=forest), description
    if options["votes"] is None:
        raise click.UsageError(
            f"a claim of version {claim.version} has no controls: give the suspect as --model or --votes"
        )
    found = parse_answers(
        read_file(options["votes"]),
        "votes",
        class_names=claim.class_names,
        rows=len(claim.trigger_set.labels),
        what=str(options["votes"]),
    )
    return judge_old_claim(claim, found.values, level=level), f"votes in {options['votes']}"


def _draw_and_suspect(
    claim: PooledClaim | OpenedClaim | Drawn, trust: Trust | None, log: tuple[str, ...], asked: Requirements
) -> dict[str, Any]:
    """Return what a verdict rests on beside the answers: receipts, and what the judge knew and asked for."""
    from wm.claims.beacons import claimed_value

    commitment, owner = claim.commitment, claim.header.owner
    _, beacons = claimed_value(claim.receipts, commitment=commitment, owner=owner, trust=trust, log=log)
    facts: dict[str, Any] = {
        f"receipt {number}": f"{each.about}, {'trusted' if each.trusted else 'not trusted'}, "
        f"{'no time' if each.time is None else each.time.isoformat()}, value {each.value.hex()}"
        for number, each in enumerate(beacons, 1)
    }
    since = asked.suspect_since
    facts |= {"suspect since": "not given" if since is None else since.isoformat(), "tried": asked.tried}
    if asked.challenge is not None:
        controls = "" if asked.controls is None else f", {asked.controls} controls"
        facts["challenge"] = f"{asked.challenge!r}, {asked.opened} asked for{controls}"
    return facts


def _named(file: Path) -> str:
    """Return a file's name with the hash of what it holds."""
    return f"{file}, SHA-256 {hashlib.sha256(file.read_bytes()).hexdigest()}"


def _trust(file: Path | None) -> Trust | None:
    from wm.claims.beacons.base import read_trust

    return None if file is None else read_trust(file)


def _lines(logs: tuple[Path, ...], owner: str, receipts: tuple[Receipt, ...]) -> tuple[str, ...]:
    from wm.claims.beacons.notary import read_log

    given = [each.content for each in receipts]
    return tuple(line for file in logs for line in read_log(file, owner, given))


def _facts(judgement: Judgement, description: str) -> dict[str, Any]:
    return {**asdict(judgement), "p_value": float(10.0**judgement.log10_p) or None, "suspect": description}


def _short(judgement: Judgement, sign: str) -> list[str]:
    """Return the verdict and its reasons in a few lines."""
    lines = [f"{sign} {judgement.verdict}: {_plain(judgement.reason)}"]
    lines += [f"  {each.name}: p = 10^{each.log10_p:.1f} ({each.figure})" for each in judgement.tests]
    lines += [f"  note: {_plain(each)}" for each in judgement.notes]
    lines += [f"  open: {_plain(each)}" for each in judgement.open_questions]
    if judgement.needed:
        lines.append(f"  needed: {judgement.needed}")
    if len(lines) > _LONGEST:
        lines[_LONGEST - 1 :] = ["  (more with --verbose)"]
    return lines


def _plain(text: str) -> str:
    return text if text.isprintable() else repr(text)
