"""Read the jobs of a campaign and their cost, and hash all of its results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import pandas as pd
import sqlalchemy as sa

from orchestrator.results.columns import GRID
from orchestrator.results.rows import frame_of
from orchestrator.store.database import Store
from orchestrator.store.tables import attempt, campaign_job, cell, forgery_answer, job, outcome
from workers.jobs.base import OutcomeStatus

_ROWS_AT_ONCE = 10_000
"""Rows held in memory of possibly millions."""


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
            *(cell.c[name] for name in (*GRID, "engine", "signature", "eps")),
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
    rows: list[dict[str, Any]] = [dict(row._mapping) for row in store.rows(query)]
    for row in rows:
        row["seconds"] = (row["timings"] or {}).get("job")
        row["error"] = row["error"] or row["reason"] or ""
    return frame_of(rows, "jobs")


def costs(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return the time of every finished job.

    Returns
    -------
    DataFrame
        `kind`, `work` (what distinguishes its cost from that of others of its kind), `units` of work in it,
        `seconds`, and `fit_seconds`, those of a baseline's standard forest alone.
    """
    query = (
        sa.select(job.c.kind, job.c.parameters, outcome.c.timings)
        .join(campaign_job, campaign_job.c.job_id == job.c.id)
        .join(outcome, outcome.c.job_id == job.c.id)
        .where(campaign_job.c.campaign_id == campaign_id, outcome.c.status == OutcomeStatus.DONE)
        .order_by(campaign_job.c.position)
    )
    with store.read() as connection:
        rows = [
            (kind, *_work(parameters), timings.get("job"), timings.get("standard"))
            for kind, parameters, timings in connection.execute(query)
        ]
    frame = pd.DataFrame(rows, columns=["kind", "work", "units", "seconds", "fit_seconds"])
    return frame.astype({"seconds": float, "fit_seconds": float})


def _work(given: Mapping[str, Any]) -> tuple[str, int]:
    """Return what a job of these parameters does, as far as its cost depends on it, and how often."""
    what = ", ".join(given.get("methods", ())) or "+".join(given.get("steps", ())) or given.get("engine", "")
    if "population" in given:
        what = f"false claims: {given['population']}"
    others = [f"{given['honest']} honest forests"] if given.get("honest") else []
    if "shadow" in given.get("methods", ()):
        others.append(f"{given['shadows']} shadow models")
    times = given["count"] if "population" in given else given.get("tries", 1)
    return f"{what} ({', '.join(others)})" if others else what, times * len(given.get("strengths", (1,)))


def fingerprint(store: Store, campaign_id: int) -> str:
    """Return a hash of all results of a campaign: equal for equal results, however they were computed.

    Covers every outcome and every forgery answer with its witness, in a fixed order; not times, owners,
    database ids, and the reasons of answers, which may mention earlier queries.
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
