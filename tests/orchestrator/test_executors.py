"""The local executor: slots that run what is submitted, once, until they are closed."""

from __future__ import annotations

import os
import threading
from collections import Counter

import pytest

import workers.runtime.slots
from orchestrator.executors import LocalExecutor, default_workers
from workers.jobs.base import LeasedJob
from workers.runtime.messages import End, Run


class Slots:
    """Stands in for ledger and sandboxes: writes down what is run; jobs wait until they are let go."""

    def __init__(self):
        self.ran = Counter()
        self.owners = set()
        self.made = self.closed = self.stopped = 0
        self.given_back = []
        self.gate = threading.Event()
        self.started = threading.Semaphore(0)
        self.fails = None

    def lease(self, job_id, owner):
        return LeasedJob(job_id, "split", {}, {}, 0)

    def fail(self, job_id, owner, reason):
        pass

    def hand_back(self, job_id, owner):
        if self.fails == job_id:
            self.given_back.append(job_id)

    def sandbox(self):
        """Return a sandbox that runs nothing."""
        self.made += 1
        return self

    def run(self, job, ledger, owner, stop, *, slice_s):
        assert (ledger, slice_s) == (self, 9.0)
        self.ran[job.job_id] += 1
        self.owners.add(owner)
        self.started.release()
        while not self.gate.wait(0.01):
            if stop():
                self.stopped += 1
                return Run(End.STOPPED)
        if self.fails == job.job_id:
            raise OSError("the disk is full")
        return Run(End.FAILED, reason="no matter")

    def close(self):
        self.closed += 1


@pytest.fixture
def slots(monkeypatch):
    made = Slots()
    monkeypatch.setattr(workers.runtime.slots, "JobSandbox", made.sandbox)
    return made


@pytest.fixture
def executor(slots):
    made = LocalExecutor(slots, 2, slice_s=9.0)
    yield made
    made.close()
    assert slots.closed == slots.made


def wait_until_idle(executor):
    while executor.in_flight():
        executor.wait(10)


def test_every_job_is_run_once_and_dropped(slots, executor):
    slots.gate.set()
    executor.submit(range(100))
    wait_until_idle(executor)
    assert slots.ran == Counter(range(100))
    assert executor.capacity() == 6


def test_capacity_counts_running_and_waiting_jobs(slots, executor):
    assert executor.capacity() == 6, "two slots, and two jobs waiting for each"
    executor.submit([4, 5, 6])
    assert (executor.capacity(), executor.in_flight()) == (3, {4, 5, 6})
    slots.gate.set()
    wait_until_idle(executor)
    assert executor.capacity() == 6


def test_both_slots_work_at_once_under_names_of_their_own(slots, executor):
    executor.submit([1, 2, 3])
    for _ in range(2):
        assert slots.started.acquire(timeout=30)
    assert len(slots.ran) == len(slots.owners) == 2
    slots.gate.set()
    wait_until_idle(executor)


def test_closing_stops_running_jobs_and_leaves_waiting_ones(slots):
    executor = LocalExecutor(slots, 2, slice_s=9.0)
    executor.submit(range(6))
    for _ in range(2):
        assert slots.started.acquire(timeout=30)
    executor.close()
    assert (slots.stopped, slots.closed, len(slots.ran)) == (2, 2, 2)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("slot-")]


def test_a_fault_that_stops_a_slot_is_raised(slots, executor):
    slots.fails = 3
    slots.gate.set()
    executor.submit([3])
    with pytest.raises(OSError, match="the disk is full"):
        wait_until_idle(executor)
    with pytest.raises(OSError, match="the disk is full"):
        executor.wait(10)
    assert slots.given_back == [3]


def test_waiting_ends_without_a_change_too(executor):
    executor.wait(0.01)
    assert executor.in_flight() == frozenset()


def test_there_is_a_worker_for_each_usable_processor(monkeypatch):
    assert default_workers() == len(os.sched_getaffinity(0))
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert default_workers() == 1
