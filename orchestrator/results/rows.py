"""Outcomes as rows, each with its place in the grid; rows as frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import sqlalchemy as sa

from orchestrator.results.columns import COLUMNS, GRID, WHOLE
from orchestrator.store.database import Store
from orchestrator.store.tables import campaign_job, cell, job, outcome


def outcomes_of(store: Store, campaign_id: int, kind: str) -> Sequence[Any]:
    """Return the outcomes of one kind with their place in the grid, in the plan's order."""
    query = (
        sa.select(*(cell.c[name] for name in GRID), outcome.c.result, outcome.c.timings)
        .join(campaign_job, campaign_job.c.cell_id == cell.c.id)
        .join(job, job.c.id == campaign_job.c.job_id)
        .join(outcome, outcome.c.job_id == job.c.id)
        .where(cell.c.campaign_id == campaign_id, job.c.kind == kind)
        .order_by(campaign_job.c.position)
    )
    with store.read() as connection:
        return connection.execute(query).all()


def expanded(store: Store, campaign_id: int, kind: str) -> list[dict[str, Any]]:
    """Return the rows inside outcomes that hold several, each with its place in the grid."""
    return [
        place(row) | inner
        for row in outcomes_of(store, campaign_id, kind)
        if row.result is not None
        for inner in row.result["rows"]
    ]


def inner_rows(store: Store, campaign_id: int, kind: str) -> list[dict[str, Any]]:
    """Return the rows inside outcomes that hold several, as they are.

    What an outcome holds once for all its rows, as those of older versions do, is part of each.
    """
    found = [row.result for row in outcomes_of(store, campaign_id, kind) if row.result is not None]
    return [
        {name: value for name, value in result.items() if not isinstance(value, list)} | inner
        for result in found
        for inner in result["rows"]
    ]


def place(row: sa.Row[Any]) -> dict[str, Any]:
    """Return where in the grid a row of `outcomes_of` is."""
    return {name: getattr(row, name) for name in GRID}


def frame_of(rows: list[dict[str, Any]], name: str) -> pd.DataFrame:
    """Return the frame of a result, with exactly its columns; None for what a row lacks."""
    columns = list(COLUMNS[name])
    return typed(pd.DataFrame([[row.get(column) for column in columns] for row in rows], columns=columns))


def typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with whole numbers whole although some are missing."""
    whole = [column for column in frame.columns if column in WHOLE]
    return frame.astype(dict.fromkeys(whole, "Int64"))
