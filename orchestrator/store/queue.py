"""Change the states of jobs: make them ready or blocked, find ready ones, take them back, end them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from orchestrator.store.database import Store
from orchestrator.store.tables import JobState, attempt, campaign_job, job, job_need, outcome
from workers.jobs.base import Outcome, OutcomeStatus
from workers.runtime.ledger import MAX_ATTEMPTS

_WITHOUT_RESULT = (JobState.FAILED, JobState.BLOCKED, JobState.CANCELLED)
_UNFINISHED = tuple(state for state in JobState if not state.is_finished)


def lock_jobs(store: Store, connection: sa.Connection, among: sa.Select[Any]) -> None:
    """Lock some jobs until the end of the transaction, in the order of their ids, which avoids deadlocks.

    SQLite needs no locks: it allows one writer at a time.
    """
    if not store.is_sqlite:
        locked = sa.select(job.c.id).where(job.c.id.in_(among)).order_by(job.c.id).with_for_update()
        connection.execute(sa.select(sa.func.count()).select_from(locked.subquery()))


def settle(connection: sa.Connection, among: sa.Select[Any]) -> None:
    """Update the waiting jobs among some: blocked if a need failed, ready if all needs are done.

    An optional need only has to be finished, with or without a result. Blocking spreads from need to
    dependent, also to other jobs, until nothing changes.
    """
    needed = job.alias("needed")

    def needs(*conditions: sa.ColumnElement[bool]) -> sa.Exists:
        return sa.exists().where(
            job_need.c.job_id == job.c.id, needed.c.id == job_need.c.needs_id, *conditions
        )

    is_waiting = job.c.state == JobState.WAITING
    block = sa.update(job).values(state=JobState.BLOCKED).returning(job.c.id)
    blocked = connection.execute(
        block.where(
            is_waiting, job.c.id.in_(among), needs(needed.c.state.in_(_WITHOUT_RESULT), ~job_need.c.optional)
        )
    ).all()
    concerned: sa.ColumnElement[bool] = job.c.id.in_(among)
    if blocked:
        # Jobs whose only unfinished needs were optional may go on.
        concerned |= needs(needed.c.state == JobState.BLOCKED, job_need.c.optional)
    while blocked:
        blocked = connection.execute(
            block.where(is_waiting, needs(needed.c.state == JobState.BLOCKED, ~job_need.c.optional))
        ).all()
    unmet = sa.or_(
        needed.c.state.in_(_UNFINISHED), sa.and_(needed.c.state != JobState.DONE, ~job_need.c.optional)
    )
    connection.execute(
        sa.update(job).where(is_waiting, concerned, ~needs(unmet)).values(state=JobState.READY)
    )


def lock_campaign(store: Store, connection: sa.Connection, campaign_id: int) -> None:
    """Lock a campaign's jobs: a worker that ends one during this transaction would see old states."""
    going_on = job.c.state.in_((JobState.READY, JobState.RUNNING))
    lock_jobs(store, connection, sa.select(job.c.id).where(job.c.id.in_(jobs_of(campaign_id)), going_on))


def jobs_of(campaign_id: int) -> sa.Select[Any]:
    """Return the query for the ids of a campaign's jobs."""
    return sa.select(campaign_job.c.job_id).where(campaign_job.c.campaign_id == campaign_id)


def ready_jobs(store: Store, campaign_id: int, *, limit: int, excluded: Collection[int]) -> list[int]:
    """Return up to `limit` ids of a campaign's ready jobs, in the order in which they were planned.

    Jobs shared with an earlier campaign come first.
    """
    if limit <= 0:
        return []
    ours = jobs_of(campaign_id).where(campaign_job.c.job_id == job.c.id)
    # Ids are in the order of the plan; ordered by position, all ready jobs would be sorted each time. Both
    # databases have to use the index `ix_job_ready`, whatever their statistics say, because the state is a
    # constant, which matches the index, and the subquery cannot become a join.
    query = (
        sa.select(job.c.id)
        .where(
            job.c.state == sa.literal(JobState.READY.value, literal_execute=True),
            ~store.is_one_of(job.c.id, excluded),
            ours.scalar_subquery().is_not(None),
        )
        .order_by(job.c.id)
        .limit(limit)
    )
    return [row.id for row in store.rows(query)]


