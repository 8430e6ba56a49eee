"""What monitors see of a store: the jobs that run, and the query each is at; leases; all in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa

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
from workers.jobs import JobKind
from workers.runtime.ledger import LEASE_S

_PLACE = ("scheme", "trigger_share", "ones_share", "repeat", "engine", "signature", "eps")


@dataclass(frozen=True)
class RunningJob:
    """A job that a worker has.

    Attributes
    ----------
    job_id, kind, owner
        What, and who runs it.
    leases
        How often it was taken: a batch of slow queries is taken again and again.
    answered
        Forgery only: how many queries of the batch have an answer.
    query
        Forgery only: the instance that is being asked about; those of a batch are asked in order.
    place
        Its place in the grid, for people.
    """

    job_id: int
    kind: str
    owner: str
    leases: int
    answered: int
    query: int | None
    place: str


def running_jobs(store: Store, campaign_id: int) -> list[RunningJob]:
    """Return a campaign's running jobs, the one that was planned first first."""
    answered = sa.select(sa.func.count()).where(forgery_answer.c.job_id == job.c.id).scalar_subquery()
    query = (
        sa.select(
            job.c.id,
            job.c.kind,
            job.c.lease_owner,
            job.c.leases,
            job.c.parameters,
            answered.label("answered"),
            *(cell.c[name] for name in _PLACE),
        )
        .join(campaign_job, campaign_job.c.job_id == job.c.id)
        .join(cell, cell.c.id == campaign_job.c.cell_id)
        .where(campaign_job.c.campaign_id == campaign_id, job.c.state == JobState.RUNNING)
        .order_by(job.c.id)
    )
    with store.read() as connection:
        rows = connection.execute(query).mappings().all()
    return [
        RunningJob(
            job_id=row["id"],
            kind=row["kind"],
            owner=row["lease_owner"],
            leases=row["leases"],
            answered=row["answered"],
            query=row["parameters"]["first"] + row["answered"] if row["kind"] == JobKind.FORGERY else None,
            place=", ".join(f"{name} {row[name]}" for name in _PLACE if row[name] is not None),
        )
        for row in rows
    ]


def lapsed_leases(store: Store) -> int:
    """Return how many running jobs of the whole store have a lease that expired a while ago."""
    a_while_ago = store.clock() - LEASE_S  # what an orchestrator that is alive has taken back by then
    query = sa.select(sa.func.count(job.c.id)).where(
        job.c.state == JobState.RUNNING, job.c.lease_until < a_while_ago
    )
    with store.read() as connection:
        return int(connection.execute(query).scalar_one())


@dataclass(frozen=True)
class Tally:
    """What a store holds, over all campaigns.

    Attributes
    ----------
    campaigns
        Name and state of each campaign by its id; the state as it was marked last.
    outcomes
        Number of outcomes by the job's kind and the outcome's status.
    answers
        Number of answered forgery queries by status.
    failed_attempts
        How often a job's process or its worker died.
    """

    campaigns: Mapping[int, tuple[str, str]]
    outcomes: Mapping[tuple[str, str], int]
    answers: Mapping[str, int]
    failed_attempts: int


def tally(store: Store) -> Tally:
    """Count a whole store: reads every outcome and every answer, some seconds for 10^7 of them."""
    outcomes = (
        sa.select(job.c.kind, outcome.c.status, sa.func.count())
        .join(outcome, outcome.c.job_id == job.c.id)
        .group_by(job.c.kind, outcome.c.status)
    )
    answers = sa.select(forgery_answer.c.status, sa.func.count().label("number")).group_by(
        forgery_answer.c.status
    )
    with store.read() as connection:
        return Tally(
            campaigns={
                row.id: (row.name, row.state)
                for row in connection.execute(sa.select(campaign.c.id, campaign.c.name, campaign.c.state))
            },
            outcomes={(kind, status): count for kind, status, count in connection.execute(outcomes)},
            answers={row.status: row.number for row in connection.execute(answers)},
            failed_attempts=connection.execute(sa.select(sa.func.count()).select_from(attempt)).scalar_one(),
        )
