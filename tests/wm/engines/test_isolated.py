"""The outcome of an engine for everything that its child process may do."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import pkgutil
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest

from wm.engines import Answer, ForgeryQuery, Status
from wm.engines.isolated import IsolatedEngine, prepare, replay_fault, serve
from wm.engines.protocol import OutOfResourcesError
from wm.engines.search import compile_kernel
from wm.isolation import ChildError, ChildKilledError, SuspendedError

QUERY = ForgeryQuery(signature=[0, 1], label=1, centre=[0.4, 0.25, 0.5], eps=0.05)
GOOD = np.array([0.4, 0.25, 0.5], dtype=np.float32)


class FakeSandbox:
    """Child processes that each give one answer or fail in one way; the last one is repeated."""

    suspended_s = 0.0

    def __init__(self, *results):
        self.left = list(results)

    def ready(self):
        pass

    def close(self):
        pass

    def ask(self, message, *, timeout_s, memory_bytes):
        assert (message, timeout_s, memory_bytes) == (QUERY, 2, 1000)
        result = self.left.pop(0) if len(self.left) > 1 else self.left[0]
        if isinstance(result, Exception) and not isinstance(result, OutOfResourcesError):
            raise result
        return result


def outcome_of(monkeypatch, forest, *results):
    monkeypatch.setattr("wm.engines.isolated.Sandbox", lambda *_: FakeSandbox(*results))
    with IsolatedEngine("sat", forest) as engine:
        return engine.solve(QUERY, timeout_s=2, memory_bytes=1000)


@pytest.mark.parametrize(
    ("result", "status", "reason"),
    [
        (Answer(GOOD), Status.FORGED, "solver"),
        (Answer(None, "empty box"), Status.IMPOSSIBLE, "empty box"),
        (TimeoutError(), Status.TIMEOUT, "time limit of 2 s"),
        (SuspendedError(), Status.TIMEOUT, "time limit of 2 s"),
        (MemoryError(), Status.MEMOUT, "memory limit of 1000 bytes"),
        (OutOfResourcesError(Status.TIMEOUT, "canceled"), Status.TIMEOUT, "canceled"),
        (OutOfResourcesError(Status.MEMOUT, "too much"), Status.MEMOUT, "too much"),
        (OutOfResourcesError(Status.ERROR, "unknown"), Status.ERROR, "unknown"),
        (ChildError("the child process died"), Status.ERROR, "the child process died"),
        (ChildKilledError("SIGKILL"), Status.ERROR, "its process was killed twice: SIGKILL"),
        ("Traceback: ValueError", Status.ERROR, "Traceback: ValueError"),
        (Answer(GOOD + np.float32(0.125)), Status.ERROR, "the witness lies outside its box"),
        (Answer(GOOD[:2]), Status.ERROR, "the witness has type float32 and shape (2,)"),
        (Answer(GOOD.astype(np.float64)), Status.ERROR, "the witness has type float64 and shape (3,)"),
        (
            Answer(np.full(3, np.nan, dtype=np.float32)),
            Status.ERROR,
            "the witness has or lacks a value against the query",
        ),
    ],
)
def test_each_result_of_the_child_has_its_status(monkeypatch, figure_1, result, status, reason):
    outcome = outcome_of(monkeypatch, figure_1, result)
    assert outcome.status is status
    assert outcome.reason == reason
    assert outcome.engine == "sat"
    assert outcome.seconds >= 0
    forged = status is Status.FORGED
    assert (outcome.witness is not None) == forged
    assert (outcome.distance is not None) == forged


def test_what_is_impossible_for_float32_numbers_is_named_for_float64_forests(monkeypatch, figure_1):
    wide = replace(figure_1, input_dtype="float64")
    assert outcome_of(monkeypatch, wide, Answer(None)).reason == "solver, on the float32 grid"
    assert outcome_of(monkeypatch, wide, Answer(GOOD)).reason == "solver"


@pytest.mark.parametrize(
    ("second", "status", "reason"),
    [
        (Answer(GOOD), Status.FORGED, "solver"),
        (TimeoutError(), Status.TIMEOUT, "time limit of 2 s"),
        (ChildError("exit code 3"), Status.ERROR, "exit code 3"),
    ],
)
@pytest.mark.parametrize("first", [ChildKilledError("SIGKILL"), SuspendedError()])
def test_a_query_whose_process_is_killed_or_was_suspended_gets_the_outcome_of_the_next_process(
    monkeypatch, figure_1, first, second, status, reason
):
    outcome = outcome_of(monkeypatch, figure_1, first, second)
    assert (outcome.status, outcome.reason) == (status, reason)


def test_a_query_whose_process_exits_is_not_repeated(monkeypatch, figure_1):
    outcome = outcome_of(monkeypatch, figure_1, ChildError("exit code 3"), Answer(GOOD))
    assert (outcome.status, outcome.reason) == (Status.ERROR, "exit code 3")


def test_without_a_process_for_the_second_attempt_there_is_no_outcome(monkeypatch, figure_1):
    """The template is dead: a fault of the machine, not of the query."""
    sandbox = FakeSandbox(ChildKilledError("SIGKILL"))

    def ready():
        if calls.pop():
            raise ChildError("it could not be started")

    calls = [True, False]
    monkeypatch.setattr(sandbox, "ready", ready)
    monkeypatch.setattr("wm.engines.isolated.Sandbox", lambda *_: sandbox)
    with IsolatedEngine("sat", figure_1) as engine, pytest.raises(ChildError, match="could not be started"):
        engine.solve(QUERY, timeout_s=2, memory_bytes=1000)


def test_a_query_that_crashes_two_processes_is_an_error_and_the_next_is_answered(
    figure_1, monkeypatch, tmp_path
):
    """A real solver that crashes its process over one query, as a fault in C code would."""
    (tmp_path / "sitecustomize.py").write_text(POISON)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    poison = ForgeryQuery(signature=[0, 1], label=1, centre=[0.4, 0.25, 0.5], eps=0.0625)
    with IsolatedEngine("sat", figure_1) as engine:
        outcome = engine.solve(poison, timeout_s=60)
        assert outcome.status is Status.ERROR
        assert outcome.reason.startswith("its process was killed twice: ")
        assert outcome.reason.endswith("(killed by SIGABRT)")
        assert engine.solve(QUERY, timeout_s=60).status is Status.FORGED


def test_killed_processes_do_not_change_the_answers(figure_1):
    with IsolatedEngine("sat", figure_1) as engine:
        undisturbed = engine.solve(QUERY, timeout_s=60)
        for _ in range(3):
            os.kill(engine.child_pid, signal.SIGKILL)
            outcome = engine.solve(QUERY, timeout_s=60)
            assert outcome.status is undisturbed.status is Status.FORGED
            assert (outcome.distance, outcome.reason) == (undisturbed.distance, undisturbed.reason)
            assert (outcome.witness == undisturbed.witness).all()


COMPILED = {
    "wm.engines.walk_kernel.box_around",
    "wm.engines.walk_kernel.lay_out",
    "wm.engines.search.clip_into",
    "wm.engines.search_kernel.search",
    "wm.engines.walk_kernel.shrink",
}


@pytest.mark.parametrize("name", ["search", "portfolio"])
def test_a_child_has_its_kernels_compiled_before_the_first_clock_starts(
    monkeypatch, realistic_forest, many_queries, name
):
    """The preparation calls each of them, with the types of arrays that the queries have."""
    kernels = {path: pkgutil.resolve_name(path) for path in COMPILED}
    called = set()

    def recording(path):
        def call(*arguments):
            called.add(path)
            return kernels[path](*arguments)

        return call

    compile_kernel.cache_clear()
    with monkeypatch.context() as patch:
        for path in COMPILED:
            patch.setattr(path, recording(path))
        solver = prepare(name, realistic_forest.to_bytes(), {})
    assert called == COMPILED
    compiled = {path: kernel.signatures for path, kernel in kernels.items()}
    unpickled = pickle.loads(pickle.dumps(many_queries))  # noqa: S301 - our own; its arrays are writable
    for query in (*many_queries, *unpickled):
        solver.answer(query)
    assert {path: kernel.signatures for path, kernel in kernels.items()} == compiled


def test_a_witness_must_replay_on_the_original_model(monkeypatch, figure_1):
    # Within the box, but x1 > .3 changes the vote of the first tree.
    wrong = np.array([0.4, 0.3 - 1e-6, 0.5], dtype=np.float32)
    assert replay_fault(figure_1, QUERY, wrong) is None
    turned = wrong + np.array([0, 2e-6, 0], dtype=np.float32)
    query = ForgeryQuery(signature=[0, 1], label=1, centre=turned, eps=0.001)
    assert replay_fault(figure_1, query, turned) == "the witness does not replay: 1 trees vote otherwise"
    below = np.array([0.1, 0.25, 0.5], dtype=np.float32)
    query = ForgeryQuery(signature=[1, 0], label=1, centre=below, eps=0.001)
    assert replay_fault(figure_1, query, below) == "the witness does not replay: 1 trees vote otherwise"
    monkeypatch.setattr("wm.engines.isolated.query_box", lambda *_: (np.zeros(3), np.ones(3)))
    outcome = outcome_of(monkeypatch, figure_1, Answer(np.ones(3, dtype=np.float32)))
    assert outcome.status is Status.ERROR
    assert outcome.reason == "the witness does not replay: 1 trees vote otherwise"


POISON = """
import os, sys

