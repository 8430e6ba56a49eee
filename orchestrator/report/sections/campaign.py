"""The campaign itself: jobs without a result, where in the grid and why, and the origin of all results."""

from __future__ import annotations

import json
import re
from typing import Any

import pandas as pd

import wm
from orchestrator.report.data import Findings, configuration
from orchestrator.report.sections.section import Shown
from orchestrator.report.table import make_table
from orchestrator.report.wording import MISSING, counted, listed, moment
from orchestrator.results import fingerprint
from orchestrator.store.campaigns import progress
from orchestrator.store.tables import CampaignState, JobState

_SHARED: dict[str, tuple[str, ...]] = {
    "split": (),
    "tune-fold": (),
    "tune": (),
    "baseline": ("repeat",),
    "embed": ("scheme", "trigger_share", "ones_share", "repeat"),
}
"""Kinds that others need, with the coordinates that a job has in common with those that need it."""

_MAX_PLACES = 3

_ATTEMPT = re.compile(r"^attempt (\d+): ", re.MULTILINE)
"""Begins the text of each attempt in the error of a job that failed for good."""


def failures(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return failed, blocked and cancelled jobs by their reason, failed ones first.

    Returns
    -------
    DataFrame
        `state`, `kind`, `reason` (the error's text, or for blocked jobs which job failed), `number`, and
        `places`, the first few.
    """
    failed = jobs[jobs["state"] == JobState.FAILED.value]
    found: dict[tuple[str, str, str], list[str]] = {}
    for state in (JobState.FAILED, JobState.BLOCKED, JobState.CANCELLED):
        for row in jobs[jobs["state"] == state.value].itertuples():
            reason = {JobState.FAILED: _once(str(row.error)), JobState.CANCELLED: "cancelled"}.get(state)
            key = (state.value, str(row.kind), reason or _blocked_by(failed, row))
            found.setdefault(key, []).append(place_of(row))
    rows = [(*key, len(places), _some(places)) for key, places in found.items()]
    return pd.DataFrame(rows, columns=["state", "kind", "reason", "number", "places"])


def _once(error: str) -> str:
    """Return a failed job's error with each text once, after the numbers of the attempts that ended so."""
    first, *attempts = _ATTEMPT.split(error)
    told: dict[str, list[str]] = {}
    for number, text in zip(attempts[::2], attempts[1::2], strict=True):
        told.setdefault(text.strip(), []).append(number)
    if len(told) == 1:
        return f"{first.strip()}, each time: {next(iter(told))}"
    parts = (f"attempt {listed(numbers)}: {text}" for text, numbers in told.items())
    return "\n".join([first.strip(), *parts])


def place_of(row: Any) -> str:
    """Return a job's place in the grid in words; coordinates that do not apply are left out."""
    parts = []
    if not pd.isna(row.scheme):
        parts.append(configuration(row))
    if not pd.isna(row.repeat):
        parts.append(f"repeat {row.repeat}")
    if not pd.isna(row.engine):
        distance = "smallest distances" if pd.isna(row.eps) else f"eps {row.eps:g}"
        parts.append(f"{row.engine}, signature {row.signature}, {distance}")
    return ", ".join(parts) or "whole campaign"


def _some(places: list[str]) -> str:
    different = list(dict.fromkeys(places))
    more = len(different) - _MAX_PLACES
    return "; ".join(different[:_MAX_PLACES]) + (f"; and {counted(more, 'place')} more" if more > 0 else "")


def _blocked_by(failed: pd.DataFrame, blocked: Any) -> str:
    """Return which failed job a blocked one waits for, by the needs of each kind."""
    for row in failed[failed["kind"].isin(list(_SHARED))].itertuples():
        places = [(getattr(row, name), getattr(blocked, name)) for name in _SHARED[str(row.kind)]]
        if all(not pd.isna(one) and not pd.isna(other) and one == other for one, other in places):
            return f"needs {row.kind} job {row.job} ({place_of(row)}), which failed"
    return "needs a job that has no result"


def show_failures(findings: Findings) -> Shown:
    """Show failed jobs and those that they block; a caveat says if the campaign is not finished."""
    jobs, state = progress(findings.store, findings.record.id).jobs, findings.record.state
    states = listed(f"{count} {state.value}" for state, count in jobs.items() if count)
    unfinished = (
        f"This campaign is {state.value}. Of its {counted(sum(jobs.values()), 'job')}: {states}. All numbers "
        "below are of the jobs done; they lack parts of the grid and may change."
    )
    rows = failures(findings.frame("jobs"))
    ahead = [f"{count} {state.value}" for state, count in jobs.items() if count and not state.is_finished]
    left = f"; {listed(ahead)}" if ahead else ""
    return Shown(
        lead=f"None failed, none is blocked{left}." if rows.empty else "",
        caveats=() if state is CampaignState.FINISHED else (unfinished,),
        tables=(make_table("failures-table", rows),),
    )


def show_provenance(findings: Findings) -> Shown:
    """Show campaign, data, versions and machine, and the whole specification."""
    record, split = findings.record, findings.split
    facts = [
        ("campaign", f"{record.name} (id {record.id}), {record.state.value}"),
        ("seed", str(record.seed)),
        ("specification (SHA-256)", record.spec_sha256),
        ("results (fingerprint)", fingerprint(findings.store, record.id)),
        ("created", moment(record.created_at)),
        ("finished", MISSING if record.finished_at is None else moment(record.finished_at)),
        ("report written by", f"treeproof {wm.__version__}"),
        ("data set", findings.dataset),
    ]
    if split is not None:
        positive = [f" ({count:,} positive)" for count in (split.positive_train, split.positive_test)]
        classes = f"{split.class_names[0]} (negative), {split.class_names[-1]} (positive)"
        if len(split.class_names) > 2:
            positive, classes = ["", ""], ", ".join(split.class_names)
        rows = (
            f"{counted(split.rows_train, 'training row')}{positive[0]}, "
            f"{counted(split.rows_test, 'test row')}{positive[1]}, "
            f"{counted(split.features, 'feature')} ({split.constant_features:,} constant)"
        )
        facts += [("data set (SHA-256)", split.dataset_sha256), ("rows", rows), ("classes", classes)]
    facts += [(name, str(value)) for name, value in record.provenance.items()]
    spec = json.dumps(record.spec, indent=2, ensure_ascii=False)
    return Shown(facts=tuple(facts), details=(("Specification, defaults filled in", spec),))
