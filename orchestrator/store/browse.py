"""Read jobs page by page, and what failed: for the live page.

A page is found by the job ids that it begins after, never by counting rows: it takes as long in a campaign of
10^6 jobs as in one of ten (see `wanted`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from orchestrator.plan import GridPoint
from orchestrator.store.database import Store
from orchestrator.store.tables import JobState, campaign_job, cell, job, outcome
from orchestrator.store.wanted import Wanted, find

PAGE = 50
"""Jobs of a page."""

COORDINATES = tuple(GridPoint.__dataclass_fields__)
"""Columns of a cell."""


@dataclass(frozen=True)
class JobRow:
    """A job as a page lists it."""

    id: int
    kind: str
    state: JobState
    cell: GridPoint
    failures: int
    """Failed attempts so far."""
    status: str | None
    """Of its outcome; None while it has none."""
    seconds: float | None
    """Time that it took."""
    error: str
    """Of its outcome; empty without an error."""


@dataclass(frozen=True)
class JobPage:
    """Jobs in the order of their ids, that of the plan; those shared with an older campaign come first."""

    jobs: tuple[JobRow, ...]
    has_earlier: bool
    has_later: bool
    looked_at: int = 0
    """Number of jobs that were looked at, if the search ended before the page was full; else 0."""
    looked_to: int | None = None
    """The job where the search ended before the page was full; None if it looked at all that matter."""


def page_of_jobs(
    store: Store,
    campaign_id: int,
    wanted: Wanted,
    *,
    after: int | None = None,
    before: int | None = None,
    limit: int = PAGE,
) -> JobPage:
    """Return the first wanted jobs after an id, or the last ones before one.

    At most one of `after` and `before` may be given.
    """
    backwards = before is not None
    with store.read() as connection:
        lowest, highest = _ends(connection, campaign_id)
        if after is not None:
            lowest = max(lowest, after + 1)
        if before is not None:
            highest = min(highest, before - 1)
        found = find(
            store, connection, campaign_id, wanted, (lowest, highest), backwards=backwards, limit=limit + 1
        )
        is_more, ids = len(found.ids) > limit, sorted(found.ids[:limit])
        rows = _rows(store, connection, campaign_id, ids)
    is_inside = before is not None or after is not None
    return JobPage(
        rows,
        has_earlier=is_more if backwards else is_inside,
        has_later=is_inside if backwards else is_more,
        looked_at=found.looked_at,
        looked_to=found.looked_to,
    )


def coordinates(store: Store, campaign_id: int) -> dict[str, tuple[str | float | int, ...]]:
    """Return the values of each coordinate that has any in a campaign, sorted."""
    with store.read() as connection:
        found = {}
        for name in COORDINATES:
            column = cell.c[name]
            query = sa.select(column).where(cell.c.campaign_id == campaign_id, column.is_not(None))
            values = tuple(connection.execute(query.distinct().order_by(column)).scalars())
            if values:
                found[name] = values
    return found


def _ends(connection: sa.Connection, campaign_id: int) -> tuple[int, int]:
    """Return the lowest and the highest id of a campaign's jobs; 0 and -1 without jobs."""
    ours = campaign_job.c.campaign_id == campaign_id
    ends = [
        sa.select(end(campaign_job.c.job_id)).where(ours).scalar_subquery()
        for end in (sa.func.min, sa.func.max)
    ]
    low, high = connection.execute(sa.select(*ends)).one()
    return (0, -1) if low is None else (int(low), int(high))


def _rows(
    store: Store, connection: sa.Connection, campaign_id: int, ids: Sequence[int]
) -> tuple[JobRow, ...]:
    query = (
        sa.select(
            job.c.id,
            job.c.kind,
            job.c.state,
            job.c.failures,
            *(cell.c[name] for name in COORDINATES),
            outcome.c.status,
            outcome.c.timings,
            outcome.c.error,
        )
        .join(campaign_job, campaign_job.c.job_id == job.c.id)
        .join(cell, cell.c.id == campaign_job.c.cell_id)
        .outerjoin(outcome, outcome.c.job_id == job.c.id)
        .where(campaign_job.c.campaign_id == campaign_id, store.is_one_of(job.c.id, ids))
        .order_by(job.c.id)
    )
    return tuple(
        JobRow(
            row.id,
            row.kind,
            JobState(row.state),
            GridPoint(*(getattr(row, name) for name in COORDINATES)),
            row.failures,
            row.status,
            (row.timings or {}).get("job"),
            row.error or "",
        )
        for row in connection.execute(query)
    )


def failed_by_kind(store: Store, campaign_id: int, kinds: Iterable[str]) -> dict[tuple[str, str], int]:
    """Return the number of a campaign's failed jobs of some kinds, by kind and status of the outcome."""
    is_ours = sa.select(campaign_job.c.job_id).where(
        campaign_job.c.campaign_id == campaign_id, campaign_job.c.job_id == job.c.id
    )
    query = (
        sa.select(job.c.kind, outcome.c.status, sa.func.count())
        .join(outcome, outcome.c.job_id == job.c.id)
        .where(
            job.c.kind.in_(list(kinds)),
            job.c.state == JobState.FAILED,
            is_ours.scalar_subquery().is_not(None),
        )
        .group_by(job.c.kind, outcome.c.status)
    )
    return {(kind, status): count for kind, status, count in store.rows(query)}
