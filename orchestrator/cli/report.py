"""`wm report`: pictures and tables for people."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli.common import open_store, store_option
from orchestrator.store import campaigns


@click.command()
@click.argument("campaign_names", metavar="CAMPAIGN...", nargs=-1, required=True)
@store_option
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="HTML file, or Markdown with --reproduction.  [default: CAMPAIGN.html, or reproduction.md]",
)
@click.option(
    "--figures",
    type=click.Path(file_okay=False, path_type=Path),
    help="Also write each figure as png, svg and pdf, with a file of captions, into this directory.",
)
@click.option(
    "--reproduction",
    is_flag=True,
    help="Write the paper's published numbers beside those of one or more CAMPAIGN instead, as Markdown.",
)
@click.option(
    "--experiments/--no-experiments",
    default=True,
    show_default=True,
    help="With --reproduction: also run the artifact's errors as experiments, for some minutes.",
)
def report(
    campaign_names: tuple[str, ...],
    store_url: str,
    output: Path | None,
    figures: Path | None,
    reproduction: bool,
    experiments: bool,
) -> None:
    """Write a self-contained HTML report on a CAMPAIGN (name or id)."""
    if reproduction:
        _reproduce(campaign_names, store_url, output or Path("reproduction.md"), figures, experiments)
        return
    from orchestrator.report import write_figures, write_report

    if len(campaign_names) > 1:
        raise click.UsageError("a report is on one CAMPAIGN; several go with --reproduction")
    store = open_store(store_url)
    record = campaigns.find_campaign(store, campaign_names[0])
    target = output or Path(f"{record.name}.html")
    write_report(store, record, target)
    click.echo(target)
    if figures is not None:
        for written in write_figures(store, record, figures):
            click.echo(written)


def _reproduce(
    campaign_names: tuple[str, ...], store_url: str, target: Path, figures: Path | None, experiments: bool
) -> None:
    from research.reproduction import write_reproduction

    if figures is not None:
        raise click.UsageError("--figures is for a report; --reproduction writes its pictures beside itself")
    store = open_store(store_url)
    records = [campaigns.find_campaign(store, name) for name in campaign_names]
    write_reproduction(store, records, target, experiments=experiments)
    click.echo(target)
