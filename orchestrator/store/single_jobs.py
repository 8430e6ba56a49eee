"""Queue single jobs again and cancel them, while the rest of their campaigns goes on."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from orchestrator.errors import InUseError
from orchestrator.store.database import Lock, Store
from orchestrator.store.queue import lock_jobs, settle
from orchestrator.store.tables import CampaignState, JobState, campaign, campaign_job, job, job_need, outcome

RETRIABLE = (JobState.FAILED, JobState.CANCELLED)
CANCELLABLE = (JobState.WAITING, JobState.READY, JobState.RUNNING)

_GOING_ON = (CampaignState.RUNNING, CampaignState.INTERRUPTED)


def retry_job(store: Store, job_id: int) -> None:
    """Queue a job that failed or was cancelled again, and with it the jobs that it had blocked.

    Raises
    ------
    InUseError
        It is in another state.
    """
    with store.write() as connection:
        store.lock(connection, Lock.PLAN)
        concerned = _with_dependents(job_id)
        lock_jobs(store, connection, concerned)
        _refuse_unless(connection, job_id, RETRIABLE)
        connection.execute(sa.delete(outcome).where(outcome.c.job_id == job_id))
        again = {"state": JobState.WAITING, "failures": 0, "cancelled": False}
        connection.execute(sa.update(job).where(job.c.id == job_id).values(**again))
        blocked = sa.update(job).where(job.c.id.in_(concerned), job.c.state == JobState.BLOCKED)
        connection.execute(blocked.values(state=JobState.WAITING))
        settle(connection, concerned)


def cancel_job(store: Store, job_id: int) -> None:
    """Cancel a job, which blocks those that need it; one that runs goes on to the end of its slice.

    Raises
    ------
    InUseError
        It has ended, or several unfinished campaigns share it.
    """
    with store.write() as connection:
        store.lock(connection, Lock.PLAN)
        concerned = _with_dependents(job_id)
        lock_jobs(store, connection, concerned)
        _refuse_unless(connection, job_id, CANCELLABLE)
        sharing = connection.execute(
            sa.select(campaign.c.name)
            .join(campaign_job, campaign_job.c.campaign_id == campaign.c.id)
            .where(campaign_job.c.job_id == job_id, campaign.c.state.in_(_GOING_ON))
            .order_by(campaign.c.id)
        ).scalars()
        names = list(sharing)
        if len(names) > 1:
            raise InUseError(
                f"job {job_id} belongs to {' and '.join(names)}, which go on: cancel one of them"
            )
        ours = sa.update(job).where(job.c.id == job_id)
        connection.execute(ours.where(job.c.state == JobState.RUNNING).values(cancelled=True))
        connection.execute(ours.where(job.c.state != JobState.RUNNING).values(state=JobState.CANCELLED))
        settle(connection, concerned)


def _with_dependents(job_id: int) -> sa.Select[Any]:
    """Return the query for a job, and for all that need it, directly or not."""
    found = sa.select(sa.literal(job_id).label("id")).cte("concerned", recursive=True)
    needing = sa.select(job_need.c.job_id).join(found, job_need.c.needs_id == found.c.id)
    every = found.union(needing)
    return sa.select(every.c.id)


def _refuse_unless(connection: sa.Connection, job_id: int, states: tuple[JobState, ...]) -> None:
    state = connection.execute(sa.select(job.c.state).where(job.c.id == job_id)).scalar_one()
    if state not in states:
        allowed = " or ".join(one.value for one in states)
        raise InUseError(f"job {job_id} is {state}: only jobs that are {allowed} can be changed so")
