"""`wm report`: a report on a campaign, with tables and pictures."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli.common import (
    FOLDER,
    OUTPUT,
    json_option,
    named_campaign,
    open_store,
    print_json,
    store_option,
)

_ENDINGS = (".html", ".htm", ".md")


@click.command()
@click.argument("campaign", metavar="CAMPAIGN...", nargs=-1, required=True)
@store_option
@click.option(
    "-o", "--output", type=OUTPUT, help="HTML file, or by its ending .md Markdown.  [default: CAMPAIGN.html]"
)
@click.option(
    "--figures",
    type=FOLDER,
    help="Also write each figure as png, svg and pdf, with a file of captions, into this directory.",
)
@json_option
def report(
    campaign: tuple[str, ...], store_url: str, output: Path | None, figures: Path | None, json: bool
) -> None:
    """Write a report on a CAMPAIGN (name or id): a self-contained HTML page, or Markdown.

    In Markdown it has no figures, but several CAMPAIGNs side by side.
    """
    from orchestrator.report import write_figures, write_markdown, write_report

    is_markdown = output is not None and output.suffix.lower() == ".md"
    if len(campaign) > 1 and (figures is not None or not is_markdown):
        raise click.UsageError("a page and figures show one campaign: for several give -o FILE.md alone")
    if output is not None and output.suffix.lower() not in _ENDINGS:
        raise click.UsageError(f"{output}: a report's ending must be {' or '.join(_ENDINGS)}")
    store = open_store(store_url)
    records = [named_campaign(store, name) for name in campaign]
    target = output or Path(f"{records[0].name}.html")
    if is_markdown:
        write_markdown(store, records, target)
    else:
        write_report(store, records[0], target)
    pictures = [] if figures is None else list(write_figures(store, records[0], figures))
    if json:
        print_json({"report": str(target), "figures": [str(picture) for picture in pictures]})
    else:
        click.echo("\n".join(str(written) for written in (target, *pictures)))
