"""`wm campaign`: validate, run, resume, watch and list campaigns."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from orchestrator.cli import Exit
from orchestrator.cli.common import (
    json_option,
    open_store,
    print_facts,
    print_json,
    print_table,
    store_option,
)
from orchestrator.cli.progress import shown
from orchestrator.executors import LocalExecutor, default_workers
from orchestrator.launch import launch, planned_jobs, read_campaign
from orchestrator.loop import run_campaign
from orchestrator.store import campaigns
from orchestrator.store.campaigns import CampaignRecord
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.tables import CampaignState, JobState

FILE = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
WORKERS = click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=None,
    help="Processes that run jobs.  [default: number of processors]",
)


@click.group()
def campaign() -> None:
    """Run grids of watermarks and attacks, described in a TOML file."""


@campaign.command()
@FILE
@json_option
def validate(file: Path, json: bool) -> None:
    """Check a campaign FILE and its data, and say what it would do; runs nothing."""
    spec = read_campaign(file)
    jobs = planned_jobs(spec)
    kinds = Counter(job.kind.value for job in jobs)
    queries = sum(job.weight for job in jobs if job.kind == "forgery")
    facts: dict[str, Any] = {
        "name": spec.name,
        "spec_sha256": spec.sha256,
        "jobs": len(jobs),
        "jobs_by_kind": dict(kinds),
        "forgery_queries": queries,
    }
    if json:
        print_json(facts)
    else:
        facts["jobs_by_kind"] = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        print_facts(facts)


@campaign.command()
@FILE
@store_option
@WORKERS
def run(file: Path, store_url: str, workers: int | None) -> None:
    """Run a campaign FILE to its end on this machine, or go on where it was stopped.

    Work that the store holds already, from this or another campaign, is not done again.
    """
    store = Store(store_url)
    spec = read_campaign(file)
    run_to_end(store, launch(store, spec), spec.name, workers)


@campaign.command()
@click.argument("campaign_name", metavar="CAMPAIGN")
@store_option
@WORKERS
@click.option("--retry", is_flag=True, help="Run jobs again that ended as timeout, memout or error.")
def resume(campaign_name: str, store_url: str, workers: int | None, retry: bool) -> None:
    """Go on with a CAMPAIGN (name or id) that was interrupted."""
    store = open_store(store_url)
    record = campaigns.find_campaign(store, campaign_name)
    if retry:
        click.echo(f"{record.name}: {campaigns.retry_failed(store, record.id)} jobs queued again", err=True)
    run_to_end(store, record.id, record.name, workers)


def run_to_end(store: Store, campaign_id: int, name: str, workers: int | None) -> None:
    """Run a stored campaign with local processes; leave the program unless every job got a result."""
    executor = LocalExecutor(StoreLedger(store), workers or default_workers())
    try:
        with shown(name) as show:
            state = run_campaign(store, campaign_id, executor, show)
    except KeyboardInterrupt:
        click.echo(f"{name}: interrupted; go on with: wm campaign resume {name}", err=True)
        raise
    finally:
        executor.close()
    click.echo(f"{name}: {state}", err=True)
    if state is not CampaignState.FINISHED:
        click.echo(f"{name}: some jobs have no result; see: wm results jobs {name}", err=True)
        click.get_current_context().exit(Exit.INCOMPLETE)


@campaign.command()
@click.argument("campaign_name", metavar="CAMPAIGN")
@store_option
@json_option
def status(campaign_name: str, store_url: str, json: bool) -> None:
    """Tell how far a CAMPAIGN (name or id) is."""
    store = open_store(store_url)
    record = campaigns.find_campaign(store, campaign_name)
    progress = campaigns.progress(store, record.id)
    facts = _facts(record) | {
        "jobs": {state.value: progress.jobs[state] for state in JobState},
        "done": progress.done_weight,
        "total": progress.total_weight,
    }
    if json:
        print_json(facts)
    else:
        facts["jobs"] = ", ".join(f"{count} {state}" for state, count in progress.jobs.items() if count)
        print_facts(facts)


@campaign.command(name="list")
@store_option
@json_option
def list_all(store_url: str, json: bool) -> None:
    """List the campaigns of a store, the oldest first."""
    found = [_facts(record) for record in campaigns.list_campaigns(open_store(store_url))]
    if json:
        print_json(found)
    else:
        print_table(
            ["id", "name", "state", "seed", "created", "finished"], [list(row.values()) for row in found]
        )


def _facts(record: CampaignRecord) -> dict[str, Any]:
    return {
        "id": record.id,
        "name": record.name,
        "state": record.state.value,
        "seed": record.seed,
        "created": utc(record.created_at),
        "finished": None if record.finished_at is None else utc(record.finished_at),
    }


def utc(seconds: float) -> str:
    """Return a time in seconds since 1970 as ISO 8601."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
