"""`wm campaign`: validate, run, resume and watch campaigns; those at rest are in `campaign_records`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from orchestrator.cli import Exit
from orchestrator.cli.archives import archive, import_archive
from orchestrator.cli.campaign_files import read_and_report
from orchestrator.cli.campaign_records import delete, diff, facts_of, list_all, rename, show
from orchestrator.cli.common import (
    INPUT,
    json_option,
    on_campaign,
    option_group,
    print_either,
    print_facts,
    print_json,
    print_table,
    say,
    store_option,
    store_words,
)
from orchestrator.cli.groups import Group
from orchestrator.cli.marks import mark
from orchestrator.cli.progress import shown, states
from orchestrator.cli.urls import broker_option
from orchestrator.executors import Executor, LocalExecutor, default_workers
from orchestrator.launch import launch, planned_jobs
from orchestrator.loop import run_campaign
from orchestrator.monitoring.attention import situation
from orchestrator.store import campaigns, launched
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.tables import CampaignState, JobState
from workers.runtime.outage import Outage

FILE = click.argument("file", type=INPUT)
FILES = click.argument("files", metavar="FILE...", nargs=-1, required=True, type=INPUT)
PROFILE = click.option(
    "--profile", metavar="NAME", help="Apply the table [profile.NAME] of FILE: see docs/campaigns.md."
)
WORKERS = click.option(
    "--workers", type=click.IntRange(min=1), help="Processes that run jobs.  [default: number of processors]"
)
EXECUTOR = option_group(
    WORKERS,
    click.option(
        "--executor",
        "executor_kind",
        type=click.Choice(["local", "celery"]),
        default="local",
        help="Who runs the jobs: this command, or wm worker processes connected to the broker.",
    ),
    broker_option,
)


@click.group(cls=Group)
def campaign() -> None:
    """Run grids of watermarks and attacks from a TOML file."""


campaign.add_command(archive)
campaign.add_command(import_archive)


@campaign.command()
@click.option("--markdown", is_flag=True, help="Print the options and columns of all attacks instead.")
def schema(markdown: bool) -> None:
    """Print the JSON Schema of campaign files."""
    from orchestrator.spec import document

    if markdown:
        click.echo(document.markdown())
    else:
        print_json(document.json_schema())


@campaign.command()
@FILE
@PROFILE
@json_option
@click.option(
    "--rehearse",
    "rehearse_s",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    help="Also run parts of it for so long, and estimate from these how long all of it takes.",
)
def validate(file: Path, profile: str | None, json: bool, rehearse_s: float | None) -> None:
    """Check a campaign FILE and its data; run nothing.

    With --rehearse, run a small part of it and estimate the time of all.
    """
    spec, data = read_and_report(file, profile)
    kinds: Counter[str] = Counter()
    queries = 0
    for job in planned_jobs(spec, data):
        kinds[str(job.kind)] += 1
        queries += job.weight if job.kind == "forgery" else 0
    facts: dict[str, Any] = {
        "name": spec.name,
        "spec_sha256": spec.sha256,
        "jobs": kinds.total(),
        "jobs_by_kind": dict(kinds),
        "forgery_queries": queries,
    }
    if not json:
        facts["jobs_by_kind"] = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    if rehearse_s is None:
        print_either(facts, json)
        return
    from orchestrator.rehearsal import rehearse

    parts = rehearse(spec, data, seconds=rehearse_s)
    timed = [part.estimate_s for part in parts if part.estimate_s is not None]
    facts |= {"one_slot_seconds": sum(timed), "is_lower_bound": len(timed) < len(parts)}
    rows = [part.as_row() for part in parts]
    if json:
        print_json(facts | {"parts": rows})
    else:
        print_facts(facts)
        click.echo()
        print_table(list(rows[0]), [list(row.values()) for row in rows])


@campaign.command()
@FILES
@PROFILE
@store_option
@EXECUTOR
def run(files: tuple[Path, ...], profile: str | None, store_url: str, **executor: Any) -> None:
    """Run each campaign FILE to its end, or resume it.

    Results that are already in the store, from this or another campaign, are not computed again. With
    --executor celery, `wm worker` processes run the jobs, on this or other machines.
    """
    store = Store(store_url)
    read = [read_and_report(file, profile) for file in files]
    make = executor_maker(store, **executor)
    worst = 0
    for spec, data in read:
        try:
            run_to_end(store, launch(store, spec, data), spec.name, make)
        except click.exceptions.Exit as ended:  # the other campaigns still run
            worst = max(worst, ended.exit_code)
    click.get_current_context().exit(worst)


@campaign.command(name="launch")
@FILE
@PROFILE
@store_option
@json_option
def launch_campaign(file: Path, profile: str | None, store_url: str, json: bool) -> None:
    """Hand a campaign FILE to `wm orchestrate` and return at once."""
    store = Store(store_url)
    spec, data = read_and_report(file, profile)
    campaign_id = launch(store, spec, data)
    launched.hand_over(store, campaign_id)
    if json:
        print_json({"id": campaign_id, "name": spec.name})
    click.echo(
        f"{spec.name}: launched as campaign {campaign_id}; "
        f"see: wm campaign status {campaign_id}{store_words(store)}",
        err=True,
    )


@campaign.command()
@on_campaign
@json_option
def cancel(store: Store, record: campaigns.CampaignRecord, json: bool) -> None:
    """Cancel a CAMPAIGN (name or id).

    No new job starts; running slices go on to their end.
    """
    is_over = record.state in (CampaignState.FINISHED, CampaignState.INCOMPLETE)
    count = 0 if is_over else launched.cancel(store, record.id)
    if json:
        print_json({"id": record.id, "name": record.name, "cancelled": count})
    text = (
        f"already {record.state}, nothing to cancel"
        if is_over
        else f"{count} job{'s' * (count != 1)} cancelled; resume with: "
        f"wm campaign resume {record.id}{store_words(store)}"
    )
    click.echo(f"{record.name}: {text}", err=True)


@campaign.command()
@on_campaign
@EXECUTOR
@click.option("--retry", is_flag=True, help="Run jobs that ended as timeout, memout or error again.")
def resume(store: Store, record: campaigns.CampaignRecord, retry: bool, **executor: Any) -> None:
    """Resume a CAMPAIGN that was interrupted or cancelled.

    CAMPAIGN is a name or an id.
    """
    make = executor_maker(store, **executor)
    launched.revive(store, record.id)
    if retry:
        count = campaigns.retry_failed(store, record.id)
        click.echo(f"{record.name}: {count} job{'s' * (count != 1)} queued again", err=True)
    run_to_end(store, record.id, record.name, make)


def executor_maker(
    store: Store, workers: int | None, executor_kind: str = "local", broker_url: str = ""
) -> Callable[[Outage], Executor]:
    """Return a function that makes the executor that the options name, given the store's outage."""
    if executor_kind == "local":
        return lambda outage: LocalExecutor(StoreLedger(store), workers or default_workers(), outage=outage)
    if workers is not None:
        raise click.UsageError("--workers is for the local executor; use wm worker --concurrency N instead")
    from orchestrator.celery_executor import CeleryExecutor

    return lambda _outage: CeleryExecutor(store, broker_url, say)


