"""Jobs without a result: which, where in the grid, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from orchestrator.report.wording import counted, percent
from orchestrator.store.tables import JobState
from workers.jobs import JobKind

_SHARED: dict[str, tuple[str, ...]] = {
    JobKind.SPLIT.value: (),
    JobKind.TUNE_FOLD.value: (),
    JobKind.TUNE.value: (),
    JobKind.BASELINE.value: ("repeat",),
    JobKind.EMBED.value: ("scheme", "trigger_share", "ones_share", "repeat"),
}
"""Kinds that others need, with the coordinates that a job has in common with those that need it."""


@dataclass(frozen=True)
class Trouble:
    """Jobs of one kind and state with one reason.

    Attributes
    ----------
    kind, state
        Of the jobs.
    count
        How many.
    places
        Where in the grid: the first few.
    reason
        The error's text, or for blocked jobs which job is in the way; may have several lines.
    """

    kind: str
    state: str
    count: int
    places: str
    reason: str


def troubles(jobs: pd.DataFrame) -> list[Trouble]:
    """Return failed, blocked and cancelled jobs, grouped by their reason, failed ones first."""
    failed = jobs[jobs["state"] == JobState.FAILED.value]
    found: dict[tuple[str, str, str], list[str]] = {}
    for state in (JobState.FAILED, JobState.BLOCKED, JobState.CANCELLED):
        for row in jobs[jobs["state"] == state.value].itertuples():
            reason = str(row.error) if state is JobState.FAILED else _in_the_way(failed, row, state)
            found.setdefault((state.value, str(row.kind), reason), []).append(place_of(row))
    return [
        Trouble(kind=kind, state=state, count=len(places), places=_some(places), reason=reason)
        for (state, kind, reason), places in found.items()
    ]


def place_of(row: Any) -> str:
    """Return a job's place in the grid in words; coordinates that do not apply are left out."""
    parts = []
    if not pd.isna(row.scheme):
        parts.append(
            f"{row.scheme}, {percent(row.trigger_share)} trigger rows, {percent(row.ones_share)} ones"
        )
    if not pd.isna(row.repeat):
        parts.append(f"repeat {row.repeat}")
    if not pd.isna(row.engine):
        distance = "least distances" if pd.isna(row.eps) else f"eps {row.eps:g}"
        parts.append(f"{row.engine}, signature {row.signature}, {distance}")
    return ", ".join(parts) or "whole campaign"


def _some(places: list[str], most: int = 3) -> str:
    different = list(dict.fromkeys(places))
    more = len(different) - most
    return "; ".join(different[:most]) + (f"; and {counted(more, 'place')} more" if more > 0 else "")


def _in_the_way(failed: pd.DataFrame, blocked: Any, state: JobState) -> str:
    """Return which failed job a blocked one waits for, by what each kind needs."""
    if state is JobState.CANCELLED:
        return "cancelled"
    for row in failed[failed["kind"].isin(list(_SHARED))].itertuples():
        if all(_equal(getattr(row, name), getattr(blocked, name)) for name in _SHARED[str(row.kind)]):
            return f"needs {row.kind} job {row.job} ({place_of(row)}), which failed"
    return "needs a job that has no result"


def _equal(one: Any, other: Any) -> bool:
    return not pd.isna(one) and not pd.isna(other) and bool(one == other)
