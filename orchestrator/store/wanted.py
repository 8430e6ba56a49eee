"""Find the jobs of a campaign that a person asks for, without reading all of them.

By kind and state an index gives them in order. For coordinates of the grid and durations there is none: a
bounded number of jobs is looked at, and whoever asks learns how far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from orchestrator.store.database import Store
from orchestrator.store.tables import JobState, campaign_job, cell, job, outcome

WINDOW = 5000
"""Jobs that are looked at for one page by coordinates or durations; a few tens of milliseconds."""

SCATTERED = 1000
"""The same at a place of the grid, whose jobs may each be in another page of the store's file."""

AT_ONCE = 250
"""Of these, jobs that are looked at before it is known whether the page is full."""


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


_Conditions = tuple[sa.ColumnElement[int], list[sa.ColumnElement[bool]]]
"""A table's column of job ids, and the conditions on its rows."""


@dataclass(frozen=True)
class Found:
    """The first wanted jobs in the order of a search."""

    ids: list[int]
    looked_at: int = 0
    """Number of jobs that were looked at, if others may be wanted too; else 0."""
    looked_to: int | None = None
    """The last of them; None if no other can be wanted."""


def find(
    store: Store,
    connection: sa.Connection,
    campaign_id: int,
    wanted: Wanted,
    ends: tuple[int, int],
    *,
    backwards: bool,
    limit: int,
) -> Found:
    """Return at most `limit` wanted jobs with ids between two, both included; from above if `backwards`."""
    if not wanted.is_narrowed:
        query = _ids(campaign_id, wanted, ends, backwards, limit)
        return Found(list(connection.execute(query).scalars()))
    near = _at_place(connection, campaign_id, wanted, ends, backwards) if wanted.place else None
    tables = _conditions(campaign_id, wanted, is_at_place=near is not None)
    if near is None:
        query = _ids(campaign_id, wanted, ends, backwards, WINDOW + 1)
        near, size = list(connection.execute(query).scalars()), WINDOW
    else:
        size = SCATTERED if tables else WINDOW
    ids = _matching(store, connection, tables, near[:size], limit)
    if len(near) <= size or len(ids) == limit:
        return Found(ids)
    return Found(ids, size, near[size - 1])


def _at_place(
    connection: sa.Connection, campaign_id: int, wanted: Wanted, ends: tuple[int, int], backwards: bool
) -> list[int] | None:
    """Return the jobs at a place of the grid, in the order of the search; None if they are too many."""
    there = sa.select(campaign_job.c.job_id).where(campaign_job.c.cell_id.in_(_cells(campaign_id, wanted)))
    ids = list(connection.execute(there.limit(WINDOW + 1)).scalars())
    if len(ids) > WINDOW:
        return None
    return sorted((one for one in ids if ends[0] <= one <= ends[1]), reverse=backwards)


def _matching(
    store: Store, connection: sa.Connection, tables: Sequence[_Conditions], near: Sequence[int], limit: int
) -> list[int]:
    """Return the first ids among some of the jobs that meet the conditions, a few at a time."""
    found: list[int] = []
    for start in range(0, len(near), AT_ONCE):
        ids = near[start : start + AT_ONCE]
        for column, conditions in tables:
            query = sa.select(column).where(store.is_one_of(column, ids), *conditions)
            kept = set(connection.execute(query).scalars())
            ids = [one for one in ids if one in kept]
        found += ids
        if len(found) >= limit:
            break
    return found[:limit]


def _conditions(campaign_id: int, wanted: Wanted, *, is_at_place: bool) -> list[_Conditions]:
    """Return the conditions of each table that has any, with its column of job ids."""
    seconds = outcome.c.timings["job"].as_float()
    cells = _cells(campaign_id, wanted)
    in_grid = [campaign_job.c.campaign_id == campaign_id, campaign_job.c.cell_id.in_(cells)]
    # By their ids, not by the index of kinds, which PostgreSQL would search for each id and state.
    kind = job.c.kind.concat("")
    of_job: list[sa.ColumnElement[bool]] = [] if wanted.is_every_kind else [kind.in_(wanted.kinds)]
    of_job += [] if wanted.state is None else [job.c.state == wanted.state]
    of_outcome = [] if wanted.least_s is None else [seconds >= wanted.least_s]
    of_outcome += [] if wanted.most_s is None else [seconds <= wanted.most_s]
    each: list[_Conditions] = [
        (campaign_job.c.job_id, in_grid if wanted.place and not is_at_place else []),
        (job.c.id, of_job),
        (outcome.c.job_id, of_outcome),
    ]
    return [(column, conditions) for column, conditions in each if conditions]


def _cells(campaign_id: int, wanted: Wanted) -> sa.Select[Any]:
    """Return the query for the points of the grid that have the wanted coordinates."""
    return sa.select(cell.c.id).where(
        cell.c.campaign_id == campaign_id, *(cell.c[name] == value for name, value in wanted.place.items())
    )


def _ids(
    campaign_id: int, wanted: Wanted, ends: tuple[int, int], backwards: bool, limit: int
) -> sa.Select[Any]:
    """Return the query for the first wanted ids between two, or for the last ones, both ends included."""

    def some(place: sa.ColumnElement[int], *conditions: sa.ColumnElement[bool]) -> sa.Select[Any]:
        # One bound at each end: of two, SQLite would walk from the one that comes first in the statement.
        within = sa.select(place).where(*conditions, place >= ends[0], place <= ends[1])
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
