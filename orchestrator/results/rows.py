"""Read results as rows with their coordinates in the grid, and make frames: all but forgery and jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import sqlalchemy as sa

from orchestrator.results.columns import COLUMNS, GRID, WHOLE
from orchestrator.store.database import Store
from orchestrator.store.tables import campaign_job, cell, job, outcome
from wm.attacks import registry
from wm.attacks.base import Attack, AttackRow
from workers.jobs.kinds import JobKind


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
    """Return the frame with type Int64 for integers that may be missing, 0 for log10 of a p-value of 1."""
    whole = [column for column in frame.columns if column in WHOLE]
    logs = [str(column) for column in frame.select_dtypes(float) if str(column).startswith("log10_p")]
    # Of a p-value that is a sum of probabilities, rounding may leave a little less than 1.
    exact = {name: frame[name].mask(frame[name].abs() < 1e-12, 0.0) for name in logs}
    return frame.assign(**exact).astype(dict.fromkeys(whole, "Int64"))


def accuracy(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return accuracies and cost of each embedding, next to its honest forests."""
    honest = {row.repeat: row.result for row in results_of(store, campaign_id, JobKind.BASELINE)}
    rows = []
    for row in results_of(store, campaign_id, JobKind.EMBED):
        rounds = row.result["rounds_right"] + row.result["rounds_wrong"]
        cost = {"rounds": rounds, "seconds": row.timings["embed"]}
        own = row.result.get("honest") or {}
        rows.append(place(row) | honest[row.repeat] | own | row.result | cost)
    return frame_of(rows, "accuracy")


def attack_rows(store: Store, campaign_id: int, kind: str) -> pd.DataFrame:
    """Return the rows of an attack with their coordinates in the grid, or its aggregated rows.

    Of an attack whose package is not installed here: the rows as they are.
    """
    if kind not in registry.kinds():
        return pd.DataFrame(expanded(store, campaign_id, kind))
    attack = registry.attack(kind)
    if attack.aggregate is None:
        return frame_of(expanded(store, campaign_id, kind), kind)
    return frame_of([row.model_dump() for row in _aggregated(store, campaign_id, attack)], kind)


def alarms(store: Store, campaign_id: int) -> list[str]:
    """Return a line for each result of an attack that makes the campaign's verdict negative."""
    return [
        alarm
        for attack in registry.attacks()
        if attack.alarms is not None
        for alarm in attack.alarms(_aggregated(store, campaign_id, attack))
    ]


def _aggregated(store: Store, campaign_id: int, attack: Attack) -> Sequence[AttackRow]:
    # Values that a result of an older version holds once for all its rows belong to each.
    rows = [
        {name: value for name, value in found.result.items() if not isinstance(value, list)} | inner
        for found in results_of(store, campaign_id, attack.kind)
        for inner in found.result["rows"]
    ]
    parsed = [attack.row.model_validate(row) for row in rows]
    return parsed if attack.aggregate is None else attack.aggregate(parsed)


def spectra(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return the vote spectra: grid, mode, `strengths`, and for each tree its `scores` and `bits`."""
    rows = expanded(store, campaign_id, "detection", "spectra")
    return pd.DataFrame(rows, columns=[*GRID, "mode", "strengths", "scores", "bits"])


def budget_curves(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return the known bits of the signature by method and number of trigger queries, from 1."""
    rows = [row | point for row in expanded(store, campaign_id, "suppression") for point in row["budget"]]
    names = ["trigger_queries", "bits", "low", "high", "null_bits", "spotted"]
    return pd.DataFrame(rows, columns=[*GRID, "method", *names])


def roc_curves(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return the corners of the suppression ROC curves: grid, method, false and true positive rate."""
    rates = ["false_positive_rate", "true_positive_rate"]
    curves = pd.DataFrame(expanded(store, campaign_id, "suppression"), columns=[*GRID, "method", *rates])
    return curves.explode(rates, ignore_index=True).astype(dict.fromkeys(rates, float))
