"""Read outcomes as rows with their coordinates in the grid, and make frames of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import sqlalchemy as sa

from orchestrator.results.columns import COLUMNS, GRID, WHOLE
from orchestrator.store.database import Store
from orchestrator.store.tables import campaign_job, cell, job, outcome


def results_of(
    store: Store, campaign_id: int, kind: str, where: Mapping[str, Any] | None = None
) -> Sequence[Any]:
    """Return the results of one kind, with their coordinates in the grid and timings, in the plan's order.

    `where` restricts coordinates to given values.
    """
    query = (
        sa.select(*(cell.c[name] for name in GRID), outcome.c.result, outcome.c.timings)
        .join(campaign_job, campaign_job.c.cell_id == cell.c.id)
        .join(job, job.c.id == campaign_job.c.job_id)
        .join(outcome, outcome.c.job_id == job.c.id)
        .where(cell.c.campaign_id == campaign_id, job.c.kind == kind, outcome.c.result.is_not(sa.null()))
        .where(*(cell.c[name] == value for name, value in (where or {}).items()))
        .order_by(campaign_job.c.position)
    )
    return store.rows(query)


def first_result(
    store: Store, campaign_id: int, kind: str, where: Mapping[str, Any] | None = None
) -> dict[str, Any] | None:
    """Return the first result of a kind of job, None if there is none; arguments as in `results_of`."""
    return next((row.result for row in results_of(store, campaign_id, kind, where)), None)


def expanded(store: Store, campaign_id: int, kind: str, part: str = "rows") -> list[dict[str, Any]]:
    """Return the rows inside a part of each result, each with its coordinates in the grid."""
    return [place(row) | inner for row in results_of(store, campaign_id, kind) for inner in row.result[part]]


def place(row: sa.Row[Any]) -> dict[str, Any]:
    """Return the coordinates of a row of `results_of` in the grid."""
    return {name: getattr(row, name) for name in GRID}


def frame_of(rows: list[dict[str, Any]], name: str) -> pd.DataFrame:
    """Return the frame of a result, with exactly its columns; None for missing values."""
    columns = list(COLUMNS[name])
    return typed(pd.DataFrame([[row.get(column) for column in columns] for row in rows], columns=columns))


def typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with type Int64 for integers that may be missing."""
    whole = [column for column in frame.columns if column in WHOLE]
    return frame.astype(dict.fromkeys(whole, "Int64"))
