"""The benchmark of pages: its store is what it says, and every page that it asks for is there."""

from __future__ import annotations

import asyncio

import pytest
import sqlalchemy as sa

from orchestrator.store import campaigns
from orchestrator.store.tables import JobState, campaign_job
from research.benchmarks import pages
from research.benchmarks.stores import opened


def test_filled_store_and_its_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "REQUESTS", 2)
    with opened("sqlite") as store:
        campaign_id = pages.fill(store, 2000)
        assert {
            state: count for state, count in campaigns.progress(store, campaign_id).jobs.items() if count
        } == {
            JobState.DONE: 1996,
            JobState.FAILED: 2,
            JobState.CANCELLED: 2,
        }
        start = store.rows(
            sa.select(sa.func.min(campaign_job.c.job_id)).where(campaign_job.c.campaign_id == campaign_id)
        )[0][0]
        asked = pages.pages(campaign_id, start, 2000)
        found = asyncio.run(pages.timed(store, asked))
    rows = [pages.Row("sqlite", name, *times, max(times)) for name, times in found]
    assert [row.page for row in rows] == list(asked)
    assert len(pages.table(rows).splitlines()) == 2 + len(asked)
