"""`python -m research.reproduction`: the paper's published numbers beside those of campaigns, as Markdown."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli.common import open_store, store_option
from orchestrator.errors import OrchestratorError
from orchestrator.store import campaigns
from research.reproduction import write_reproduction
from wm.errors import WmError


@click.command()
@click.argument("campaign_names", metavar="CAMPAIGN...", nargs=-1, required=True)
@store_option
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("reproduction.md"),
    show_default=True,
    help="Markdown file; its pictures go into images/ beside it.",
)
@click.option(
    "--experiments/--no-experiments",
    default=True,
    show_default=True,
    help="Also run the artifact's errors as experiments, for some minutes.",
)
def main(campaign_names: tuple[str, ...], store_url: str, output: Path, experiments: bool) -> None:
    """Write the paper's published numbers beside those of one or more CAMPAIGN (name or id)."""
    try:
        store = open_store(store_url)
        records = [campaigns.find_campaign(store, name) for name in campaign_names]
        write_reproduction(store, records, output, experiments=experiments)
    except (WmError, OrchestratorError) as mistake:
        raise click.UsageError(str(mistake)) from mistake
    click.echo(output)


if __name__ == "__main__":
    main(prog_name="python -m research.reproduction")
