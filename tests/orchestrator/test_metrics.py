"""Metrics as Prometheus reads them: over loopback, parsed by its own parser."""

from __future__ import annotations

import socket
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from orchestrator.errors import OutputError, StoreUnavailableError
from orchestrator.metrics import Metrics
from orchestrator.store import services
from orchestrator.store.campaigns import Progress
from orchestrator.store.database import Store
from orchestrator.store.services import StoreRegistry
from orchestrator.store.tables import JobState
from workers.registry import WorkerRecord


@pytest.fixture
def store(tmp_path):
    opened = Store(f"sqlite:///{tmp_path / 'wm.db'}")
    opened.upgrade()
    yield opened
    opened.close()


@pytest.fixture
def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def progress(**jobs):
    counts = dict.fromkeys(JobState, 0) | {JobState[name.upper()]: count for name, count in jobs.items()}
    return Progress(counts, done_weight=50 * jobs.get("done", 0), total_weight=50 * sum(jobs.values()))


def scraped(port):
    """Return every sample by its name and labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as response:
        assert response.headers["Content-Type"].startswith("text/plain")
        text = response.read().decode()
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.fixture
def served(store, port):
    queued = [7]
    metrics = Metrics(store, lambda: queued[0])
    close = metrics.serve("127.0.0.1", port)
    yield metrics, queued
    close()


def test_a_scrape_tells_campaigns_workers_and_queue(store, served, port):
    metrics, _ = served
    registry = StoreRegistry(store)
    registry.beat(WorkerRecord("a", "1", 2))
    registry.beat(WorkerRecord("b", "1", 4))
    assert scraped(port) == {("wm_workers",): 2, ("wm_slots",): 6, ("wm_store_up",): 1}
    metrics.progress(3, progress(ready=5, running=2, done=1))
    seen = scraped(port)
    assert seen["wm_jobs", "3", "ready"] == 5
    assert seen["wm_jobs", "3", "running"] == 2
    assert seen["wm_jobs", "3", "failed"] == 0
    assert (seen["wm_work_done", "3"], seen["wm_work_total", "3"]) == (50, 400)
    assert seen["wm_queue_messages",] == 7


def test_a_campaign_that_is_over_is_shown_once_more_and_then_forgotten(served, port):
    metrics, queued = served
    metrics.progress(3, progress(done=4))
    assert scraped(port)["wm_work_done", "3"] == 200
    queued[0] = None
    metrics.progress(4, progress(ready=1))
    seen = scraped(port)
    assert ("wm_work_done", "3") not in seen
    assert seen["wm_work_done", "4"] == 0
    assert ("wm_queue_messages",) not in seen, "the broker does not answer"


def test_a_store_that_is_away_is_told_and_what_is_known_stays(served, port, monkeypatch):
    metrics, _ = served
    metrics.progress(3, progress(ready=1))

    def away(_store):
        raise StoreUnavailableError("store gone")

    monkeypatch.setattr(services, "workers", away)
    seen = scraped(port)
    assert seen["wm_store_up",] == 0
    assert ("wm_workers",) not in seen
    assert seen["wm_jobs", "3", "ready"] == 1


def test_a_port_that_is_taken_is_one_line(store, served, port):
    with pytest.raises(OutputError, match=rf"metrics port 127\.0\.0\.1:{port}: Address already in use"):
        Metrics(store, lambda: None).serve("127.0.0.1", port)
