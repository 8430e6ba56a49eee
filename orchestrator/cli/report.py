"""`wm report`: a report on a campaign, with tables and pictures."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli.common import FOLDER, OUTPUT, open_store, store_option
from orchestrator.store import campaigns


@click.command()
@click.argument("campaign", metavar="CAMPAIGN")
@store_option
@click.option("-o", "--output", type=OUTPUT, help="HTML file.  [default: CAMPAIGN.html]")
@click.option(
    "--figures",
    type=FOLDER,
    help="Also write each figure as png, svg and pdf, with a file of captions, into this directory.",
)
def report(campaign: str, store_url: str, output: Path | None, figures: Path | None) -> None:
    """Write a self-contained HTML report on a CAMPAIGN (name or id)."""
    from orchestrator.report import write_figures, write_report

    store = open_store(store_url)
    record = campaigns.find_campaign(store, campaign)
    target = output or Path(f"{record.name}.html")
    write_report(store, record, target)
    click.echo(target)
    if figures is not None:
        for written in write_figures(store, record, figures):
            click.echo(written)
