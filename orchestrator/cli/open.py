"""`wm open`: show some rows to a judge and keep the others secret."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli.common import INPUT, OUTPUT, json_option, print_either
from orchestrator.cli.model_files import level_option
from orchestrator.files import SECRET, write_new
from wm.claims.keys import read_key
from wm.claims.lineup import LineupClaim, drawn_value
from wm.claims.lineup_opened import open_lineup
from wm.claims.opened import challenged_rows
from wm.claims.opened import open_claim as opening_of
from wm.claims.reading import read_whole_claim
from wm.verification.questions import controls_needed
from wm.verification.samples import drawn, sample_of


@click.command("open")
@click.argument("claim_file", metavar="CLAIM", type=INPUT)
@click.option("--key", "key_file", type=INPUT, required=True, help="Your private key.")
@click.option(
    "--draw",
    type=click.IntRange(min=1),
    required=True,
    help="Number of trigger rows, or of a line-up's positions, that the judge asked for.",
)
@click.option(
    "--controls",
    type=click.IntRange(min=1),
    help="Number of controls.  [default: as many as the level needs]",
)
@level_option("Significance level that the judge asks for.")
@click.option("--challenge", required=True, help="The judge's challenge, any text.")
@click.option("-o", "--output", type=OUTPUT, required=True, help="File for the opening (JSON).")
@json_option
def open_claim(
    claim_file: Path,
    key_file: Path,
    draw: int,
    controls: int | None,
    level: float,
    challenge: str,
    output: Path,
    json: bool,
) -> None:
    """Open some trigger rows and controls of a CLAIM to a judge.

    Of a line-up: the secrets of some positions. The others stay secret. The judge's challenge draws which are
    opened, and your key signs them.
    """
    claim = read_whole_claim(claim_file)
    if isinstance(claim, LineupClaim):
        if controls is not None:
            raise click.UsageError("--controls has no meaning for scheme lineup: leave it out")
        drawn_value(claim)  # refuses a claim without a draw
        shown = open_lineup(claim, read_key(key_file), challenge, draw)
        write_new(output, shown.to_json().encode(), mode=SECRET)
        facts = {"opening": str(output), "commitment": shown.commitment, "trees": claim.header.trees}
        print_either(facts | {"opened": draw}, json)
        return
    found, _ = drawn(claim)
    header = claim.header
    if controls is None:
        available = header.pool_size - header.trigger_size
        controls = min(available, controls_needed(sample_of(claim), level, shown=draw))
    indices = challenged_rows(
        claim.commitment, challenge, found.triggers, header.pool_size, shown=draw, controls=controls
    )
    opening = opening_of(claim, read_key(key_file), challenge, indices)
    write_new(output, opening.to_json().encode(), mode=SECRET)
    print_either(
        {
            "opening": str(output),
            "commitment": opening.commitment,
            "trigger_size": header.trigger_size,
            "opened": draw,
            "controls": controls,
        },
        json,
    )