def requeue_expired(store: Store, is_running: Callable[[str], bool] = lambda _owner: False) -> int:
    """Take back jobs whose lease has expired, as failed attempts; return their number.

    Not those of owners known to be running: their lease expired because a clock jumped, or because they were
    suspended, and they renew it now.
    """
    expired = (
        sa.select(job.c.id, job.c.lease_owner)
        .where(job.c.state == JobState.RUNNING, job.c.lease_until < store.clock())
        .order_by(job.c.id)
    )
    seen = store.rows(expired)
    if not seen:  # the usual case
        return 0
    with store.write() as connection:
        # Two orchestrators must not both count a failure.
        found = connection.execute(expired.with_for_update(skip_locked=True)).all()
        rows = [row for row in found if not is_running(row.lease_owner)]
        for row in rows:
            count_failure(store, connection, row.id, row.lease_owner, "worker lost: lease expired")
    if len(found) < len(seen):  # perhaps locked by the session of who lost it
        store.end_silent_sessions()
    return len(rows)


def release_dead(store: Store, is_gone: Callable[[str], bool]) -> int:
    """Give back the jobs of workers that are known to be dead; return their number.

    This is no failed attempt: a job, which runs in its own process, cannot kill a worker.
    """
    running = sa.select(job.c.id, job.c.lease_owner).where(job.c.state == JobState.RUNNING)
    seen = [row.id for row in store.rows(running) if is_gone(row.lease_owner)]
    if not seen:  # the usual case
        return 0
    with store.write() as connection:
        locked = running.where(job.c.id.in_(seen)).order_by(job.c.id).with_for_update(skip_locked=True)
        dead = [row.id for row in connection.execute(locked) if is_gone(row.lease_owner)]
        if dead:
            connection.execute(sa.update(job).where(job.c.id.in_(dead)).values(**given_back()))
    if len(dead) < len(seen):  # perhaps locked by the session of who is gone
        store.end_silent_sessions()
    return len(dead)


def given_back() -> dict[str, Any]:
    """Return the values that make a running job ready again, or cancelled if it was cancelled meanwhile."""
    state = sa.case((job.c.cancelled, JobState.CANCELLED.value), else_=JobState.READY.value)
    return {"state": state, "lease_owner": None, "lease_until": None}


def count_failure(store: Store, connection: sa.Connection, job_id: int, owner: str, reason: str) -> None:
    """Record a failed attempt; after the last one allowed the job ends as ``error`` with its history."""
    connection.execute(
        sa.insert(attempt).values(job_id=job_id, owner=owner, failed_at=store.clock(), reason=reason)
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
    error = "\n".join([f"failed {failures} times", *lines])
    finish(store, connection, job_id, owner, Outcome(OutcomeStatus.ERROR, None, {}, error))


def finish(store: Store, connection: sa.Connection, job_id: int, owner: str, ended: Outcome) -> bool:
    """Insert a job's outcome unless it has one, free its lease and settle the jobs that need it.

    The job must be locked by this transaction.
    """
    row = {"job_id": job_id, "owner": owner, "recorded_at": store.clock(), **asdict(ended)}
    if not store.insert_new(connection, outcome, [row]):
        return False
    state = JobState.DONE if ended.status is OutcomeStatus.DONE else JobState.FAILED
    connection.execute(
        sa.update(job).where(job.c.id == job_id).values(state=state, lease_owner=None, lease_until=None)
    )
    dependents = sa.select(job_need.c.job_id).where(job_need.c.needs_id == job_id)
    if connection.execute(dependents.limit(1)).first() is None:  # the usual case: nothing needs an attack
        return True
    # Else two workers that finish two needs of one job at the same time could each miss the other's state.
    lock_jobs(store, connection, dependents)
    settle(connection, dependents)
    return True
