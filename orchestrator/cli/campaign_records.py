"""`wm campaign list`, `show`, `diff`, `rename` and `delete`: the campaigns that a store holds."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import click

from orchestrator.cli.common import (
    can_ask,
    json_option,
    named_campaign,
    on_campaign,
    open_store,
    print_facts,
    print_json,
    print_table,
    store_option,
)
from orchestrator.cli.progress import states
from orchestrator.differences import differences, flat
from orchestrator.store import campaigns, removal
from orchestrator.store.database import Store
from orchestrator.store.tables import JobState


@click.command(name="list")
@store_option
@json_option
def list_all(store_url: str, json: bool) -> None:
    """List the campaigns of a store, oldest first."""
    found = [facts_of(record) for record in campaigns.list_campaigns(open_store(store_url))]
    if json:
        print_json(found)
    else:
        columns = ["id", "name", "state", "seed", "created", "finished"]
        print_table(columns, [list(row.values()) for row in found])


@click.command()
@on_campaign
@json_option
def show(store: Store, record: campaigns.CampaignRecord, json: bool) -> None:
    """Show what a CAMPAIGN (name or id) is and ran with.

    Of its file, what is not a default; with --json all of it.
    """
    spec, progress = record.parsed(), campaigns.progress(store, record.id)
    facts = facts_of(record) | {"spec_sha256": record.spec_sha256}
    if json:
        counts = {state.value: progress.jobs[state] for state in JobState}
        print_json(facts | {"jobs": counts, "spec": dict(record.spec), "provenance": dict(record.provenance)})
        return
    print_facts(facts | {"jobs": states(progress)})
    given = spec.model_dump(mode="json", exclude_defaults=True, exclude={"name", "seed"})
    known = {attack.kind for attack in spec.attack}
    if others := [table for table in record.spec.get("attack", ()) if table["kind"] not in known]:
        given["attack"] = [*given.get("attack", ()), *others]
    for title, document in (("File", given), ("Ran with", record.provenance)):
        click.echo(f"\n{title}")
        print_facts(dict(flat(document)) or {"": "nothing is recorded"})


@click.command()
@click.argument("first", metavar="FIRST")
@click.argument("second", metavar="SECOND")
@store_option
@json_option
def diff(first: str, second: str, store_url: str, json: bool) -> None:
    """Compare the files of two campaigns and what they ran with.

    FIRST and SECOND are names or ids. Only values that differ are printed.
    """
    store = open_store(store_url)
    one, two = (named_campaign(store, name) for name in (first, second))
    found = {
        "file": differences(one.spec, two.spec),
        "provenance": differences(one.provenance, two.provenance),
    }
    if json:
        print_json(
            {"first": facts_of(one), "second": facts_of(two)}
            | {part: [asdict(each) for each in rows] for part, rows in found.items()}
        )
        return
    rows = [
        [part, each.place, *("-" if value is None else value for value in (each.first, each.second))]
        for part, differing in found.items()
        for each in differing
    ]
    if rows:
        print_table(["part", "value", f"{one.name} ({one.id})", f"{two.name} ({two.id})"], rows)
    else:
        click.echo("No difference.")


@click.command()
@on_campaign
@click.argument("name", metavar="NAME")
@json_option
def rename(store: Store, record: campaigns.CampaignRecord, name: str, json: bool) -> None:
    """Give a CAMPAIGN (name or id) another NAME.

    Write it into the campaign's file too: the file stands for the campaign of the name in it.
    """
    removal.rename(store, record.id, name)
    if json:
        print_json({"id": record.id, "name": name, "former": record.name})
    click.echo(f"{record.name} (id {record.id}) is now {name}", err=True)


@click.command()
@on_campaign
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
def delete(store: Store, record: campaigns.CampaignRecord, yes: bool, json: bool) -> None:
    """Delete a CAMPAIGN (name or id) from the store.

    Jobs, results, forests and claims that no other campaign uses go with it, and cannot be had back.
    """
    planned = removal.preview(store, record.id)
    click.echo(f"{record.name} (id {record.id}): {_what(planned)}", err=True)
    if not yes:
        if not can_ask():
            raise click.UsageError("nobody can be asked here: give --yes to delete it")
        click.confirm("Delete?", abort=True, err=True)
    removed = removal.delete(store, record.id)
    if json:
        print_json({"id": record.id, "name": record.name, **asdict(removed)})
    click.echo(f"deleted: {_what(removed)}", err=True)


def _what(found: removal.Removal) -> str:
    size = f"{found.artifacts} artifact{'s' * (found.artifacts != 1)} of {found.artifact_bytes / 1e6:.1f} MB"
    others = f"job{'s' * (found.shared > 1)} kept for other campaigns"
    kept = f"; {found.shared} {others}" if found.shared else ""
    return f"{found.jobs} job{'s' * (found.jobs != 1)} with their results, {size}{kept}"


def facts_of(record: campaigns.CampaignRecord) -> dict[str, Any]:
    """Return a campaign's row in `wm campaign list`, as JSON-ready data."""
    return {
        "id": record.id,
        "name": record.name,
        "state": record.state.value,
        "seed": record.seed,
        "created": _utc(record.created_at),
        "finished": None if record.finished_at is None else _utc(record.finished_at),
    }


def _utc(seconds: float) -> str:
    """Return a time in seconds since 1970 as ISO 8601."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
