"""Create campaigns in the store, find them by name or id, and read and record their state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from orchestrator.errors import AmbiguousNameError, NotFoundError
from orchestrator.plan import PlannedJob
from orchestrator.spec import CampaignSpec
from orchestrator.spec.attacks import TABLES
from orchestrator.store.database import Lock, Store
from orchestrator.store.planned import insert_jobs
from orchestrator.store.queue import jobs_of, lock_campaign, settle
from orchestrator.store.tables import CampaignState, JobState, campaign, campaign_job, job, outcome

STALE_S = 30.0
"""A running campaign without a heartbeat of its loop for this long counts as interrupted."""

_MANY_JOBS = 1000


@dataclass(frozen=True)
class CampaignRecord:
    """A campaign in the store."""

    id: int
    name: str
    """May occur several times, once for each version of its file."""
    seed: int
    state: CampaignState
    """Interrupted if it was running and its loop had no recent heartbeat."""
    spec: Mapping[str, Any]
    """JSON-ready data, as is the provenance."""
    provenance: Mapping[str, Any]
    created_at: float
    """Seconds since 1970, as is the end."""
    finished_at: float | None
    spec_sha256: str
    """Of the specification, defaults filled in."""

    def parsed(self) -> CampaignSpec:
        """Return the specification as models, without attacks whose packages are not installed here."""
        known = [table for table in self.spec.get("attack", ()) if table["kind"] in TABLES]
        return CampaignSpec.model_validate({**self.spec, "attack": known}, strict=False)


def create_campaign(
    store: Store, spec: CampaignSpec, jobs: Iterable[PlannedJob], provenance: Mapping[str, Any]
) -> int:
    """Store a campaign with its jobs, unless it is there already, and return its id.

    Jobs that the store already has for another campaign are shared with it.
    """
    with store.write() as connection:
        same = sa.select(campaign.c.id).where(
            campaign.c.name == spec.name, campaign.c.spec_sha256 == spec.sha256
        )
        store.lock(connection, Lock.PLAN)
        known = connection.execute(same).scalar_one_or_none()
        if known is not None:
            return int(known)
        campaign_id = connection.execute(
            sa.insert(campaign)
            .values(
                name=spec.name,
                spec_sha256=spec.sha256,
                spec=spec.model_dump(mode="json"),
                seed=spec.seed,
                state=CampaignState.INTERRUPTED,
                provenance=dict(provenance),
                created_at=store.clock(),
            )
            .returning(campaign.c.id)
        ).scalar_one()
        count = insert_jobs(store, connection, campaign_id, jobs)
        if count >= _MANY_JOBS and not store.is_sqlite:
            # Else PostgreSQL plans queries for empty tables until its next own analysis.
            connection.exec_driver_sql("ANALYZE job, job_need, campaign_job, cell")
        lock_campaign(store, connection, campaign_id)
        settle(connection, jobs_of(campaign_id))
    return int(campaign_id)


NEWEST = "@latest"
"""After a name: the newest campaign of that name."""


def find_campaign(store: Store, name_or_id: str) -> CampaignRecord:
    """Return the campaign of a name, or else the one with that id; ``NAME@latest`` is the newest of a name.

    Raises
    ------
    NotFoundError
        There is none; the text lists the existing names.
    AmbiguousNameError
        Several have this name, one for each version of its file; the text lists them.
    """
    name = name_or_id.removesuffix(NEWEST)
    found = _records(store, campaign.c.name == name)
    if not found and name_or_id.isdecimal() and int(name_or_id) < 2**31:
        found = _records(store, campaign.c.id == int(name_or_id))
    if not found:
        names = store.rows(sa.select(campaign.c.name).distinct().limit(20))
        there = ", ".join(sorted(row.name for row in names)) or "none at all"
        raise NotFoundError(f"no campaign {name_or_id!r} in {store}; there are: {there}")
    if len(found) > 1 and name == name_or_id:
        listed = ", ".join(f"{each.id} ({each.state}, {_day(each.created_at)})" for each in found)
        raise AmbiguousNameError(
            f"{len(found)} campaigns are called {name}: give the id of one, {listed}, or {name}{NEWEST}",
            [each.id for each in found],
        )
    return found[-1]


def reference(store: Store, campaign_id: int, name: str) -> str:
    """Return what finds a campaign: its name, or its id if other campaigns have that name too."""
    same = store.rows(sa.select(campaign.c.id).where(campaign.c.name == name).limit(2))
    return name if len(same) == 1 else str(campaign_id)


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


def get_campaign(store: Store, campaign_id: int) -> CampaignRecord:
    """Return the campaign of an id.

    Raises
    ------
    NotFoundError
        There is none.
    """
    found = _records(store, campaign.c.id == campaign_id)
    if not found:
        raise NotFoundError(f"no campaign {campaign_id} in {store}")
    return found[0]


def list_campaigns(store: Store) -> list[CampaignRecord]:
    """Return all campaigns, the oldest first."""
    return _records(store)


def _records(store: Store, *conditions: sa.ColumnElement[bool]) -> list[CampaignRecord]:
    """Return the campaigns that meet some conditions, the oldest first."""
    query = sa.select(campaign, store.clock().label("now")).where(*conditions).order_by(campaign.c.id)
    return [_record(row) for row in store.rows(query)]


def _record(row: sa.Row[Any]) -> CampaignRecord:
    state = CampaignState(row.state)
    if state is CampaignState.RUNNING and row.now - (row.heartbeat_at or 0.0) > STALE_S:
        state = CampaignState.INTERRUPTED
    columns = {one.name: row._mapping[one.name] for one in fields(CampaignRecord)}
    return CampaignRecord(**columns | {"state": state})


def mark(store: Store, campaign_id: int, state: CampaignState) -> None:
    """Record a campaign's state and a heartbeat of its loop; a cancelled campaign stays cancelled."""
    with store.write() as connection:
        now = store.clock()
        finished = now if state in (CampaignState.FINISHED, CampaignState.INCOMPLETE) else None
        connection.execute(
            sa.update(campaign)
            .where(campaign.c.id == campaign_id, campaign.c.state != CampaignState.CANCELLED)
            .values(state=state, heartbeat_at=now, finished_at=finished)
        )


