"""A slot: one job after the other, and each recorded while the next runs."""

from __future__ import annotations

import threading
import time

import pytest

from workers.jobs.base import LeasedJob, Outcome, OutcomeStatus
from workers.jobs.kinds import JobKind
from workers.runtime import slots as module
from workers.runtime.messages import End, Run
from workers.runtime.owners import owner_name
from workers.runtime.sandbox import SLICE_S
from workers.runtime.slots import Slot, Slots

OUTCOME = Outcome(OutcomeStatus.DONE, {}, {})

WAIT_S = 30


class Work:
    """Stands in for ledger and sandbox: writes down in what order things happen.

    Attributes
    ----------
    held
        Jobs that are not recorded before they are let go.
    failing
        What raises: ("lease", "run", "record" or "hand_back", job).
    run_of
        How the run of a job ends.
    """

    def __init__(self):
        self.happened = []
        self.held = {}
        self.failing = set()
        self.run_of = lambda job_id: Run(End.FINISHED, OUTCOME, {"ab": b"x"}, (job_id,))

    def lease(self, job_id, owner):
        assert owner == owner_name(0)
        self._happens("lease", job_id)
        return LeasedJob(job_id, JobKind.SPLIT, {}, {}, 0) if job_id else None

    def run(self, job, ledger, owner, stop, *, slice_s):
        assert (ledger, owner, stop(), slice_s) == (self, owner_name(0), False, SLICE_S)
        self._happens("run", job.job_id)
        return self.run_of(job.job_id)

    def record(self, job_id, owner, outcome, artifacts, rows):
        assert (owner, outcome, artifacts, rows) == (owner_name(0), OUTCOME, {"ab": b"x"}, (job_id,))
        if job_id in self.held:
            assert self.held[job_id].wait(WAIT_S)
        self._happens("record", job_id)

    def fail(self, job_id, owner, reason):
        assert owner == owner_name(0)
        self.happened.append(("fail", job_id, reason))

    def hand_back(self, job_id, owner):
        assert owner == owner_name(0)
        self._happens("hand_back", job_id)

    def close(self):
        self.happened.append(("close",))

    def _happens(self, what, job_id):
        self.happened.append((what, job_id))
        if (what, job_id) in self.failing:
            raise OSError(f"{what} {job_id}")


@pytest.fixture
def work(monkeypatch):
    made = Work()
    monkeypatch.setattr(module, "JobSandbox", lambda: made)
    return made


@pytest.fixture
def ended():
    return []


@pytest.fixture
def failures():
    return []


@pytest.fixture
def slot(work, ended, failures):
    return Slot(work, 0, threading.Event(), ended.append, failures.append)


def test_an_end_is_recorded_while_the_next_job_runs(work, slot, ended):
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
    assert (work.happened, ended) == ([("lease", 0)], [0]), "and no process was started"


@pytest.mark.parametrize(
    ("run", "recorded"),
    [
        (Run(End.FINISHED, OUTCOME, {"ab": b"x"}, (1,)), ("record", 1)),
        (Run(End.FAILED, reason="it died"), ("fail", 1, "it died")),
        (Run(End.SLICE_OVER), ("hand_back", 1)),
        (Run(End.STOPPED), ("hand_back", 1)),
    ],
)
def test_every_end_is_recorded(work, slot, ended, run, recorded):
    work.run_of = lambda _job_id: run
    slot.run(1)
    slot.close()
    assert work.happened == [("lease", 1), ("run", 1), recorded, ("close",)]
    assert ended == [1]


@pytest.mark.parametrize("what", ["lease", "run", "record"])
def test_a_fault_is_reported_and_the_job_given_back(work, slot, ended, failures, what):
    work.failing = {(what, 1)}
    slot.run(1)
    slot.run(2)
    slot.close()
    assert list(map(str, failures)) == [f"{what} 1"]
    assert ("hand_back", 1) in work.happened
    assert ("record", 2) in work.happened
    assert ended == [2]


def test_a_job_that_cannot_be_given_back_is_reported_in_one_line(work, slot, failures, caplog):
    work.failing = {("run", 1), ("hand_back", 1)}
    slot.run(1)
    slot.close()
    assert list(map(str, failures)) == ["run 1"]
    assert [record.getMessage() for record in caplog.records] == [
        "job 1 could not be given back, its lease will expire: hand_back 1"
    ]


def test_the_end_of_a_job_is_recorded_even_if_the_next_one_fails(work, slot, ended, failures):
    work.failing = {("lease", 2)}
    slot.run(1)
    slot.run(2)
    slot.close()
    assert (ended, list(map(str, failures))) == ([1], ["lease 2"])


def test_nothing_is_begun_once_slots_are_to_stop(work):
    stop = threading.Event()
    slots = Slots(work, 1, stop, pytest.fail)
    slots.run([1, 2])
    stop.set()
    slots.run([3])
    slots.close()
    happened = [("lease", 1), ("run", 1), ("record", 1), ("lease", 2), ("run", 2), ("record", 2), ("close",)]
    assert sorted(work.happened) == sorted(happened)


def test_a_message_does_not_leave_the_last_end_unrecorded(work):
    slots = Slots(work, 1, threading.Event(), pytest.fail)
    slots.run([1])
    deadline = time.monotonic() + WAIT_S
    while ("record", 1) not in work.happened and time.monotonic() < deadline:
        time.sleep(0.01)
    assert ("record", 1) in work.happened
    slots.close()
