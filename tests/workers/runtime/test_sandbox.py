"""Jobs in the real service process: every way in which a run can end, and what comes after."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import pytest

from workers.jobs import forging
from workers.jobs.base import OutcomeStatus
from workers.jobs.forging import ForgeryState
from workers.jobs.kinds import JobKind
from workers.runtime import sandbox
from workers.runtime.messages import End
from workers.runtime.sandbox import JobSandbox

pytestmark = pytest.mark.system

ENDLESS = {"n_estimators": [10_000], "max_depth": [None], "folds": 100}
"""Changes that make a tuning job take hours."""


def kinds_of(answers):
    return [
        (answer.instance, answer.row, answer.status, answer.distance, answer.witness) for answer in answers
    ]


def works(bench):
    return bench.run(bench.job(JobKind.SPLIT)).end is End.FINISHED


class After:
    """A hook that does something when it is asked for the n-th time."""

    def __init__(self, times, act):
        self.left, self.act = times, act

    def __call__(self):
        self.left -= 1
        return self.act() if self.left == 0 else False


def test_a_job_that_succeeds_gives_an_outcome_with_its_artifacts(bench):
    run = bench.run(bench.job(JobKind.SPLIT))
    assert (run.end, run.reason) == (End.FINISHED, "")
    assert run.outcome.status is OutcomeStatus.DONE
    assert run.outcome.error == ""
    assert run.outcome.result == bench.results[JobKind.SPLIT], "equal jobs give equal results"
    assert set(run.outcome.timings) == {"load", "job"}
    assert set(run.artifacts) == {run.outcome.result["split"]}


def test_a_permanent_fault_is_an_error_at_once(bench):
    run = bench.run(bench.job(JobKind.EMBED, max_rounds=1))
    assert run.end is End.FINISHED
    assert run.outcome.status is OutcomeStatus.ERROR
    assert run.outcome.result is None
    assert run.outcome.error.startswith("the watermark does not fit: after 1 rounds")
    assert "\n" not in run.outcome.error
    assert run.artifacts == {}
    assert works(bench)


def test_an_unforeseen_exception_is_a_failed_attempt_with_its_traceback(bench):
    before = bench.sandbox.ready()
    run = bench.run(replace(bench.job("detection"), inputs={}))
    assert (run.end, run.outcome) == (End.FAILED, None)
    assert run.reason.startswith("Traceback")
    assert "KeyError" in run.reason
    assert works(bench)
    assert bench.sandbox.ready() != before, "the process that raised it is not used again"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_a_process_that_dies_is_a_failed_attempt_and_the_next_job_works(bench, number):
    kill = After(3, lambda: bool(os.kill(bench.sandbox.ready(), number)))
    run = bench.run(bench.job(JobKind.TUNE_FOLD, **ENDLESS), stop=kill)
    assert (run.end, run.outcome) == (End.FAILED, None)
    assert run.reason.startswith("the job's process died")
    assert run.reason.endswith(f"(killed by {number.name})")
    assert works(bench)


def test_a_process_that_died_while_idle_costs_one_attempt(bench):
    os.kill(bench.sandbox.ready(), signal.SIGKILL)
    assert bench.run(bench.job(JobKind.SPLIT)).end is End.FAILED
    assert works(bench)


def test_a_template_that_is_killed_costs_an_attempt_and_the_next_job_gets_another(bench, family):
    def kill_both():
        for pid in family.living():
            os.kill(pid, signal.SIGKILL)
        return False

    own = JobSandbox()
    run = replace(bench, sandbox=own).run
    try:
        own.ready()
        ended = run(bench.job(JobKind.TUNE_FOLD, **ENDLESS), stop=After(4, kill_both))
        assert (ended.end, ended.reason.partition(":")[0]) == (End.FAILED, "the job's process died")
        assert run(bench.job(JobKind.SPLIT)).reason.startswith("the job's process could not be started")
        assert run(bench.job(JobKind.SPLIT)).end is End.FINISHED
    finally:
        own.close()


def test_the_time_limit_strikes_a_busy_job(bench):
    run = bench.run(bench.job(JobKind.TUNE_FOLD, **ENDLESS, limit_s=0.5))
    assert run.end is End.FINISHED
    assert (run.outcome.status, run.outcome.result) == (OutcomeStatus.TIMEOUT, None)
    assert run.outcome.error == "time limit of 0.5 s"
    assert works(bench)


def test_the_memory_limit_strikes_a_busy_job(bench):
    run = bench.run(bench.job(JobKind.TUNE_FOLD, **ENDLESS, memory_mb=20))
    assert run.end is End.FINISHED
    assert (run.outcome.status, run.outcome.result) == (OutcomeStatus.MEMOUT, None)
    assert run.outcome.error == "memory limit of 20 MB"
    assert works(bench)


def test_limits_that_do_not_strike_change_nothing(bench):
    run = bench.run(bench.job(JobKind.SPLIT, limit_s=600.0, memory_mb=100_000))
    assert run.outcome.result == bench.results[JobKind.SPLIT]


def test_stopping_ends_a_busy_job(bench):
    run = bench.run(bench.job(JobKind.TUNE_FOLD, **ENDLESS), stop=After(3, lambda: True))
    assert (run.end, run.outcome, run.reason) == (End.STOPPED, None, "")
    assert works(bench)


@pytest.mark.parametrize("kind", [JobKind.TUNE_FOLD, JobKind.FORGERY])
def test_nothing_is_left_of_a_stopped_and_closed_sandbox(bench, family, kind):
    own = JobSandbox()
    run = replace(bench, sandbox=own).run
    try:
        changes = ENDLESS if kind is JobKind.TUNE_FOLD else {"engine": "z3", "count": 171, "eps": "minimal"}
        assert run(bench.job(kind, **changes), stop=After(4, lambda: True)).end is End.STOPPED
        assert family.living()
    finally:
        own.close()
    assert family.gone()


def test_heartbeats_are_sent_while_the_job_is_busy_and_a_lost_lease_ends_it(bench, monkeypatch):
    monkeypatch.setattr(sandbox, "HEARTBEAT_S", 0.05)
    beats = []

    def heartbeat():
        beats.append(len(beats))
        return len(beats) < 4

    run = bench.run(bench.job(JobKind.TUNE_FOLD, **ENDLESS), heartbeat=heartbeat)
    assert (run.end, run.outcome) == (End.STOPPED, None)
    assert beats == [0, 1, 2, 3]
    assert works(bench)


def test_an_exception_of_a_hook_reaches_the_caller_and_the_next_job_works(bench):
    def lost(_sha256):
        raise OSError("the disk is gone")

    failed = bench.run(replace(bench.job("detection"), inputs={}))
    assert failed.end is End.FAILED, "its process is not used again: with it goes what it kept of artifacts"
    with pytest.raises(OSError, match="the disk is gone"):
        bench.run(bench.job(JobKind.BASELINE), artifact=lost)
    assert works(bench)


# Slices


@pytest.mark.parametrize("engine", ["sat", "z3"])
def test_a_batch_cut_into_slices_ends_as_in_one_run(bench, engine):
    job = bench.job(JobKind.FORGERY, engine=engine)
    whole = bench.run(job)
    answers = bench.take_answers()
    assert (whole.end, whole.outcome.result) == (End.FINISHED, {"instances": 5})
    assert [answer.instance for answer in answers] == list(range(5))
    assert {answer.status for answer in answers} <= {"forged", "impossible"}

    ends, sliced = [], []
    while End.FINISHED not in ends:
        state = ForgeryState(answered=frozenset(answer.instance for answer in sliced))
        run = bench.run(replace(job, state=state), slice_s=0.0)
        ends.append(run.end)
        new = bench.take_answers()
        assert len(new) == 1, "a slice of no time still answers one query: the batch cannot stand still"
        sliced += new
    assert ends == [End.SLICE_OVER] * 4 + [End.FINISHED]
    assert kinds_of(sliced) == kinds_of(answers)
    assert run.outcome.result == whole.outcome.result


def test_a_batch_whose_answers_are_all_there_is_done_at_once(bench):
    state = ForgeryState(answered=frozenset(range(5)))
    run = bench.run(replace(bench.job(JobKind.FORGERY), state=state), slice_s=0.0)
    assert (run.end, run.outcome.result) == (End.FINISHED, {"instances": 5})
    assert bench.take_answers() == []


def test_batches_are_parts_of_one_whole(bench):
    whole = bench.result(JobKind.FORGERY, count=6)
    answers = bench.take_answers()
    parts = [bench.result(JobKind.FORGERY, first=first, count=3) for first in (0, 3)]
    assert kinds_of(bench.take_answers()) == kinds_of(answers)
    assert whole["instances"] == sum(part["instances"] for part in parts)


def test_answers_given_before_a_crash_are_not_lost(bench):
    """Answers leave the job's process within about a second, not only at its end."""
    killed = []

    def kill_after_first_answers():
        if bench.rows and not killed:
            killed.append(bench.sandbox.ready())
            os.kill(killed[0], signal.SIGKILL)
        return False

    job = bench.job(JobKind.FORGERY, engine="z3", count=171, eps="minimal")  # takes many seconds
    run = bench.run(job, stop=kill_after_first_answers)
    assert run.end is End.FAILED
    answers = bench.take_answers()
    assert 0 < len(answers) < 171
    assert [answer.instance for answer in answers] == list(range(len(answers)))


def test_a_query_that_times_out_is_an_answer_not_a_failure(bench):
    result = bench.result(JobKind.FORGERY, engine="z3", timeout_s=1e-9)
    assert result == {"instances": 5}
    answers = bench.take_answers()
    assert [answer.instance for answer in answers] == list(range(5))
    late = [answer for answer in answers if answer.status == "timeout"]
    assert late
    assert all(answer.witness is None and answer.distance is None for answer in late)


def test_a_batch_that_hangs_around_its_queries_is_a_failed_attempt(bench, monkeypatch):
    """Its queries have limits of their own, so the fault is not the query's."""
    monkeypatch.setattr(forging, "_GRACE_S", -179.5)
    run = bench.run(bench.job(JobKind.FORGERY, engine="z3", count=171, eps="minimal"))
    assert (run.end, run.outcome) == (End.FAILED, None)
    assert run.reason == "the job hung: time limit of 0.5 s"
    assert works(bench)


def test_a_batch_that_holds_too_much_memory_is_memout(bench):
    run = bench.run(bench.job(JobKind.FORGERY, memory_mb=20))
    assert (run.end, run.outcome.status) == (End.FINISHED, OutcomeStatus.MEMOUT)
