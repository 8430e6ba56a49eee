"""From the store to data frames: the only place that aggregates.

Each function returns one frame for one campaign, with fixed columns in a fixed order (`COLUMNS`), a row for
each point of the grid, and no value that is not in the store.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd
import sqlalchemy as sa

from orchestrator.store.database import Store
from orchestrator.store.tables import attempt, campaign_job, cell, forgery_answer, job, outcome
from wm.attacks.following import FOLLOWS
from wm.calibration import calibrate
from wm.engines import Status
from workers.jobs import CalibrationResult, JobKind

_GRID = ["scheme", "trigger_share", "ones_share", "repeat"]
_OUTCOMES = [status.value for status in Status]

_WHOLE = {
    "repeat",
    "signature",
    "max_depth",
    "cap_depth",
    "cap_leaves",
    "trigger_size",
    "points",
}
"""Whole numbers that may be missing: without a type of their own they would turn into floats."""

_ROWS_AT_ONCE = 10_000
"""Rows held in memory where there can be millions."""

COLUMNS: dict[str, list[str]] = {
    "accuracy": [
        *_GRID,
        "n_estimators",
        "max_depth",
        "cap_depth",
        "cap_leaves",
        "accuracy_standard",
        "accuracy_capped",
        "accuracy_watermarked",
        "accuracy_standard_mean_rule",
        "accuracy_watermarked_mean_rule",
        "trigger_size",
        "rounds",
        "rounds_right",
        "rounds_wrong",
        "weight_right",
        "weight_wrong",
        "matched_bits",
        "total_bits",
        "log10_p",
        "log10_p_standard",
        "seconds",
    ],
    "detection": [
        *_GRID,
        "measure",
        "strategy",
        "mean",
        "std",
        "correct",
        "wrong",
        "uncertain",
        "p_value",
        "p_value_exact",
        "bits",
        "null_bits",
        "auc",
        "points",
    ],
    "suppression": [
        *_GRID,
        "method",
        "auc",
        "tpr_at_1pct_fpr",
        "triggers",
        "ordinary",
        "triggers_spotted",
        "ordinary_touched",
        "ordinary_votes_changed",
        "log10_p_before",
        "log10_p_after",
        "bits",
        "null_bits",
    ],
    "leakage": [
        *_GRID,
        "form",
        "finding",
        "severity",
        "detail",
        "remedy",
        "bits",
        "trigger_size",
        "triggers_found",
        "others_found",
    ],
    "free_forgery": [
        *_GRID,
        "method",
        "size",
        "size_over_k",
        "distinct_cells",
        "mean_distance",
        "max_distance",
        "independent_accuracy",
        "forged_ones_share",
        "log10_p",
        "stopped_by",
        "stopped_but_for_commitment",
    ],
    "modification": [
        *_GRID,
        "modification",
        "strength",
        "strengths",
        "attempt",
        "n_trees",
        "accuracy_before",
        "accuracy_after",
        "accuracy_change",
        "fidelity",
        "bits",
        "exact_match",
        "log10_p",
        "p_null",
        "log10_p_shares",
    ],
    "calibration": [
        "population",
        "p_value",
        "level",
        "hits",
        "trials",
        "rate",
        "low",
        "high",
        "anti_conservative",
    ],
    "forgery": [
        *_GRID,
        "signature",
        "eps",
        "engine",
        "instances",
        "trigger_size",
        *_OUTCOMES,
        "seconds",
        "slowest_seconds",
        "mean_distance",
        "followed",
    ],
    "distances": [
        *_GRID,
        "signature",
        "engine",
        "instance",
        "row",
        "status",
        "distance",
        "seconds",
        "reason",
    ],
    "jobs": ["job", "kind", "state", *_GRID, "engine", "signature", "eps", "failures", "seconds", "error"],
}
"""Columns of each result, in order."""


def accuracy(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return accuracies and cost of each embedding, beside its honest forests.

    `seconds` is the embedding's own time, training of the honest forests left out; `rounds` is the fits of
    both kinds of trees together.
    """
    baselines = {
        row.repeat: row.result
        for row in _outcomes(store, campaign_id, JobKind.BASELINE)
        if row.result is not None
    }
    rows = []
    for row in _outcomes(store, campaign_id, JobKind.EMBED):
        if row.result is None:
            continue
        merged = baselines[row.repeat] | row.result
        merged["rounds"] = merged["rounds_right"] + merged["rounds_wrong"]
        merged["seconds"] = row.timings["embed"]
        rows.append(_place(row) | merged)
    return _frame(rows, "accuracy")


