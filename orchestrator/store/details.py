"""Read single jobs with all that belongs to them: for the live page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from orchestrator.errors import NotFoundError
from orchestrator.plan import GridPoint
from orchestrator.store.browse import COORDINATES
from orchestrator.store.database import Store
from orchestrator.store.tables import (
    JobState,
    attempt,
    campaign,
    campaign_job,
    cell,
    forgery_answer,
    job,
    job_need,
    outcome,
)


@dataclass(frozen=True)
class Need:
    """A job that another one needs."""

    id: int
    kind: str
    state: JobState
    optional: bool
    result: Mapping[str, Any] | None
    """Of its outcome, as JSON-ready data."""


@dataclass(frozen=True)
class Attempt:
    """A failed attempt at a job."""

    owner: str
    failed_at: float
    """Seconds since 1970."""
    reason: str


@dataclass(frozen=True)
class Answer:
    """An answered forgery query."""

    instance: int
    row: int
    status: str
    distance: float | None
    seconds: float
    reason: str
    has_witness: bool


@dataclass(frozen=True)
class JobDetails:
    """A job with all that belongs to it; mappings hold JSON-ready data."""

    id: int
    key: str
    kind: str
    state: JobState
    cell: GridPoint
    parameters: Mapping[str, Any]
    failures: int
    owner: str | None
    """Who runs it, or ran it to its outcome."""
    status: str | None
    result: Mapping[str, Any] | None
    timings: Mapping[str, float]
    error: str
    recorded_at: float | None
    """Seconds since 1970."""
    campaigns: tuple[tuple[int, str], ...]
    """Ids and names of the campaigns that share it."""
    needs: tuple[Need, ...]
    attempts: tuple[Attempt, ...]
    answers: tuple[Answer, ...]
    """Forgery only."""


def job_details(store: Store, job_id: int) -> JobDetails:
    """Return a job with all that belongs to it.

    Raises
    ------
    NotFoundError
        There is no such job.
    """
    with store.read() as connection:
        row = connection.execute(
            sa.select(job, outcome).outerjoin(outcome).where(job.c.id == job_id)
        ).one_or_none()
        if row is None:
            raise NotFoundError(f"no job {job_id} in {store}")
        given: Mapping[Any, Any] = row._mapping
        places = connection.execute(
            sa.select(campaign.c.id, campaign.c.name, *(cell.c[name] for name in COORDINATES))
            .join(campaign_job, campaign_job.c.campaign_id == campaign.c.id)
            .join(cell, cell.c.id == campaign_job.c.cell_id)
            .where(campaign_job.c.job_id == job_id)
            .order_by(campaign.c.id)
        ).all()
        needs = connection.execute(
            sa.select(job.c.id, job.c.kind, job.c.state, job_need.c.optional, outcome.c.result)
            .join(job_need, job_need.c.needs_id == job.c.id)
            .outerjoin(outcome, outcome.c.job_id == job.c.id)
            .where(job_need.c.job_id == job_id)
            .order_by(job.c.id)
        )
        attempts = connection.execute(
            sa.select(attempt.c.owner, attempt.c.failed_at, attempt.c.reason)
            .where(attempt.c.job_id == job_id)
            .order_by(attempt.c.id)
        )
        return JobDetails(
            id=given[job.c.id],
            key=given[job.c.key],
            kind=given[job.c.kind],
            state=JobState(given[job.c.state]),
            cell=GridPoint(*(getattr(places[0], name) for name in COORDINATES)) if places else GridPoint(),
            parameters=given[job.c.parameters],
            failures=given[job.c.failures],
            owner=given[job.c.lease_owner] or given[outcome.c.owner],
            status=given[outcome.c.status],
            result=given[outcome.c.result],
            timings=given[outcome.c.timings] or {},
            error=given[outcome.c.error] or "",
            recorded_at=given[outcome.c.recorded_at],
            campaigns=tuple((place.id, place.name) for place in places),
            needs=tuple(
                Need(need.id, need.kind, JobState(need.state), bool(need.optional), need.result)
                for need in needs
            ),
            attempts=tuple(Attempt(*one) for one in attempts),
            answers=tuple(_answers(connection, job_id)),
        )


def _answers(connection: sa.Connection, job_id: int) -> Iterable[Answer]:
    columns = ("instance", "row", "status", "distance", "seconds", "reason")
    has_witness = forgery_answer.c.witness.is_not(None).label("has_witness")
    query = (
        sa.select(*(forgery_answer.c[name] for name in columns), has_witness)
        .where(forgery_answer.c.job_id == job_id)
        .order_by(forgery_answer.c.instance)
    )
    for row in connection.execute(query):
        yield Answer(**dict(row._mapping) | {"has_witness": bool(row.has_witness)})


def witness_of(store: Store, job_id: int, instance: int) -> tuple[int, float, bytes]:
    """Return test row, distance and witness of an answered query.

    Raises
    ------
    NotFoundError
        It has no witness.
    """
    columns = (forgery_answer.c.row, forgery_answer.c.distance, forgery_answer.c.witness)
    found = store.rows(
        sa.select(*columns).where(
            forgery_answer.c.job_id == job_id,
            forgery_answer.c.instance == instance,
            forgery_answer.c.witness.is_not(None),
        )
    )
    if not found:
        raise NotFoundError(f"job {job_id} has no witness of instance {instance}")
    row, distance, witness = found[0]
    return int(row), float(distance), bytes(witness)
