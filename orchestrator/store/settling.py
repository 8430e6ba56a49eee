"""When a waiting job becomes ready, or blocked, by what became of the jobs that it needs."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from orchestrator.store.database import Store
from orchestrator.store.tables import JobState, job, job_need

_WILL_NOT_BE = (JobState.FAILED, JobState.BLOCKED, JobState.CANCELLED)
_UNFINISHED = tuple(state for state in JobState if not state.is_finished)


def lock_jobs(store: Store, connection: sa.Connection, among: sa.Select[Any]) -> None:
    """Wait until no other transaction changes some jobs, and keep them until this one ends.

    In the order of their ids, so that no two transactions wait for each other. SQLite needs none: it lets
    one writer in at a time.
    """
    if not store.is_sqlite:
        locked = sa.select(job.c.id).where(job.c.id.in_(among)).order_by(job.c.id).with_for_update()
        connection.execute(sa.select(sa.func.count()).select_from(locked.subquery()))


def settle(connection: sa.Connection, among: sa.Select[Any]) -> None:
    """Among some jobs, make waiting ones blocked whose needs failed, and ready whose needs are done.

    An optional need only has to be finished, in whatever way. Blocking spreads from need to dependent, beyond
    those jobs too, until nothing changes.
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
            is_waiting, job.c.id.in_(among), needs(needed.c.state.in_(_WILL_NOT_BE), ~job_need.c.optional)
        )
    ).all()
    concerned: sa.ColumnElement[bool] = job.c.id.in_(among)
    if blocked:
        # Who only waited for help from a blocked job may go on without.
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
