"""`wm open`: show some trigger rows to a judge and keep the others secret."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli.common import INPUT, OUTPUT, json_option, print_either, read_as
from orchestrator.files import SECRET, write_new
from wm.claims.claim import read_claim
from wm.claims.opening import draw_rows, open_rows

_numbers = read_as(lambda text: tuple(map(int, text.split(","))), "is no list of row numbers, as in 0,3,5")


@click.command("open")
@click.argument("claim_file", metavar="CLAIM", type=INPUT)
@click.option("--rows", callback=_numbers, help="Numbers of the rows to open, from 0, as in 0,3,5.")
@click.option("--draw", type=click.IntRange(min=1), help="Number of rows that the judge's challenge draws.")
@click.option("--challenge", help="The judge's challenge, any text; revealed after your commitment.")
@click.option("-o", "--output", type=OUTPUT, required=True, help="File for the opening (JSON).")
@json_option
def open_claim(
    claim_file: Path,
    rows: tuple[int, ...] | None,
    draw: int | None,
    challenge: str | None,
    output: Path,
    json: bool,
) -> None:
    """Open some trigger rows of a CLAIM to a judge.

    The others stay secret. A judge should not let the owner choose them: give --draw with the judge's
    --challenge.
    """
    claim = read_claim(claim_file)
    match rows, draw, challenge:
        case tuple(), None, None:
            chosen = rows
        case None, int(), str():
            chosen = draw_rows(claim.commitment, challenge.encode(), len(claim.trigger_set.rows), draw)
        case _:
            raise click.UsageError("give either --rows, or --draw with --challenge")
    opening = open_rows(claim, chosen)
    write_new(output, opening.to_json().encode(), mode=SECRET)
    indexes = [each.index for each in opening.opened]
    facts = {
        "opening": str(output),
        "commitment": opening.commitment,
        "trigger_size": opening.trigger_size,
        "opened": indexes if json else ",".join(map(str, indexes)),
    }
    print_either(facts, json)
