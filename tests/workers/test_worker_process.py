"""A worker whose receiver of messages ends, and brokers that refuse writes; the rest is in tests/system."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import pytest
from redis.exceptions import NoPermissionError, OutOfMemoryError, ReadOnlyError, ResponseError

from tests import ending
from workers.celery import worker as worker_module
from workers.celery.consumer import refusal
from workers.celery.worker import Worker
from workers.errors import MessagingError


@pytest.mark.parametrize("code", [0, None, 1])
def test_a_receiver_that_ends_by_itself_is_a_fault(monkeypatch, code):
    receiver = SimpleNamespace(start=lambda: None, exitcode=code)
    monkeypatch.setattr(
        worker_module, "make_app", lambda _url: SimpleNamespace(Worker=lambda **_options: receiver)
    )
    monkeypatch.setattr(worker_module, "register", lambda *_arguments: None)
    monkeypatch.setattr(worker_module, "_simplify_log", lambda _broker: None)
    ledger = SimpleNamespace(**dict.fromkeys(("artifact", "save", "record", "hand_back", "fail")))
    worker = Worker("redis://127.0.0.1:1/0", ledger, SimpleNamespace(), concurrency=1)
    if code:
        with pytest.raises(MessagingError):
            worker._consume(SimpleNamespace(run=None))
        worker._stop.set()
    worker._consume(SimpleNamespace(run=None))


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
