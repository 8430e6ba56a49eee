"""A worker whose receiver of messages ends, and brokers that refuse writes; the rest is in tests/system."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import pytest
from celery import signals
from redis.exceptions import NoPermissionError, OutOfMemoryError, ReadOnlyError, ResponseError

from tests import ending
from workers.celery import worker as worker_module
from workers.celery.consumer import refusal
from workers.celery.worker import Worker
from workers.errors import MessagingError


@pytest.fixture
def run_worker(monkeypatch):
    """Runs a worker whose receiver of messages does something and ends with an exit code."""

    def run(start, code):
        receiver = SimpleNamespace(start=start, exitcode=code)
        app = SimpleNamespace(Worker=lambda **_options: receiver)
        monkeypatch.setattr(worker_module, "make_app", lambda _url: app)
        monkeypatch.setattr(worker_module, "register", lambda *_arguments: None)
        monkeypatch.setattr(worker_module, "_simplify_log", lambda _broker: None)
        ledger = SimpleNamespace(**dict.fromkeys(("artifact", "save", "record", "hand_back", "fail")))
        left = []
        registry = SimpleNamespace(
            orchestrator_versions=list, beat=lambda _record: None, leave=lambda name: left.append(name)
        )
        try:
            Worker("redis://127.0.0.1:1/0", ledger, registry, concurrency=1).run()
        finally:
            assert len(left) == 1, "it takes leave, however it ends"

    return run


@pytest.mark.parametrize("code", [0, None])
def test_a_receiver_that_ends_in_good_order_ends_the_worker(run_worker, code):
    run_worker(lambda: None, code)


def test_a_receiver_that_ends_by_itself_is_a_fault_unless_it_was_stopped(run_worker):
    with pytest.raises(MessagingError):
        run_worker(lambda: None, 1)
    run_worker(lambda: signals.worker_shutting_down.send(sender=None), 1)


@pytest.mark.parametrize(
    ("reason", "passes"),
    [
        (None, False),
        (OutOfMemoryError("command not allowed"), True),
        (ReadOnlyError("a read only replica"), True),
        (ResponseError("MISCONF no snapshots"), True),
        (ResponseError("NOREPLICAS too few"), True),
        (NoPermissionError("no right to set"), False),
    ],
    ids=lambda each: str(each),
)
def test_what_passes_by_waiting_is_told_from_what_does_not(reason, passes):
    def set_key(*_arguments, **_options):
        if reason is not None:
            raise reason

    assert refusal(SimpleNamespace(set=set_key)) is (reason if passes else None)


def test_time_zones_are_found_on_a_system_without_any():
    words = [sys.executable, "-c", "import workers.celery.worker"]
    ending.run(words, env=os.environ | {"PYTHONTZPATH": ""})
