"""Read the activity of a store for monitors: running jobs, expired leases, totals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa

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
    outcome,
)
from workers.jobs.kinds import JobKind
from workers.runtime.ledger import LEASE_S


@dataclass(frozen=True)
class RunningJob:
    """A job that a worker runs."""

    job_id: int
    kind: str
    owner: str
    answered: int
    """Forgery only: number of queries of the batch that have an answer."""
    query: int | None
    """Forgery only: the instance of the current query; those of a batch are asked in order."""
    place: str
    """Its point of the grid, as text."""


def running_jobs(store: Store, campaign_id: int) -> list[RunningJob]:
    """Return a campaign's running jobs in the order of the plan."""
    answered = sa.select(sa.func.count()).where(forgery_answer.c.job_id == job.c.id).scalar_subquery()
    query = (
        sa.select(
            job.c.id,
            job.c.kind,
            job.c.lease_owner,
            job.c.parameters,
            answered.label("answered"),
            *(cell.c[name] for name in COORDINATES),
        )
        .join(campaign_job, campaign_job.c.job_id == job.c.id)
        .join(cell, cell.c.id == campaign_job.c.cell_id)
        .where(campaign_job.c.campaign_id == campaign_id, job.c.state == JobState.RUNNING)
        .order_by(job.c.id)
    )
    return [
        RunningJob(
            job_id=row.id,
            kind=row.kind,
            owner=row.lease_owner,
            answered=row.answered,
            query=row.parameters["first"] + row.answered if row.kind == JobKind.FORGERY else None,
            place=", ".join(
                f"{name} {value}" for name in COORDINATES if (value := getattr(row, name)) is not None
            ),
        )
        for row in store.rows(query)
    ]


def expired_leases(store: Store) -> int:
    """Return the number of running jobs of the whole store whose lease expired more than `LEASE_S` ago.

    An orchestrator that is alive would have taken them back.
    """
    is_expired = job.c.lease_until < store.clock() - LEASE_S
    query = sa.select(sa.func.count(job.c.id)).where(job.c.state == JobState.RUNNING, is_expired)
    return int(store.rows(query)[0][0])


@dataclass(frozen=True)
class Totals:
    """Numbers over all campaigns of a store."""

    campaigns: Mapping[int, tuple[str, str]]
    """Name and recorded state of each campaign by its id."""
    outcomes: Mapping[tuple[str, str], int]
    """Number of outcomes by kind of job and status of the outcome."""
    answers: Mapping[str, int]
    """Number of answered forgery queries by status."""
    failed_attempts: int
    """Number of attempts in which a job's process or its worker died."""


def count_totals(store: Store) -> Totals:
    """Count a whole store: reads every outcome and every answer, some seconds for 10^7 of them."""
    outcomes = (
        sa.select(job.c.kind, outcome.c.status, sa.func.count())
        .join(outcome, outcome.c.job_id == job.c.id)
        .group_by(job.c.kind, outcome.c.status)
    )
    status = forgery_answer.c.status
    answers = sa.select(status, sa.func.count()).group_by(status)
    campaigns = sa.select(campaign.c.id, campaign.c.name, campaign.c.state)
    return Totals(
        campaigns={campaign_id: (name, state) for campaign_id, name, state in store.rows(campaigns)},
        outcomes={(kind, status): count for kind, status, count in store.rows(outcomes)},
        answers={row[0]: row[1] for row in store.rows(answers)},
        failed_attempts=store.rows(sa.select(sa.func.count()).select_from(attempt))[0][0],
    )
