"""Jobs without a result, and their reasons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from orchestrator import results
from orchestrator.report.data import Findings
from orchestrator.report.sections.campaign import failures, show_failures
from tests.orchestrator.report.conftest import Made
from workers.jobs.kinds import JobKind


def _rows(jobs: pd.DataFrame) -> list[Any]:
    return list(failures(jobs).itertuples())


@pytest.mark.parametrize("kind", [JobKind.SPLIT, JobKind.BASELINE, JobKind.EMBED])
def test_every_blocked_job_names_the_failed_one(make_campaign: Callable[..., Any], kind: JobKind) -> None:
    made = make_campaign(failing={kind: "broken"})
    jobs = results.frame(made.store, made.record.id, "jobs")
    found = failures(jobs)
    assert found.loc[found["state"] == "failed", "kind"].tolist() == [kind.value]
    blocked = found[found["state"] == "blocked"]
    assert blocked["number"].sum() == (jobs["state"] == "blocked").sum() > 0
    assert blocked["reason"].str.startswith(f"needs {kind.value} job ").all()


def test_blocked_jobs_are_laid_to_their_own_repeat(make_campaign: Callable[..., Any]) -> None:
    made = make_campaign(failing={JobKind.BASELINE: "broken"}, repeats=2)
    for row in failures(results.frame(made.store, made.record.id, "jobs")).itertuples():
        for repeat in (0, 1):
            if f"(repeat {repeat})" in row.reason:
                assert f"repeat {1 - repeat}" not in row.places


def test_the_same_traceback_is_told_once(make_campaign: Callable[..., Any]) -> None:
    same, other = "Traceback:\n  line 1\nRuntimeError: bad luck", "ValueError: worse luck"
    for texts, reason in (
        ([same] * 3, f"failed 3 times, each time: {same}"),
        ([same, other, same], f"failed 3 times\nattempt 1 and 3: {same}\nattempt 2: {other}"),
    ):
        error = "\n".join(["failed 3 times", *(f"attempt {n}: {text}" for n, text in enumerate(texts, 1))])
        made = make_campaign(failing={"suppression": error}, is_small=True, repeats=1)
        (row,) = _rows(results.frame(made.store, made.record.id, "jobs"))
        assert row.reason == reason


def test_many_places_are_counted(make_campaign: Callable[..., Any]) -> None:
    made = make_campaign(failing={"detection": "broken"})
    (row,) = _rows(results.frame(made.store, made.record.id, "jobs"))
    assert row.number == 12
    assert row.places.endswith("; and 9 places more")


def test_cancelled_jobs_and_nothing_at_all(make_campaign: Callable[..., Any]) -> None:
    made = make_campaign(repeats=1)
    jobs = results.frame(made.store, made.record.id, "jobs")
    assert failures(jobs).empty
    assert failures(jobs.iloc[:0]).empty
    cancelled = pd.concat([jobs.iloc[:1].assign(state="cancelled"), jobs.iloc[1:]])
    (row,) = _rows(cancelled)
    assert (row.kind, row.reason, row.places) == ("split", "cancelled", "whole campaign")


def test_jobs_that_have_not_run_are_counted(nothing: Made, paper: Findings) -> None:
    jobs = results.frame(nothing.store, nothing.record.id, "jobs")
    waiting = int((jobs["state"] == "waiting").sum())
    lead = show_failures(nothing.findings).lead
    assert lead == f"None failed, none is blocked; {waiting} waiting and {len(jobs) - waiting} ready."
    assert show_failures(paper).lead == "None failed, none is blocked."
