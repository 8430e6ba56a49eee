"""The local executor: slots that run what is submitted, once, until they are closed."""

from __future__ import annotations

import os
import threading
from collections import Counter

import pytest

import workers.runtime.slots
from orchestrator.executors import LocalExecutor, default_workers
from workers.jobs import JobKind, LeasedJob
from workers.runtime.messages import End, Run


class Work:
    """Stands in for ledger and sandboxes: writes down what is run; jobs wait until they are let go."""

    def __init__(self):
        self.ran = Counter()
        self.owners = set()
        self.opened = 0
        self.closed = 0
        self.stopped = 0
        self.given_back = []
        self.gate = threading.Event()
        self.started = threading.Semaphore(0)
        self.fails = None

    def lease(self, job_id, _owner):
        return LeasedJob(job_id, JobKind.SPLIT, {}, {}, 0)

    def hand_back(self, job_id, _owner):
        self.given_back.append(job_id)

    def sandbox(self):
        self.opened += 1
        return self

    def run(self, job, _ledger, owner, stop, *, slice_s):
        assert slice_s == 9.0
        self.ran[job.job_id] += 1
        self.owners.add(owner)
        self.started.release()
        while not self.gate.wait(0.01):
            if stop():
                self.stopped += 1
                break
        if self.fails == job.job_id:
            raise OSError("the disk is full")
        return Run(End.STOPPED)

    def close(self):
        self.closed += 1


@pytest.fixture
def work(monkeypatch):
    made = Work()
    monkeypatch.setattr(workers.runtime.slots, "JobSandbox", made.sandbox)
    return made


@pytest.fixture
def executor(work):
    made = LocalExecutor(work, 2, slice_s=9.0)
    yield made
    made.close()
    assert work.closed == work.opened <= 2


def wait_until_idle(executor):
    while executor.in_flight():
        executor.wait(10)


def test_every_job_is_run_once_and_dropped(work, executor):
    work.gate.set()
    executor.submit(range(100))
    wait_until_idle(executor)
    assert work.ran == Counter(range(100))
    assert executor.capacity() == 6


def test_capacity_counts_what_runs_and_what_waits(work, executor):
    assert executor.capacity() == 6, "two slots, and two jobs waiting for each"
    executor.submit([4, 5, 6])
    assert (executor.capacity(), executor.in_flight()) == (3, {4, 5, 6})
    work.gate.set()
    wait_until_idle(executor)
    assert executor.capacity() == 6


def test_both_slots_work_at_once_under_names_of_their_own(work, executor):
    executor.submit([1, 2, 3])
    for _ in range(2):
        assert work.started.acquire(timeout=30)
    assert len(work.ran) == len(work.owners) == 2
    work.gate.set()
    wait_until_idle(executor)


def test_closing_stops_what_runs_and_leaves_what_waits(work):
    executor = LocalExecutor(work, 2, slice_s=9.0)
    executor.submit(range(6))
    for _ in range(2):
        assert work.started.acquire(timeout=30)
    executor.close()
    assert (work.stopped, work.closed, len(work.ran)) == (2, 2, 2)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("slot-")]


def test_what_stops_a_slot_for_good_is_raised(work, executor):
    work.fails = 3
    work.gate.set()
    executor.submit([3])
    with pytest.raises(OSError, match="the disk is full"):
        wait_until_idle(executor)
    with pytest.raises(OSError, match="the disk is full"):
        executor.wait(10)
    assert work.given_back == [3]


def test_waiting_ends_without_a_change_too(executor):
    executor.wait(0.01)
    assert executor.in_flight() == frozenset()


def test_there_is_a_worker_for_each_usable_processor(monkeypatch):
    assert default_workers() == len(os.sched_getaffinity(0))
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert default_workers() == 1
