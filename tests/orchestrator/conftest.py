"""Fixtures of the orchestrator's tests: a small campaign."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import pytest

from orchestrator import pace
from orchestrator.executors import LocalExecutor
from orchestrator.launch import launch
from orchestrator.loop import run_campaign
from orchestrator.plan import DataFacts
from orchestrator.spec import parse_spec
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.tables import CampaignState
from tests.small_campaign import small_campaign


@pytest.fixture(scope="session")
def spec():
    """A campaign of 13 jobs, one of each kind but tuning and eight of forgery."""
    return parse_spec(small_campaign())


@pytest.fixture(scope="session")
def facts():
    """Facts of breast-cancer."""
    return DataFacts(rows_train=398, rows_test=171, file_sha256=None)


@pytest.fixture
def clock(monkeypatch):
    """The clock of periodic work, in seconds, which stands still."""
    time = SimpleNamespace(now=100.0)
    time.monotonic = lambda: time.now
    monkeypatch.setattr(pace, "time", time)
    return time


@pytest.fixture
def store(tmp_path):
    """An empty store."""
    opened = Store(f"sqlite:///{tmp_path / 'wm.db'}")
    opened.upgrade()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def finished_file(spec, tmp_path_factory):
    """SQLite file in which that campaign, number 1, was run to its end."""
    path = tmp_path_factory.mktemp("finished") / "wm.db"
    store = Store(f"sqlite:///{path}")
    campaign_id = launch(store, spec)
    executor = LocalExecutor(StoreLedger(store), workers=1)
    try:
        state = run_campaign(store, campaign_id, executor, lambda _progress: None)
    finally:
        executor.close()
        store.close()
    assert (campaign_id, state) == (1, CampaignState.FINISHED)
    return path


@pytest.fixture
def finished(finished_file, tmp_path):
    """A store of one's own in which that campaign is finished."""
    store = Store(f"sqlite:///{shutil.copy(finished_file, tmp_path / 'finished.db')}")
    yield store
    store.close()
