"""A slot: one job after the other, and the ledger told of each while the next runs."""

from __future__ import annotations

import threading
import time

import pytest

from workers.runtime import slots as module
from workers.runtime.slots import Slot, Slots

WAIT_S = 30


class Work:
    """Stands in for `Runner`, and for the ledger: writes down in what order things happen.

    Attributes
    ----------
    held
        Jobs that are not recorded before they are let go.
    failing
        What raises: ("lease", "run", "record" or "hand back", job).
    """

    def __init__(self):
        self.happened = []
        self.held = {}
        self.failing = set()

    def __call__(self, _ledger, owner, stop, *, slice_s):
        self.owner, self.stop = owner, stop
        return self

    def lease(self, job_id):
        self._happens("lease", job_id)
        return job_id or None

    def run(self, job):
        self._happens("run", job)
        return f"run of {job}"

    def record(self, job_id, run):
        assert run == f"run of {job_id}"
        if job_id in self.held:
            assert self.held[job_id].wait(WAIT_S)
        self._happens("record", job_id)

    def hand_back(self, job_id):
        self._happens("hand back", job_id)

    def close(self):
        self.happened.append(("close",))

    def _happens(self, what, job_id):
        self.happened.append((what, job_id))
        if (what, job_id) in self.failing:
            raise OSError(f"{what} {job_id}")


@pytest.fixture
def work(monkeypatch):
    made = Work()
    monkeypatch.setattr(module, "Runner", made)
    return made


@pytest.fixture
def ended():
    return []


@pytest.fixture
def failures():
    return []


@pytest.fixture
def slot(work, ended, failures):
    return Slot(object(), 0, threading.Event(), ended.append, failures.append)


def test_the_ledger_is_told_while_the_next_job_runs(work, slot, ended):
    work.held = {1: threading.Event()}
    slot.run(1)
    assert work.happened == [("lease", 1), ("run", 1)]
    running = threading.Thread(target=slot.run, args=(2,))
    running.start()
    while ("run", 2) not in work.happened:
        running.join(0.01)
    running.join(0.1)
    assert running.is_alive(), "only one end may be on its way to the ledger"
    assert (work.happened[2:], ended) == ([("lease", 2), ("run", 2)], [])
    work.held[1].set()
    running.join(WAIT_S)
    slot.close()
    assert work.happened[4:] == [("record", 1), ("record", 2), ("close",)]
    assert ended == [1, 2]


def test_not_before_the_next_job_is_leased(work, slot):
    slot.run(1)
    slot.run(2)
    slot.close()
    assert work.happened.index(("lease", 2)) < work.happened.index(("record", 1))


def test_an_end_is_recorded_at_once_if_no_job_follows(work, slot, ended):
    work.held = {1: threading.Event()}
    slot.run(1)
    slot.record()
    assert ended == []
    work.held[1].set()
    deadline = time.monotonic() + WAIT_S
    while not ended and time.monotonic() < deadline:
        time.sleep(0.01)
    assert ended == [1]
    slot.record()
    slot.close()
    assert work.happened == [("lease", 1), ("run", 1), ("record", 1), ("close",)]


def test_closing_waits_until_the_ledger_knows_all(work, slot, ended):
    work.held = {1: threading.Event()}
    slot.run(1)
    closing = threading.Thread(target=slot.close)
    closing.start()
    closing.join(0.1)
    assert closing.is_alive()
    work.held[1].set()
    closing.join(WAIT_S)
    assert work.happened == [("lease", 1), ("run", 1), ("record", 1), ("close",)]
    assert ended == [1]


def test_a_job_that_cannot_be_leased_has_ended_for_this_slot(work, slot, ended):
    slot.run(0)
    slot.close()
    assert (work.happened, ended) == ([("lease", 0), ("close",)], [0])


@pytest.mark.parametrize("what", ["lease", "run", "record"])
def test_what_fails_is_told_and_the_job_given_back(work, slot, ended, failures, what):
    work.failing = {(what, 1)}
    slot.run(1)
    slot.run(2)
    slot.close()
    assert list(map(str, failures)) == [f"{what} 1"]
    assert ("hand back", 1) in work.happened
    assert ("record", 2) in work.happened
    assert ended == [2]


def test_a_job_that_cannot_be_given_back_is_told_in_one_line(work, slot, failures, caplog):
    work.failing = {("run", 1), ("hand back", 1)}
    slot.run(1)
    slot.close()
    assert list(map(str, failures)) == ["run 1"]
    assert [record.getMessage() for record in caplog.records] == [
        "job 1 could not be given back, its lease will expire: hand back 1"
    ]


def test_what_ended_before_is_told_even_if_the_next_job_fails(work, slot, ended, failures):
    work.failing = {("lease", 2)}
    slot.run(1)
    slot.run(2)
    slot.close()
    assert (ended, list(map(str, failures))) == ([1], ["lease 2"])


def test_nothing_is_begun_once_slots_are_to_stop(work):
    stop = threading.Event()
    slots = Slots(object(), 1, stop, pytest.fail)
    slots.run([1, 2])
    stop.set()
    slots.run([3])
    slots.close()
    happened = [("lease", 1), ("run", 1), ("record", 1), ("lease", 2), ("run", 2), ("record", 2), ("close",)]
    assert sorted(work.happened) == sorted(happened)


def test_a_message_does_not_leave_the_last_end_untold(work):
    slots = Slots(object(), 1, threading.Event(), pytest.fail)
    slots.run([1])
    deadline = time.monotonic() + WAIT_S
    while ("record", 1) not in work.happened and time.monotonic() < deadline:
        time.sleep(0.01)
    assert ("record", 1) in work.happened
    slots.close()
