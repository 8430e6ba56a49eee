"""`wm campaign archive` and `wm campaign import`: campaigns as files."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli.common import INPUT, OUTPUT, json_option, on_campaign, print_either, store_option
from orchestrator.store.campaigns import CampaignRecord
from orchestrator.store.database import Store


@click.command()
@on_campaign
@click.option("-o", "--output", type=OUTPUT, required=True, help="File for the archive.")
@json_option
def archive(store: Store, record: CampaignRecord, output: Path, json: bool) -> None:
    """Write a CAMPAIGN with all its results into one file.

    CAMPAIGN is a name or an id. Any store can import the file again. It names no machine, but has the
    campaign's models and trigger sets.
    """
    from orchestrator.archive import write_archive

    manifest = write_archive(store, record.id, output)
    print_either({"archive": str(output), "campaign": record.name, "manifest_sha256": manifest}, json)


@click.command("import")
@click.argument("file", type=INPUT)
@store_option
@json_option
def import_archive(file: Path, store_url: str, json: bool) -> None:
    """Add the campaign of an archive FILE to a store.

    What the store has of it already stays. The results of other campaigns with the same jobs will be those of
    the archive: import what you trust, or into a store of its own.
    """
    from orchestrator import archive

    done = archive.import_archive(Store(store_url), file)
    print_either(
        {
            "campaign": done.name,
            "id": done.campaign_id,
            "was_there": done.was_there,
            "jobs": done.jobs,
            "new_outcomes": done.outcomes,
            "new_answers": done.answers,
            "new_artifacts": done.artifacts,
        },
        json,
    )
