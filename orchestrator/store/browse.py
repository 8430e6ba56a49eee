"""Read jobs page by page, and what failed: for the live page.

A page is found by the job ids that it begins after, never by counting rows: it takes as long in a campaign of
10^6 jobs as in one of ten. For coordinates or durations at most `WINDOW` jobs are looked at,
and the page says how far.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from orchestrator.plan import GridPoint
from orchestrator.store.database import Store
from orchestrator.store.tables import JobState, campaign_job, cell, job, outcome

PAGE = 50
"""Jobs of a page."""

WINDOW = 5000
"""Jobs that are looked at for one page by coordinates or durations; a few tens of milliseconds."""

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
    looked_to: int | None = None
    """The job where the search ended before the page was full; None if it looked at all that matter."""


@dataclass(frozen=True)
class Wanted:
    """Which jobs of a campaign to list."""

    kinds: tuple[str, ...]
    """Every kind that the campaign may have, or the one wanted."""
    state: JobState | None = None
    """Any state if None."""
    is_every_kind: bool = True
    """Whether `kinds` leaves none out."""
    place: Mapping[str, str | float | int] = field(default_factory=dict)
    """Coordinates of the grid with the value that each must have."""
    least_s: float | None = None
    """Shortest time that a job may have taken, in seconds; jobs without an outcome have none."""
    most_s: float | None = None
    """Longest."""

    @property
    def is_narrowed(self) -> bool:
        """Whether more is asked for than kind and state."""
        return bool(self.place) or self.least_s is not None or self.most_s is not None


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
        looked_to = None
        if wanted.is_narrowed:
            near, is_all = _near(connection, campaign_id, wanted, lowest, highest, backwards)
            ids = _narrowed(store, connection, campaign_id, wanted, near, backwards, limit + 1)
            if not is_all and len(ids) <= limit:
                looked_to = near[-1]
        else:
            query = _ids(campaign_id, wanted, lowest, highest, backwards, limit + 1)
            ids = list(connection.execute(query).scalars())
        is_more, ids = len(ids) > limit, sorted(ids[:limit])
        found = _rows(store, connection, campaign_id, ids)
    is_inside = before is not None or after is not None
    return JobPage(
        found,
        has_earlier=is_more if backwards else is_inside,
        has_later=is_inside if backwards else is_more,
        looked_to=looked_to,
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


def _near(
    connection: sa.Connection, campaign_id: int, wanted: Wanted, lowest: int, highest: int, backwards: bool
) -> tuple[list[int], bool]:
    """Return ids among which to look, in the order of the search, and whether no other can match."""
    if wanted.place:
        cells = sa.select(cell.c.id).where(
            cell.c.campaign_id == campaign_id,
            *(cell.c[name] == value for name, value in wanted.place.items()),
        )
        there = sa.select(campaign_job.c.job_id).where(campaign_job.c.cell_id.in_(cells))
        ids = list(connection.execute(there.limit(WINDOW + 1)).scalars())
        if len(ids) <= WINDOW:
            return [one for one in ids if lowest <= one <= highest], True
    ids = list(
        connection.execute(_ids(campaign_id, wanted, lowest, highest, backwards, WINDOW + 1)).scalars()
    )
    return ids[:WINDOW], len(ids) <= WINDOW


def _narrowed(
    store: Store,
    connection: sa.Connection,
    campaign_id: int,
    wanted: Wanted,
    near: Sequence[int],
    backwards: bool,
    limit: int,
) -> list[int]:
    """Return the first ids among some of the jobs that meet every condition."""
    seconds = outcome.c.timings["job"].as_float()
    conditions = [cell.c[name] == value for name, value in wanted.place.items()]
    conditions += [] if wanted.least_s is None else [seconds >= wanted.least_s]
    conditions += [] if wanted.most_s is None else [seconds <= wanted.most_s]
    conditions += [] if wanted.is_every_kind else [job.c.kind.in_(wanted.kinds)]
    conditions += [] if wanted.state is None else [job.c.state == wanted.state]
    query = (
        sa.select(job.c.id)
        .join(campaign_job, campaign_job.c.job_id == job.c.id)
        .join(cell, cell.c.id == campaign_job.c.cell_id)
        .outerjoin(outcome, outcome.c.job_id == job.c.id)
        .where(campaign_job.c.campaign_id == campaign_id, store.is_one_of(job.c.id, near), *conditions)
        .order_by(job.c.id.desc() if backwards else job.c.id.asc())
        .limit(limit)
    )
    return list(connection.execute(query).scalars())


def _ends(connection: sa.Connection, campaign_id: int) -> tuple[int, int]:
    """Return the lowest and the highest id of a campaign's jobs; 0 and -1 without jobs."""
    ours = campaign_job.c.campaign_id == campaign_id
    ends = [
        sa.select(end(campaign_job.c.job_id)).where(ours).scalar_subquery()
        for end in (sa.func.min, sa.func.max)
    ]
    low, high = connection.execute(sa.select(*ends)).one()
    return (0, -1) if low is None else (int(low), int(high))


def _ids(
    campaign_id: int, wanted: Wanted, lowest: int, highest: int, backwards: bool, limit: int
) -> sa.Select[Any]:
    """Return the query for the first wanted ids between two, or for the last ones, both ends included."""

    def some(place: sa.ColumnElement[int], *conditions: sa.ColumnElement[bool]) -> sa.Select[Any]:
        # One bound at each end: of two, SQLite would walk from the one that comes first in the statement.
        within = sa.select(place).where(*conditions, place >= lowest, place <= highest)
        return within.order_by(place.desc() if backwards else place.asc()).limit(limit)

    ours = campaign_job.c.campaign_id == campaign_id
    if wanted.state is None and wanted.is_every_kind:
        return some(campaign_job.c.job_id, ours)
    # Of each kind and state the index gives ids in order: a few from each are merged, and nothing is sorted.
    # The subquery cannot become a join, for which all jobs of the campaign would be read.
    mine = sa.select(campaign_job.c.job_id).where(ours, campaign_job.c.job_id == job.c.id).scalar_subquery()
    parts = [
        some(job.c.id, job.c.kind == kind, job.c.state == state, mine.is_not(None)).subquery()
        for kind in wanted.kinds
        for state in ([wanted.state] if wanted.state else JobState)
    ]
    merged = sa.union_all(*(sa.select(part.c.id) for part in parts)).subquery()
    return some(merged.c.id)


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