def detection(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return what each detection method read off each watermarked forest."""
    return _frame(_expanded(store, campaign_id, JobKind.DETECTION), "detection")


def suppression(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return how well each method spots trigger queries."""
    return _frame(_expanded(store, campaign_id, JobKind.SUPPRESSION), "suppression")


def leakage(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return what the files of each watermarked forest give away, in each form, and the honest one's."""
    return _frame(_expanded(store, campaign_id, JobKind.LEAKAGE), "leakage")


def free_forgery(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return what each freely forged trigger set is worth, and which rules of verification refuse it."""
    return _frame(_expanded(store, campaign_id, JobKind.FREE_FORGERY), "free_forgery")


def modification(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return what is left of each watermark, and of the accuracy, after each modification."""
    return _frame(_expanded(store, campaign_id, JobKind.MODIFICATION), "modification")


def calibration(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return how often each p-value of false claims was small, with exact intervals.

    Over the forests done so far: `trials` says how many these are.
    """
    populations: dict[str, dict[str, list[float]]] = {}
    for row in _outcomes(store, campaign_id, JobKind.CALIBRATION):
        if row.result is None:
            continue
        found = CalibrationResult.model_validate(row.result)
        named = populations.setdefault(found.population, {})
        for p_values in found.rows:
            named.setdefault(p_values.name, []).extend(p_values.values)
    return _frame([asdict(row) for row in calibrate(populations)], "calibration")


def distances(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return the least distance at which each instance can be forged, where a campaign sought these.

    ``forged``: `distance` is the exact least one. ``impossible``: there is none up to the attack's cap.
    Otherwise a limit struck; `distance` is then the least one known, if any.
    """
    query = (
        sa.select(
            *(cell.c[name] for name in (*_GRID, "signature", "engine")),
            *(
                forgery_answer.c[name]
                for name in ("instance", "row", "status", "distance", "seconds", "reason")
            ),
        )
        .join(campaign_job, campaign_job.c.cell_id == cell.c.id)
        .join(forgery_answer, forgery_answer.c.job_id == campaign_job.c.job_id)
        .where(cell.c.campaign_id == campaign_id, cell.c.eps.is_(None))
        .order_by(*(cell.c[name] for name in (*_GRID, "signature", "engine")), forgery_answer.c.instance)
    )
    with store.read() as connection:
        # A row for every query: as tuples, half the time of dictionaries.
        rows = [tuple(row) for row in connection.execute(query)]
    return _typed(pd.DataFrame(rows, columns=COLUMNS["distances"]))


def spectra(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return each vote spectrum: grid, mode, `strengths`, and each tree's part in `scores` and `bits`."""
    rows = [
        _place(row) | spectrum
        for row in _outcomes(store, campaign_id, JobKind.DETECTION)
        if row.result is not None
        for spectrum in row.result["spectra"]
    ]
    return pd.DataFrame(rows, columns=[*_GRID, "mode", "strengths", "scores", "bits"])


def budget_curves(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return the bits of the signature that each method knows after 1, 2, 3, ... trigger queries."""
    rows = [
        {key: row[key] for key in (*_GRID, "method")} | point
        for row in _expanded(store, campaign_id, JobKind.SUPPRESSION)
        for point in row["budget"]
    ]
    names = ["trigger_queries", "bits", "low", "high", "null_bits", "spotted"]
    return pd.DataFrame(rows, columns=[*_GRID, "method", *names])


def roc_curves(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return the corners of every suppression ROC curve: grid, method, false and true positive rate."""
    rows = [
        {key: row[key] for key in (*_GRID, "method")}
        | {"false_positive_rate": false_positive, "true_positive_rate": true_positive}
        for row in _expanded(store, campaign_id, JobKind.SUPPRESSION)
        for false_positive, true_positive in zip(
            row["false_positive_rate"], row["true_positive_rate"], strict=True
        )
    ]
    return pd.DataFrame(rows, columns=[*_GRID, "method", "false_positive_rate", "true_positive_rate"])


def forgery(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return the counts of forgery outcomes for each embedding, engine, signature and eps.

    `instances` counts the queries planned, so a row whose five outcomes add up to less is not complete;
    `forged` is the size of the forged trigger set, to be held against `trigger_size`. `followed` answers were
    not asked for, as they follow from those at another eps: `slowest_seconds` is None where all did.
    """
    counts = [
        sa.func.coalesce(sa.func.sum(sa.case((forgery_answer.c.status == status, 1), else_=0)), 0).label(
            status
        )
        for status in _OUTCOMES
    ]
    # What followed took no time: the number tells that quicker than the text.
    is_followed = sa.and_(forgery_answer.c.seconds == 0.0, forgery_answer.c.reason.like(f"{FOLLOWS}%"))
    columns = [*(cell.c[name] for name in (*_GRID, "signature", "eps", "engine"))]
    answered = (
        sa.select(
            cell.c.id,
            *counts,
            sa.func.sum(forgery_answer.c.seconds).label("seconds"),
            sa.func.max(forgery_answer.c.seconds).label("slowest_seconds"),
            sa.func.avg(forgery_answer.c.distance).label("mean_distance"),
            sa.func.sum(sa.case((is_followed, 1), else_=0)).label("followed"),
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
    with store.read() as connection:
        rows: list[dict[str, Any]] = [dict(row) for row in connection.execute(query).mappings()]
    sizes = {
        tuple(_place(row).values()): row.result["trigger_size"]
        for row in _outcomes(store, campaign_id, JobKind.EMBED)
        if row.result is not None
    }
    for row in rows:
        row["trigger_size"] = sizes.get(tuple(row[name] for name in _GRID))
        for name in (*_OUTCOMES, "followed"):
            row[name] = int(row[name] or 0)
        row["instances"] = int(row["instances"])
        if row["followed"] == sum(row[name] for name in _OUTCOMES):
            row["slowest_seconds"] = None
        row["seconds"] = float(row["seconds"] or 0.0)
    return _frame(rows, "forgery")


def jobs(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return every job of a campaign with its state.

    `error` holds the outcome's text, or else that of the last failed attempt.
    """
    latest = (
        sa.select(attempt.c.job_id, sa.func.max(attempt.c.id).label("id"))
        .group_by(attempt.c.job_id)
        .subquery()
    )
    query = (
        sa.select(
            job.c.id.label("job"),
            job.c.kind,
            job.c.state,
            *(cell.c[name] for name in (*_GRID, "engine", "signature", "eps")),
            job.c.failures,
            outcome.c.timings,
            outcome.c.error,
            attempt.c.reason,
        )
        .join(campaign_job, campaign_job.c.job_id == job.c.id)
        .join(cell, cell.c.id == campaign_job.c.cell_id)
        .outerjoin(outcome, outcome.c.job_id == job.c.id)
        .outerjoin(latest, latest.c.job_id == job.c.id)
        .outerjoin(attempt, attempt.c.id == latest.c.id)
        .where(campaign_job.c.campaign_id == campaign_id)
        .order_by(campaign_job.c.position)
    )
    with store.read() as connection:
        rows: list[dict[str, Any]] = [dict(row) for row in connection.execute(query).mappings()]
    for row in rows:
        row["seconds"] = (row["timings"] or {}).get("job")
        row["error"] = row["error"] or row["reason"] or ""
    return _frame(rows, "jobs")


def fingerprint(store: Store, campaign_id: int) -> str:
    """Return a hash of all that a campaign found: equal for equal results, however and wherever they came.

    Covers every outcome and every forgery answer with its witness, in a fixed order; leaves out times,
    owners, database ids, and the reasons of answers, which may tell of queries asked before.
    """
    ours = campaign_job.c.campaign_id == campaign_id
    outcomes = (
        sa.select(job.c.key, outcome.c.status, outcome.c.result, outcome.c.error)
        .join(campaign_job, campaign_job.c.job_id == job.c.id)
        .join(outcome, outcome.c.job_id == job.c.id)
        .where(ours)
        .order_by(job.c.key)
    )
    answers = (
        sa.select(
            job.c.key,
            *(forgery_answer.c[name] for name in ("instance", "row", "status", "distance", "witness")),
        )
        .join(campaign_job, campaign_job.c.job_id == job.c.id)
        .join(forgery_answer, forgery_answer.c.job_id == job.c.id)
        .where(ours)
        .order_by(job.c.key, forgery_answer.c.instance)
    )
    digest = hashlib.sha256()
    with store.read() as connection:
        for query in (outcomes, answers):
            for row in connection.execution_options(yield_per=_ROWS_AT_ONCE).execute(query):
                values = [bytes(value).hex() if isinstance(value, bytes) else value for value in row]
                digest.update(json.dumps(values, sort_keys=True).encode())
    return digest.hexdigest()


def first_result(store: Store, campaign_id: int, kind: JobKind) -> dict[str, Any] | None:
    """Return the result of the first job of a kind, in the plan's order; None if no such job is done."""
    results = [row.result for row in _outcomes(store, campaign_id, kind) if row.result is not None]
    return results[0] if results else None


def _outcomes(store: Store, campaign_id: int, kind: JobKind) -> Sequence[Any]:
    """Return the outcomes of one kind with their place in the grid, in the plan's order."""
    query = (
        sa.select(*(cell.c[name] for name in _GRID), outcome.c.result, outcome.c.timings)
        .join(campaign_job, campaign_job.c.cell_id == cell.c.id)
        .join(job, job.c.id == campaign_job.c.job_id)
        .join(outcome, outcome.c.job_id == job.c.id)
        .where(cell.c.campaign_id == campaign_id, job.c.kind == kind)
        .order_by(campaign_job.c.position)
    )
    with store.read() as connection:
        return connection.execute(query).all()


def _expanded(store: Store, campaign_id: int, kind: JobKind) -> list[dict[str, Any]]:
    """Return the rows inside outcomes that hold several, each with its place in the grid."""
    return [
        _place(row) | inner
        for row in _outcomes(store, campaign_id, kind)
        if row.result is not None
        for inner in row.result["rows"]
    ]


def _place(row: sa.Row[Any]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in _GRID}


def _frame(rows: list[dict[str, Any]], name: str) -> pd.DataFrame:
    columns = COLUMNS[name]
    return _typed(pd.DataFrame([[row.get(column) for column in columns] for row in rows], columns=columns))


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    whole = [column for column in frame.columns if column in _WHOLE]
    return frame.astype(dict.fromkeys(whole, "Int64"))
