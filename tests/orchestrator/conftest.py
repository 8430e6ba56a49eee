"""Fixtures of the orchestrator's tests: a small campaign."""

from __future__ import annotations

from contextlib import closing
from types import SimpleNamespace

import pytest

from orchestrator import pace
from orchestrator.launch import launch
from orchestrator.plan import DataFacts
from orchestrator.spec import parse_spec
from orchestrator.store.database import Store
from tests.sharing import copy_store, kept_processes, made_once, run_to_end
from tests.small_campaign import small_campaign


@pytest.fixture(scope="session", autouse=True)
def processes():
    """Campaigns of this directory's tests share the processes of their jobs."""
    with kept_processes():
        yield


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


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory):
    """SQLite file of an empty store, to be copied: an upgrade runs every migration."""

    def make(folder):
        with closing(Store(f"sqlite:///{folder / 'wm.db'}")) as store:
            store.upgrade()

    return made_once(tmp_path_factory, "empty", make) / "wm.db"


@pytest.fixture
def store(empty_file, tmp_path):
    """An empty store."""
    opened = Store(f"sqlite:///{copy_store(empty_file, tmp_path / 'wm.db')}")
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def finished_file(spec, tmp_path_factory):
    """SQLite file in which that campaign, number 1, was run to its end."""

    def make(folder):
        with closing(Store(f"sqlite:///{folder / 'wm.db'}")) as store:
            campaign_id = launch(store, spec)
            assert campaign_id == 1
            run_to_end(store, campaign_id)

    return made_once(tmp_path_factory, "finished", make) / "wm.db"


@pytest.fixture
def finished(finished_file, tmp_path):
    """A store of one's own in which that campaign is finished."""
    store = Store(f"sqlite:///{copy_store(finished_file, tmp_path / 'finished.db')}")
    yield store
    store.close()
