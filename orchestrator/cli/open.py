"""`wm open`: show some trigger rows to a judge and keep the others secret."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli.common import INPUT, OUTPUT, json_option, print_either
from orchestrator.files import SECRET, write_new
from wm.claims.claim import Claim, read_claim
from wm.claims.opening import draw_rows, open_rows


def _numbers(_context: click.Context, _option: click.Parameter, text: str | None) -> tuple[int, ...] | None:
    try:
        return None if text is None else tuple(int(part) for part in text.split(","))
    except ValueError as reason:
        raise click.BadParameter(f"{text!r} is no list of row numbers, as in 0,3,5") from reason


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
    opening = open_rows(claim, _chosen(claim, rows, draw, challenge))
    write_new(output, opening.to_json().encode(), mode=SECRET)
    indexes = [each.index for each in opening.opened]
    facts = {
        "opening": str(output),
        "commitment": opening.commitment,
        "trigger_size": opening.trigger_size,
        "opened": indexes if json else ",".join(map(str, indexes)),
    }
    print_either(facts, json)


def _chosen(
    claim: Claim, rows: tuple[int, ...] | None, draw: int | None, challenge: str | None
) -> tuple[int, ...]:
    match rows, draw, challenge:
        case tuple(), None, None:
            return rows
        case None, int(), str():
            return draw_rows(claim.commitment, challenge.encode(), len(claim.trigger_set.rows), draw)
        case _:
            raise click.UsageError("give either --rows, or --draw with --challenge")
