"""The path of a job: lease, run, record; and whose leases are those of the dead."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from workers.jobs import JobKind, LeasedJob, Outcome, OutcomeStatus
from workers.runtime import runner
from workers.runtime.runner import Runner, machine, owner_is_gone, owner_name, process_start
from workers.runtime.sandbox import End, Run

JOB = LeasedJob(7, JobKind.SPLIT, {}, {}, 0)
OUTCOME = Outcome(OutcomeStatus.DONE, {}, {})


class WrittenLedger:
    """Writes down what it is told."""

    def __init__(self, job=JOB):
        self.job, self.calls = job, []

    def lease(self, job_id, owner):
        self.calls.append(("lease", job_id, owner))
        return self.job

    def __getattr__(self, name):
        def call(*arguments):
            self.calls.append((name, *arguments))
            return True

        return call


@pytest.fixture
def run_with(monkeypatch):
    """Runs job 7 in a sandbox that ends as given, and records it; returns the calls to the ledger."""

    def run(ledger, end, during=lambda _hooks: None):
        class Fake:
            def run(self, job, hooks, *, slice_s):
                assert (job, slice_s) == (JOB, 3.0)
                during(hooks)
                return end

            def close(self):
                ledger.calls.append(("closed",))

        monkeypatch.setattr(runner, "JobSandbox", Fake)
        with contextlib.closing(Runner(ledger, "me", lambda: False, slice_s=3.0)) as slot:
            job = slot.lease(7)
            if job is not None:
                run = slot.run(job)
                ledger.calls.append(("ended",))
                slot.record(7, run)
        assert ledger.calls.pop(0) == ("lease", 7, "me")
        return ledger.calls

    return run


@pytest.mark.parametrize(
    ("run", "call"),
    [
        (Run(End.FINISHED, OUTCOME, {"ab": b"x"}, (1,)), ("record", 7, "me", OUTCOME, {"ab": b"x"}, (1,))),
        (Run(End.FAILED, reason="it died"), ("fail", 7, "me", "it died")),
        (Run(End.SLICE_OVER), ("hand_back", 7, "me")),
        (Run(End.STOPPED), ("hand_back", 7, "me")),
    ],
)
def test_every_end_is_recorded_when_that_is_wished(run_with, run, call):
    assert run_with(WrittenLedger(), run) == [("ended",), call, ("closed",)]
    assert {Run(end).end for end in End} == {End.FINISHED, End.FAILED, End.SLICE_OVER, End.STOPPED}


def test_a_job_that_cannot_be_leased_is_left_alone_and_no_process_is_started(run_with):
    assert run_with(WrittenLedger(job=None), None) == []


def test_what_the_job_needs_meanwhile_goes_to_the_ledger(run_with):
    def during(hooks):
        hooks.artifact("ab")
        hooks.save((1, 2))
        assert hooks.heartbeat()
        assert not hooks.stop()

    assert run_with(WrittenLedger(), Run(End.SLICE_OVER), during) == [
        ("artifact", "ab"),
        ("save", 7, (1, 2)),
        ("heartbeat", 7, "me"),
        ("ended",),
        ("hand_back", 7, "me"),
        ("closed",),
    ]


# Owners


def owner_of(pid, start, host=None):
    return f"{host or machine()}:{pid}:{start}:0"


def test_slots_have_different_names_and_are_not_gone():
    names = {owner_name(slot) for slot in range(3)}
    assert len(names) == 3
    assert not any(map(owner_is_gone, names))


def test_another_living_process_is_not_gone():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        owner = owner_of(other.pid, process_start(other.pid))
        assert not owner_is_gone(owner)
        other.stdin.close()
        other.wait()
        assert owner_is_gone(owner)


def test_a_process_that_nobody_has_waited_for_is_gone_all_the_same():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        owner = owner_of(other.pid, process_start(other.pid))
        other.kill()
        os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
        assert Path(f"/proc/{other.pid}").exists()
        assert owner_is_gone(owner)


def test_a_pid_that_another_process_has_now_does_not_deceive():
    assert not owner_is_gone(owner_of(os.getpid(), process_start(os.getpid())))
    assert owner_is_gone(owner_of(os.getpid(), "12345"))


def test_nothing_is_known_of_other_machines():
    assert not owner_is_gone(owner_of(os.getpid(), "12345", host="elsewhere"))
    assert not owner_is_gone(owner_of(2**22 + 1, "1", host="else:where"))


def test_without_proc_the_pid_alone_must_do(monkeypatch):
    def missing(_path, *_, **__):
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", missing)
    assert process_start(os.getpid()) == "unknown"
    assert process_start(2**22 + 1) is None
    assert not owner_is_gone(owner_name())


def test_without_proc_another_users_process_lives(monkeypatch):
    def forbidden(_pid, _signal):
        raise PermissionError

    def missing(_path, *_, **__):
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", missing)
    monkeypatch.setattr(os, "kill", forbidden)
    assert process_start(1) == "unknown"
