"""Jobs without a result, and what stands in their way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from orchestrator import results
from orchestrator.report.troubles import troubles
from workers.jobs import JobKind


@pytest.mark.parametrize("kind", [JobKind.SPLIT, JobKind.BASELINE, JobKind.EMBED])
def test_every_blocked_job_names_the_failed_one(make_campaign: Callable[..., Any], kind: JobKind) -> None:
    made = make_campaign(failing={kind: "broken"})
    jobs = results.frame(made.store, made.record.id, "jobs")
    found = troubles(jobs)
    assert [trouble.kind for trouble in found if trouble.state == "failed"] == [kind.value]
    blocked = [trouble for trouble in found if trouble.state == "blocked"]
    assert sum(trouble.count for trouble in blocked) == (jobs["state"] == "blocked").sum() > 0
    for trouble in blocked:
        assert trouble.reason.startswith(f"needs {kind.value} job ")


def test_blocked_jobs_are_laid_to_their_own_repeat(make_campaign: Callable[..., Any]) -> None:
    made = make_campaign(failing={JobKind.BASELINE: "broken"}, repeats=2)
    for trouble in troubles(results.frame(made.store, made.record.id, "jobs")):
        for repeat in (0, 1):
            if f"(repeat {repeat})" in trouble.reason:
                assert f"repeat {1 - repeat}" not in trouble.places


def test_many_places_are_counted(make_campaign: Callable[..., Any]) -> None:
    made = make_campaign(failing={"detection": "broken"})
    (trouble,) = troubles(results.frame(made.store, made.record.id, "jobs"))
    assert trouble.count == 12
    assert trouble.places.endswith("; and 9 places more")


def test_cancelled_jobs_and_nothing_at_all(make_campaign: Callable[..., Any]) -> None:
    made = make_campaign(repeats=1)
    jobs = results.frame(made.store, made.record.id, "jobs")
    assert troubles(jobs) == []
    assert troubles(jobs.iloc[:0]) == []
    cancelled = pd.concat([jobs.iloc[:1].assign(state="cancelled"), jobs.iloc[1:]])
    (trouble,) = troubles(cancelled)
    assert (trouble.kind, trouble.reason, trouble.places) == ("split", "cancelled", "whole campaign")