@dataclass(frozen=True)
class Progress:
    """Progress of a campaign."""

    jobs: Mapping[JobState, int]
    """Number of jobs in each state."""
    done_weight: int
    """Number of queries and other jobs that have ended, not those cancelled."""
    total_weight: int
    """Number of all queries and other jobs."""
    kinds: Mapping[str, Mapping[JobState, int]] = field(default_factory=dict)
    """Number of jobs of each kind in each state."""

    @property
    def is_over(self) -> bool:
        """Whether every job is finished."""
        return all(state.is_finished for state, count in self.jobs.items() if count)

    @property
    def end_state(self) -> CampaignState:
        """State of a campaign that is over."""
        if self.jobs[JobState.CANCELLED]:
            return CampaignState.CANCELLED
        all_done = self.jobs[JobState.DONE] == sum(self.jobs.values())
        return CampaignState.FINISHED if all_done else CampaignState.INCOMPLETE


def progress(store: Store, campaign_id: int) -> Progress:
    """Return a campaign's progress."""
    with store.read() as connection:
        return progress_of(connection, campaign_id)


def progress_of(connection: sa.Connection, campaign_id: int) -> Progress:
    """Return a campaign's progress as a transaction sees it."""
    query = (
        sa.select(job.c.kind, job.c.state, sa.func.count(), sa.func.sum(job.c.weight))
        .join(campaign_job, campaign_job.c.job_id == job.c.id)
        .where(campaign_job.c.campaign_id == campaign_id)
        .group_by(job.c.kind, job.c.state)
    )
    jobs = dict.fromkeys(JobState, 0)
    kinds: dict[str, dict[JobState, int]] = {}
    done = total = 0
    for kind, state, count, weight in connection.execute(query):
        jobs[JobState(state)] += count
        kinds.setdefault(kind, dict.fromkeys(JobState, 0))[JobState(state)] = count
        total += weight
        if JobState(state).is_finished and state != JobState.CANCELLED:
            done += weight
    return Progress(jobs, done, total, kinds)


def retry_failed(store: Store, campaign_id: int) -> int:
    """Delete the outcomes of a campaign's failed jobs so that they run again; return their number."""
    ours = jobs_of(campaign_id)
    with store.write() as connection:
        store.lock(connection, Lock.PLAN)
        lock_campaign(store, connection, campaign_id)
        failed = sa.select(job.c.id).where(job.c.id.in_(ours), job.c.state == JobState.FAILED)
        connection.execute(sa.delete(outcome).where(outcome.c.job_id.in_(failed)))
        count = connection.execute(
            sa.update(job)
            .where(job.c.id.in_(ours), job.c.state.in_((JobState.FAILED, JobState.BLOCKED)))
            .values(state=JobState.WAITING, failures=0)
        ).rowcount
        settle(connection, ours)
    return count
