"""Store the jobs of a plan, each once for all campaigns, with their needs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from orchestrator.plan import GridPoint, PlannedJob
from orchestrator.store.database import Store
from orchestrator.store.tables import JobState, campaign_job, cell, job, job_need

_JOBS_AT_ONCE = 2000
_KEYS_AT_ONCE = 500


def insert_jobs(store: Store, connection: sa.Connection, campaign_id: int, jobs: Iterable[PlannedJob]) -> int:
    """Store the jobs of a new campaign, all waiting, and return their number.

    Jobs that the store already has are shared, with their needs; `Lock.PLAN` must be held.
    """
    newest = connection.execute(sa.select(sa.func.max(job.c.id))).scalar_one() or 0
    cells: dict[GridPoint, int] = {}
    count = 0
    iterator = iter(jobs)
    while batch := tuple(itertools.islice(iterator, _JOBS_AT_ONCE)):
        ids = _insert(store, connection, batch)
        needs = [row for planned in batch for row in _needs(planned, ids, newest)]
        store.insert_new(connection, job_need, needs)
        _link(store, connection, campaign_id, count, batch, ids, cells)
        count += len(batch)
    _delete_foreign_help(connection, campaign_id, newest)
    return count


def _insert(store: Store, connection: sa.Connection, batch: Sequence[PlannedJob]) -> dict[str, int]:
    """Insert the new jobs; return the ids of all jobs of the batch, their needs and helpers, by key."""
    names = ("key", "kind", "parameters", "weight")
    rows = {planned.key: {name: getattr(planned, name) for name in names} for planned in batch}
    new = {"state": JobState.WAITING, "failures": 0}
    store.insert_new(connection, job, [row | new for row in rows.values()])
    ids: dict[str, int] = {}
    ordered = sorted(
        {key for one in batch for key in (one.key, *one.needs, *itertools.chain(*one.helped_by))}
    )
    for start in range(0, len(ordered), _KEYS_AT_ONCE):
        found = sa.select(job.c.key, job.c.id).where(job.c.key.in_(ordered[start : start + _KEYS_AT_ONCE]))
        ids.update({row.key: row.id for row in connection.execute(found)})
    return ids


def _needs(planned: PlannedJob, ids: Mapping[str, int], newest: int) -> Iterator[dict[str, Any]]:
    """Yield a job's needs as rows.

    Only jobs with a smaller id help, so that no two jobs wait for each other, and only a new job is helped:
    older campaigns that share a job may lack the helper, which would then never run.
    """
    job_id = ids[planned.key]
    for key in planned.needs:
        yield {"job_id": job_id, "needs_id": ids[key], "optional": False}
    if job_id <= newest:
        return
    for chain in planned.helped_by:
        for key in chain:
            if ids.get(key, job_id) < job_id:
                yield {"job_id": job_id, "needs_id": ids[key], "optional": True}
                break


def _link(
    store: Store,
    connection: sa.Connection,
    campaign_id: int,
    first: int,
    batch: Sequence[PlannedJob],
    ids: Mapping[str, int],
    cells: dict[GridPoint, int],
) -> None:
    """Add a batch, whose first job is number `first`, to a campaign; `cells` has the ids of grid points."""
    new = list({planned.cell: None for planned in batch if planned.cell not in cells})
    if new:
        statement = sa.insert(cell).returning(cell.c.id, sort_by_parameter_order=True)
        points = [{"campaign_id": campaign_id, **asdict(point)} for point in new]
        cells.update(zip(new, connection.execute(statement, points).scalars(), strict=True))
    links = [
        {"job_id": ids[planned.key], "cell_id": cells[planned.cell], "position": position}
        for position, planned in enumerate(batch, start=first)
    ]
    store.insert_new(connection, campaign_job, [{"campaign_id": campaign_id} | link for link in links])


def _delete_foreign_help(connection: sa.Connection, campaign_id: int, newest: int) -> None:
    """Delete optional needs of shared jobs that this campaign lacks: those jobs may never run."""
    shared = sa.select(campaign_job.c.job_id).where(
        campaign_job.c.campaign_id == campaign_id, campaign_job.c.job_id <= newest
    )
    ours = sa.exists().where(
        campaign_job.c.campaign_id == campaign_id, campaign_job.c.job_id == job_need.c.needs_id
    )
    connection.execute(sa.delete(job_need).where(job_need.c.optional, job_need.c.job_id.in_(shared), ~ours))
