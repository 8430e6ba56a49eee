"""The Celery executor and its broker without jobs; the rest is in tests/system."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest
from celery.backends.base import DisabledBackend

from orchestrator import celery_executor
from orchestrator.celery_executor import CeleryExecutor, look_pause_s
from orchestrator.plan import plan
from orchestrator.store.campaigns import create_campaign
from tests import servers
from workers.celery.app import QUEUE, make_app


@pytest.fixture
def broker():
    server = servers.Valkey()
    yield server
    server.close()


@pytest.mark.parametrize(
    ("in_flight", "rate", "pause_s"),
    [
        (32, 0.0, 0.05),  # nothing is known yet
        (0, 100.0, 0.05),
        (32, 100.0, 0.05),
        (32, 40.0, 0.1),
        (32, 20.0, 0.2),
        (20_000, 2_000.0, 0.5),
        (1, 0.01, 0.5),
    ],
)
def test_the_store_is_read_well_before_the_workers_run_out_of_work(in_flight, rate, pause_s):
    assert look_pause_s(in_flight, rate) == pytest.approx(pause_s)


def test_an_outage_and_its_end_are_reported_once(store, broker, monkeypatch):
    long_after = itertools.count(0.0, 1000.0)  # whatever it waits for is over at the next look
    monkeypatch.setattr(celery_executor, "time", SimpleNamespace(monotonic=lambda: next(long_after)))
    reported = []
    executor = CeleryExecutor(store, broker.url, reported.append)
    try:
        assert executor.queue_length() == 0
        with broker.client() as client:
            client.rpush(QUEUE, "one", "two")
        assert executor.queue_length() == 2
        broker.stop()
        for _ in range(3):
            assert executor.queue_length() is None
        broker.start()
        assert executor.queue_length() == 0, "it keeps nothing over a restart"
        assert executor.queue_length() == 0
    finally:
        executor.close()
    went, came = reported
    assert "does not answer, trying again" in went
    assert came.endswith("is back")


def test_variables_of_another_celery_program_are_not_heeded(store, spec, facts, broker, monkeypatch):
    create_campaign(store, spec, plan(spec, facts), {})
    stranger = servers.Valkey()
    for name in ("CELERY_BROKER_URL", "CELERY_BROKER_READ_URL", "CELERY_BROKER_WRITE_URL"):
        monkeypatch.setenv(name, stranger.url)
    monkeypatch.setenv("CELERY_RESULT_BACKEND", stranger.url)
    monkeypatch.setenv("CELERY_LOADER", "no.such:Loader")
    monkeypatch.setenv("CELERY_CONFIG_MODULE", "no_such_module")
    app = make_app(broker.url)
    assert isinstance(app.backend, DisabledBackend)
    wanted = f"127.0.0.1:{broker.port}"
    for connect in (app.connection, app.connection_for_read, app.connection_for_write):
        assert connect().host == wanted
    executor = CeleryExecutor(store, broker.url, pytest.fail)
    try:
        executor.submit([1])
        with broker.client() as ours, stranger.client() as theirs:
            assert (ours.llen(QUEUE), theirs.keys()) == (1, [])
    finally:
        executor.close()
        stranger.close()
