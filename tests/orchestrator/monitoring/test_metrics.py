"""Metrics as Prometheus reads them: over loopback, parsed by its own parser, compared with the store."""

from __future__ import annotations

import re
import socket
import urllib.request
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from orchestrator.errors import OutputError, StoreError, StoreUnavailableError
from orchestrator.monitoring import metrics as module
from orchestrator.monitoring.metrics import Metrics
from orchestrator.store import campaigns, services
from orchestrator.store.campaigns import Progress
from orchestrator.store.database import Store
from orchestrator.store.services import StoreRegistry
from orchestrator.store.tables import JobState
from workers.runtime.registry import WorkerRecord
from workers.runtime.version import protocol_version

OURS = protocol_version()
DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "scaling.md"


@pytest.fixture
def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture(autouse=True)
def often(monkeypatch):
    """The totals are counted at each look; the metrics' own thread sleeps through the test."""
    monkeypatch.setattr(module, "_COUNT_EVERY_S", 0.0)
    monkeypatch.setattr(module, "_MAX_SHARE", float("inf"))


def progress(**jobs):
    counts = dict.fromkeys(JobState, 0) | {JobState[name.upper()]: count for name, count in jobs.items()}
    return Progress(counts, done_weight=50 * jobs.get("done", 0), total_weight=50 * sum(jobs.values()))