if "wm.engines.isolated" in sys.orig_argv:
    import wm.engines.sat

    answer = wm.engines.sat.SatSolver.answer

    def poisoned(self, query):
        if query.eps == 0.0625:
            os.abort()
        return answer(self, query)

    wm.engines.sat.SatSolver.answer = poisoned
"""
"""Python runs a module of this name in every process that finds it."""


class FailingSolver:
    """Raises its query."""

    def answer(self, query):
        raise query


def test_the_child_reports_each_failure_and_continues():
    ours, theirs = multiprocessing.Pipe()
    server = threading.Thread(target=serve, args=(theirs, FailingSolver()), daemon=True)
    server.start()

    def reply(failure):
        ours.send(failure)
        assert ours.poll(20), "the child is silent"
        return ours.recv()

    try:
        gave_up = reply(OutOfResourcesError(Status.TIMEOUT, "canceled"))
        exhausted = reply(MemoryError())
        failed = reply(ZeroDivisionError("by zero"))
    finally:
        ours.close()
        server.join(20)
        theirs.close()
    assert not server.is_alive()
    assert (gave_up.status, str(gave_up)) == (Status.TIMEOUT, "canceled")
    assert (exhausted.status, str(exhausted)) == (Status.MEMOUT, "the solver ran out of memory")
    assert failed.rstrip().endswith("ZeroDivisionError: by zero")
