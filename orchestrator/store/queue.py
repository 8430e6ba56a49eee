"""Which jobs are ready, and taking back what dead workers held."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import sqlalchemy as sa

from orchestrator.store.database import Store
from orchestrator.store.settling import lock_jobs, settle
from orchestrator.store.tables import JobState, attempt, campaign_job, job, job_need, outcome
from workers.jobs import OutcomeStatus
from workers.runtime.ledger import MAX_ATTEMPTS


def ready_jobs(store: Store, campaign_id: int, *, limit: int, other_than: Collection[int]) -> list[int]:
    """Return up to `limit` ids of a campaign's ready jobs, in the order in which they were planned.

    Jobs that an earlier campaign planned too come first.
    """
    if limit <= 0:
        return []
    ours = sa.select(campaign_job.c.job_id).where(
        campaign_job.c.campaign_id == campaign_id, campaign_job.c.job_id == job.c.id
    )
    # Ids grow with the plan; by position, all ready jobs would have to be sorted for each handful. Written so
    # that both databases can but walk along the index `ix_job_ready`, whatever they guess of the numbers: the
    # state as a constant, which proves that the index serves, and a subquery that cannot become a join.
    query = (
        sa.select(job.c.id)
        .where(
            job.c.state == sa.literal(JobState.READY.value, literal_execute=True),
            ~store.is_one_of(job.c.id, other_than),
            ours.scalar_subquery().is_not(None),
        )
        .order_by(job.c.id)
        .limit(limit)
    )
    with store.read() as connection:
        return list(connection.execute(query).scalars())


def requeue_expired(store: Store) -> int:
    """Take back jobs whose lease has lapsed, as failed attempts; return how many."""
    with store.read() as connection:
        lapsed = _lapsed(store, connection, for_update=False)
    if not lapsed:
        return 0
    with store.write() as connection:
        lapsed = _lapsed(store, connection, for_update=True)
        for job_id, owner in lapsed:
            count_failure(store, connection, job_id, owner, "worker lost: lease expired")
    return len(lapsed)


def _lapsed(store: Store, connection: sa.Connection, *, for_update: bool) -> list[tuple[int, str]]:
    query = (
        sa.select(job.c.id, job.c.lease_owner)
        .where(job.c.state == JobState.RUNNING, job.c.lease_until < store.clock())
        .order_by(job.c.id)
    )
    if for_update:  # two orchestrators must not both count a failure
        query = query.with_for_update(skip_locked=True)
    return [(row.id, row.lease_owner) for row in connection.execute(query)]


def release_dead(store: Store, is_gone: Callable[[str], bool]) -> int:
    """Give back at once the jobs of workers that are known to be dead; return how many.

    Not a failed attempt: what killed a whole worker was not the job, which runs in a process of its own.
    """
    with store.write() as connection:
        running = sa.select(job.c.id, job.c.lease_owner).where(job.c.state == JobState.RUNNING)
        running = running.order_by(job.c.id).with_for_update(skip_locked=True)
        dead = [row.id for row in connection.execute(running) if is_gone(row.lease_owner)]
        if dead:
            connection.execute(sa.update(job).where(job.c.id.in_(dead)).values(**given_back()))
    return len(dead)


def given_back() -> dict[str, Any]:
    """Return what makes a running job ready again, or cancelled if it was cancelled meanwhile."""
    state = sa.case((job.c.cancelled, JobState.CANCELLED.value), else_=JobState.READY.value)
    return {"state": state, "lease_owner": None, "lease_until": None}


def count_failure(store: Store, connection: sa.Connection, job_id: int, owner: str, reason: str) -> None:
    """Record a failed attempt; the last one allowed makes the outcome ``error`` with the history."""
    connection.execute(
        sa.insert(attempt).values(job_id=job_id, owner=owner, failed_at=store.now(connection), reason=reason)
    )
    failures = connection.execute(
        sa.update(job).where(job.c.id == job_id).values(failures=job.c.failures + 1).returning(job.c.failures)
    ).scalar_one()
    if failures < MAX_ATTEMPTS:
        connection.execute(sa.update(job).where(job.c.id == job_id).values(**given_back()))
        return
    history = connection.execute(
        sa.select(attempt.c.reason)
        .where(attempt.c.job_id == job_id)
        .order_by(attempt.c.id.desc())
        .limit(failures)
    ).scalars()
    lines = [
        f"attempt {number}: {text.strip()}" for number, text in enumerate(reversed(list(history)), start=1)
    ]
    finish(
        store,
        connection,
        job_id,
        owner,
        {
            "status": OutcomeStatus.ERROR,
            "result": None,
            "timings": {},
            "error": f"failed {failures} times\n" + "\n".join(lines),
        },
    )


def finish(
    store: Store, connection: sa.Connection, job_id: int, owner: str, columns: dict[str, object]
) -> bool:
    """Insert a job's outcome unless it has one, free its lease and settle what depends on it.

    The job must be locked by this transaction.
    """
    row = {"job_id": job_id, "owner": owner, "recorded_at": store.clock(), **columns}
    if not store.insert_new(connection, outcome, [row]):
        return False
    state = JobState.DONE if columns["status"] == OutcomeStatus.DONE else JobState.FAILED
    connection.execute(
        sa.update(job).where(job.c.id == job_id).values(state=state, lease_owner=None, lease_until=None)
    )
    dependents = sa.select(job_need.c.job_id).where(job_need.c.needs_id == job_id)
    if connection.execute(dependents.limit(1)).first() is None:  # as for most: nothing needs an attack
        return True
    # Two workers that finish two needs of one job at the same time must not each see the other's unfinished.
    lock_jobs(store, connection, dependents)
    settle(connection, dependents)
    return True