def families(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as response:
        assert response.headers["Content-Type"].startswith("text/plain")
        return list(text_string_to_metric_families(response.read().decode()))


def scraped(port):
    """Return every sample of ours by its name and labels."""
    return {
        (sample.name, *(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in families(port)
        for sample in family.samples
        if sample.name.startswith("wm_")
    }


@pytest.fixture
def queued():
    return [7]


@pytest.fixture
def served(store, port, queued):
    metrics = Metrics(store, lambda: queued[0])
    close = metrics.serve("127.0.0.1", port)
    yield metrics
    close()


def test_metrics_before_the_first_report(served, port):
    seen = scraped(port)
    assert seen.pop(("wm_store_seen_timestamp_seconds",)) > 1.7e9
    assert seen == {
        ("wm_build_info", OURS): 1,
        ("wm_orchestrator_leading",): 0,
        ("wm_jobs_taken_back_total", "lease_lapsed"): 0,
        ("wm_jobs_taken_back_total", "worker_gone"): 0,
        ("wm_store_up",): 1,
        ("wm_workers", OURS): 0,
        ("wm_worker_slots", OURS): 0,
        ("wm_orchestrators", OURS): 0,
    }


def test_live_workers_are_counted_by_version(store, served, port):
    registry = StoreRegistry(store)
    for name, version, slots in (("a", OURS, 2), ("b", OURS, 4), ("c", "0", 8), ("d", OURS, 16)):
        registry.beat(WorkerRecord(name, version, slots))
    services.beat_orchestrator(store, "o", OURS)
    with store.write() as connection:
        connection.exec_driver_sql("UPDATE worker SET heartbeat_at = heartbeat_at - 60 WHERE name = 'd'")
    served.look()
    seen = scraped(port)
    assert {
        key: value for key, value in seen.items() if key[0].startswith(("wm_worker", "wm_orchestrators"))
    } == {
        ("wm_workers", OURS): 2,
        ("wm_workers", "0"): 1,
        ("wm_worker_slots", OURS): 6,
        ("wm_worker_slots", "0"): 8,
        ("wm_orchestrators", OURS): 1,
    }


def test_progress_of_a_campaign(served, port):
    served.leads(True)
    served.turn([3])
    served.progress(3, progress(ready=5, running=2, done=1))
    seen = scraped(port)
    assert seen["wm_orchestrator_leading",] == 1
    assert {key[2]: value for key, value in seen.items() if key[:2] == ("wm_jobs", "3")} == {
        state.value: {"ready": 5, "running": 2, "done": 1}.get(state.value, 0) for state in JobState
    }
    assert (seen["wm_work_done", "3"], seen["wm_work_planned", "3"]) == (50, 400)
    assert (seen["wm_broker_up",], seen["wm_queue_messages",]) == (1, 7)


def test_a_campaign_that_is_over_stays_until_the_next_progresses(served, port):
    served.leads(True)
    served.progress(3, progress(done=4))
    served.turn([])
    assert scraped(port)["wm_work_done", "3"] == 200
    served.progress(4, progress(ready=1))
    seen = scraped(port)
    assert ("wm_work_done", "3") not in seen
    assert seen["wm_work_done", "4"] == 0


def test_a_cancelled_campaign_is_dropped(served, port):
    served.leads(True)
    served.progress(3, progress(ready=5, running=2))
    served.turn([])
    assert not [key for key in scraped(port) if key[0] == "wm_jobs"]


def test_an_orchestrator_that_stands_by_reports_no_progress_and_no_totals(finished, port):
    metrics = Metrics(finished, lambda: 0)
    close = metrics.serve("127.0.0.1", port)
    try:
        metrics.leads(True)
        metrics.progress(1, progress(ready=1))
        metrics.look()
        leading = {key[0] for key in scraped(port)}
        metrics.leads(False)
        standing_by = {key[0] for key in scraped(port)}
    finally:
        close()
    assert standing_by < leading
    assert {"wm_jobs", "wm_outcomes_total", "wm_queries_answered_total"} <= leading - standing_by
    assert {"wm_store_up", "wm_workers", "wm_build_info"} <= standing_by


def test_a_broker_that_is_away(served, port, queued):
    queued[0] = None
    served.turn([])
    seen = scraped(port)
    assert seen["wm_broker_up",] == 0
    assert ("wm_queue_messages",) not in seen


@pytest.mark.parametrize("error", [StoreUnavailableError, StoreError])
def test_a_store_that_is_away_leaves_what_is_known(served, port, monkeypatch, error):
    served.leads(True)
    served.progress(3, progress(ready=1))
    before = scraped(port)

    def away(_store):
        raise error("store gone")

    monkeypatch.setattr(services, "workers", away)
    served.look()
    seen = scraped(port)
    assert seen["wm_store_up",] == 0
    assert ("wm_workers", OURS) not in seen
    assert seen["wm_store_seen_timestamp_seconds",] == before["wm_store_seen_timestamp_seconds",]
    assert seen["wm_jobs", "3", "ready"] == 1


def test_a_scrape_uses_neither_store_nor_broker(served, port, monkeypatch):
    def never(*_):
        raise AssertionError

    for name in ("read", "write"):
        monkeypatch.setattr(Store, name, never)
    monkeypatch.setattr(served, "_queue_length", never)
    assert scraped(port)["wm_store_up",] == 1


def test_totals_of_the_store_equal_a_count_by_hand(finished, port):
    metrics = Metrics(finished, lambda: 0)
    close = metrics.serve("127.0.0.1", port)
    try:
        metrics.leads(True)
        metrics.look()
        seen = scraped(port)
    finally:
        close()
    with finished.read() as connection:
        outcomes = connection.exec_driver_sql("SELECT job_id, status FROM outcome").all()
        kinds = {row.id: row.kind for row in connection.exec_driver_sql("SELECT id, kind FROM job")}
        answers = connection.exec_driver_sql("SELECT status FROM forgery_answer").scalars().all()
    by_hand = Counter((kinds[job_id], status) for job_id, status in outcomes)
    assert {key[1:]: value for key, value in seen.items() if key[0] == "wm_outcomes_total"} == by_hand
    reported = {key[1]: value for key, value in seen.items() if key[0] == "wm_queries_answered_total"}
    assert reported == Counter(answers)
    assert seen["wm_campaign_info", "1", campaigns.get_campaign(finished, 1).name] == 1
    assert seen["wm_campaigns", "finished"] == 1
    assert seen["wm_failed_attempts_total",] == 0


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=9))
def test_jobs_taken_back_add_up_by_reason(pairs):
    metrics = Metrics(None, lambda: None)
    for expired, gone in pairs:
        metrics.taken_back(expired=expired, gone=gone)
    (family,) = [family for family in metrics.collect() if family.name == "wm_jobs_taken_back"]
    reported = {sample.labels["reason"]: sample.value for sample in family.samples}
    assert reported == {
        "lease_lapsed": sum(expired for expired, _ in pairs),
        "worker_gone": sum(gone for _, gone in pairs),
    }


def test_names_and_texts_follow_prometheus_conventions(finished, port):
    metrics = Metrics(finished, lambda: 0)
    close = metrics.serve("127.0.0.1", port)
    try:
        metrics.leads(True)
        metrics.turn([1])
        metrics.progress(1, progress(ready=1))
        metrics.look()
        ours = [family for family in families(port) if family.name.startswith("wm_")]
    finally:
        close()
    assert len(ours) > 15
    assert len({family.name for family in ours}) == len(ours)
    for family in ours:
        assert re.fullmatch(r"wm(_[a-z]+)+", family.name)
        assert family.documentation.endswith(".") or "since 1970" in family.documentation
        for sample in family.samples:
            assert (family.type == "counter") == sample.name.endswith("_total"), "counters, and no others"
            assert not re.search(r"_(ms|millis|minutes|mb|percent)(_|$)", sample.name), "base units"


def test_every_metric_is_documented_with_its_labels(finished):
    metrics = Metrics(finished, lambda: 0)
    metrics.leads(True)
    metrics.turn([1])
    metrics.progress(1, progress(ready=1))
    metrics.look()
    emitted = {
        sample.name: set(sample.labels) for family in metrics.collect() for sample in family.samples
    } | {"wm_build_info": {"version"}, "wm_failed_attempts_total": set()}
    documented = {}
    for line in DOCUMENT.read_text().splitlines():
        if line.startswith("| `wm_"):
            names, labels = (re.findall(r"`(\w+)`", part) for part in line.split("|")[1:3])
            documented |= {name: set(labels) for name in names}
    assert documented == emitted


def test_a_port_in_use_is_a_clear_error(store, served, port):
    with pytest.raises(OutputError, match=rf"metrics port 127\.0\.0\.1:{port}: Address already in use; give"):
        Metrics(store, lambda: None).serve("127.0.0.1", port)


def test_an_unknown_host_is_a_clear_error(store, port):
    with pytest.raises(OutputError, match=r"metrics port nohost\.invalid:\d+: .*; give another"):
        Metrics(store, lambda: None).serve("nohost.invalid", port)