def run_to_end(
    store: Store, campaign_id: int, name: str, make_executor: Callable[[Outage], Executor]
) -> None:
    """Run a stored campaign; exit the program if a job has no result or an attack raises an alarm."""
    outage = Outage("the store", say)
    executor = make_executor(outage)
    if isinstance(executor, LocalExecutor):
        # Its slots report. The loop mostly reads, which also works while another program keeps a file locked:
        # it would report the end of the outage too early.
        outage = Outage("the store", lambda _line: None)
    known_as = campaigns.reference(store, campaign_id, name) + store_words(store)
    try:
        with shown(name) as show:
            state = run_campaign(store, campaign_id, executor, show, outage)
    except KeyboardInterrupt:
        click.echo(f"{name}: interrupted; resume with: wm campaign resume {known_as}", err=True)
        raise
    finally:
        executor.close()
    click.echo(f"{name}: {state}", err=True)
    if state is not CampaignState.FINISHED:
        click.echo(f"{name}: some jobs have no result; see: wm results jobs {known_as}", err=True)
        click.get_current_context().exit(Exit.INCOMPLETE)
    from orchestrator.results import alarms

    if found := alarms(store, campaign_id):
        for alarm in found:
            click.echo(f"{name}: {alarm}", err=True)
        click.get_current_context().exit(Exit.NEGATIVE)


@campaign.command()
@on_campaign
@json_option
@click.option("--watch", is_flag=True, help="Update the view until the campaign ends.")
def status(store: Store, record: campaigns.CampaignRecord, json: bool, watch: bool) -> None:
    """Show the progress of a CAMPAIGN (name or id) and what blocks it.

    With --watch the exit code is 3 if some jobs have no result.
    """
    if watch:
        from orchestrator.cli.watch import watch_campaign

        if json:
            raise click.UsageError("--watch and --json exclude each other")
        if watch_campaign(store, record.id, store_words(store)) is not CampaignState.FINISHED:
            click.get_current_context().exit(Exit.INCOMPLETE)
        return
    seen = situation(store, record.id, options=store_words(store))
    facts = facts_of(record) | {
        "jobs": {state.value: seen.progress.jobs[state] for state in JobState},
        "done": seen.progress.done_weight,
        "total": seen.progress.total_weight,
        "workers_alive": len(seen.workers_alive),
        "orchestrators_alive": len(seen.orchestrators_alive),
        "attention": seen.attention,
    }
    if not json:
        facts |= {"state": seen.state, "jobs": states(seen.progress)}
    print_either(facts, json)


@campaign.command()
@on_campaign
@json_option
def check(store: Store, record: campaigns.CampaignRecord, json: bool) -> None:
    """Replay the forged instances of a CAMPAIGN and compare distances.

    The exit code is 1 if a stored answer is wrong.
    """
    from orchestrator.results.checking import contradictions

    found = list(contradictions(store, record.id))
    if json:
        print_json(found)
    else:
        reason = (
            f"{len(found)} stored answers are not true"
            if found
            else "every forged instance has the votes that it claims; no contradiction"
        )
        click.echo("\n".join([f"{mark(not found)} {reason}", *found]))
    click.get_current_context().exit(Exit.NEGATIVE if found else Exit.DONE)


for kept in (list_all, show, diff, rename, delete):
    campaign.add_command(kept)
