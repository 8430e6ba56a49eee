"""`wm trace`: which customer's copy a suspect comes from."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from orchestrator.cli import Exit
from orchestrator.cli.common import INPUT, json_option, model_options, print_json, print_table
from orchestrator.cli.lineup import answers_of_suspect, read_candidates
from orchestrator.cli.model_files import level_option
from orchestrator.cli.suspects import suspect_options
from wm.claims.lineup import LineupClaim
from wm.claims.reading import read_any_claim
from wm.verification.lineup.order import Counts


@click.command()
@click.argument("claim_file", metavar="CLAIM", type=INPUT)
@suspect_options
@click.option("--rows", type=INPUT, help="File of the owner's data.  [default: the one that the claim names]")
@model_options(Counts, without="For a line-up: ")
@click.option("--committed", type=INPUT, required=True, help="The candidates that the claim commits to.")
@click.option(
    "--customer",
    "customers",
    multiple=True,
    required=True,
    help="A customer who got a copy (wm embed --customer); repeatable.",
)
@level_option("Largest probability that any innocent customer is accused.")
@json_option
def trace(
    claim_file: Path, committed: Path, customers: tuple[str, ...], level: float, json: bool, **options: Any
) -> None:
    """Say which customers' copies a suspect comes from.

    CLAIM is a line-up's with committed candidates. Name every customer who got a copy: p-values are
    multiplied by their number. The result is for the owner; it is proof for others only if a trusted beacon
    made the draw, and the list of names and the rows asked were deposited, before the suspect appeared. The
    exit code is 0 if somebody is accused, 1 if nobody is.
    """
    from wm.verification.lineup.candidates import committed_lineup
    from wm.verification.lineup.fingerprints import accuse

    claim = read_any_claim(claim_file)
    if not isinstance(claim, LineupClaim):
        raise click.UsageError(f"{claim_file}: is no claim of scheme lineup")
    session, given, _ = answers_of_suspect(claim, options | {"judge_seed": None})
    lineup = committed_lineup(claim, read_candidates(committed), session.queries.X)
    found = accuse(claim, lineup, given.answers, customers, level=level)
    if json:
        print_json([asdict(each) for each in found])
    else:
        print_table(
            ["customer", "log10_p", "accused"],
            [[each.customer, each.log10_p, each.accused] for each in found],
        )
    click.get_current_context().exit(Exit.DONE if any(each.accused for each in found) else Exit.NEGATIVE)
