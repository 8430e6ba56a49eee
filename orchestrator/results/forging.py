"""Read forgery results: counts for each distance, and the minimal distance of each instance."""

from __future__ import annotations

from typing import Any

import pandas as pd
import sqlalchemy as sa

from orchestrator.results.columns import COLUMNS, GRID, OUTCOMES
from orchestrator.results.rows import frame_of, place, results_of, typed
from orchestrator.store.database import Store
from orchestrator.store.tables import campaign_job, cell, forgery_answer, job
from workers.jobs.kinds import JobKind


def forgery(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return the counts of forgery outcomes for each embedding, engine, signature and eps.

    `instances` is the number of planned queries: a row whose five outcomes add up to less is incomplete.
    `forged` is the size of the forged trigger set, to compare with `trigger_size`. `followed` answers follow
    from those at another eps, without a query: `slowest_seconds` is None if all do. `certified` is the number
    of `impossible` answers with a checked proof.
    """
    counts = [sa.func.count().filter(forgery_answer.c.status == status).label(status) for status in OUTCOMES]
    columns = [cell.c[name] for name in (*GRID, "signature", "eps", "engine")]
    answered = (
        sa.select(
            cell.c.id,
            *counts,
            sa.func.sum(forgery_answer.c.seconds).label("seconds"),
            sa.func.max(forgery_answer.c.seconds).label("slowest_seconds"),
            sa.func.avg(forgery_answer.c.distance).label("mean_distance"),
            sa.func.count(forgery_answer.c.followed_from).label("followed"),
            sa.func.count().filter(forgery_answer.c.certified).label("certified"),
        )
        .join(campaign_job, campaign_job.c.cell_id == cell.c.id)
        .join(forgery_answer, forgery_answer.c.job_id == campaign_job.c.job_id)
        .where(cell.c.campaign_id == campaign_id)
        .group_by(cell.c.id)
        .subquery()
    )
    planned = (
        sa.select(cell.c.id, sa.func.sum(job.c.weight).label("instances"))
        .join(campaign_job, campaign_job.c.cell_id == cell.c.id)
        .join(job, job.c.id == campaign_job.c.job_id)
        .where(cell.c.campaign_id == campaign_id, job.c.kind == JobKind.FORGERY)
        .group_by(cell.c.id)
        .subquery()
    )
    query = (
        sa.select(*columns, planned.c.instances, *(column for column in answered.c if column.name != "id"))
        .join(planned, planned.c.id == cell.c.id)
        .outerjoin(answered, answered.c.id == cell.c.id)
        .order_by(*columns)
    )
    rows: list[dict[str, Any]] = [dict(row._mapping) for row in store.rows(query)]
    sizes = {
        tuple(place(row).values()): row.result["trigger_size"]
        for row in results_of(store, campaign_id, JobKind.EMBED)
    }
    for row in rows:
        row["trigger_size"] = sizes.get(tuple(row[name] for name in GRID))
        for name in (*OUTCOMES, "followed", "certified"):
            row[name] = int(row[name] or 0)
        row["instances"] = int(row["instances"])
        if row["followed"] == sum(row[name] for name in OUTCOMES):
            row["slowest_seconds"] = None
        row["seconds"] = float(row["seconds"] or 0.0)
    return frame_of(rows, "forgery")


def distances(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return the minimal distance at which each instance can be forged, from attacks with eps "minimal".

    ``forged``: `distance` is the exact minimum. ``impossible``: there is none up to the attack's cap. Else a
    limit struck; then `distance` is the smallest one found, if any.
    """
    grid = [cell.c[name] for name in (*GRID, "signature", "engine")]
    names = ("instance", "row", "status", "distance", "seconds", "reason")
    query = (
        sa.select(*grid, *(forgery_answer.c[name] for name in names))
        .join(campaign_job, campaign_job.c.cell_id == cell.c.id)
        .join(forgery_answer, forgery_answer.c.job_id == campaign_job.c.job_id)
        .where(cell.c.campaign_id == campaign_id, cell.c.eps.is_(None))
        .order_by(*grid, forgery_answer.c.instance)
    )
    # One row for each query: tuples take half the time of dictionaries.
    return typed(pd.DataFrame([tuple(row) for row in store.rows(query)], columns=list(COLUMNS["distances"])))
