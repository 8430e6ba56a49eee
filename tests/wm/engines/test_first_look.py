"""What a first look settles is answered without a child process, as the child would have answered."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from wm import engines
from wm.engines import Answer, ForgeryQuery, Status, first_look
from wm.engines.first_look import FirstLook
from wm.engines.isolated import LOOK_TIMEOUT_S, IsolatedEngine
from wm.engines.portfolio import PortfolioSolver
from wm.forest import Forest


@pytest.fixture
def no_choices(monkeypatch):
    """Looks settle only what needs no choice of a leaf."""
    monkeypatch.setattr(first_look, "SMALL_FOREST", 0)
    monkeypatch.setattr(first_look, "QUICK_WORK", 0)


def test_easy_queries_are_answered_as_by_the_solver_and_start_no_process(realistic_forest, many_queries):
    solver = PortfolioSolver(realistic_forest)
    statuses = set()
    with engines.create("portfolio", realistic_forest) as engine:
        for query in many_queries:
            found, expected = engine.solve(query, timeout_s=60), solver.answer(query)
            assert (found.witness is None) == (expected.witness is None)
            if found.witness is not None:
                np.testing.assert_array_equal(found.witness, expected.witness)
            statuses.add(found.status)
        assert engine.child_pid is None
    assert statuses == {Status.FORGED, Status.IMPOSSIBLE}


def test_what_a_look_leaves_open_is_answered_in_the_child(realistic_forest, many_queries, no_choices):
    look, left_open = FirstLook(realistic_forest), 0
    with (
        engines.create("portfolio", realistic_forest) as engine,
        engines.create("search", realistic_forest) as other,
    ):
        for query in many_queries[:40]:
            left_open += look.answer(query) is None
            found, expected = engine.solve(query, timeout_s=60), other.solve(query, timeout_s=60)
            assert found.status is expected.status
        assert left_open
        assert engine.child_pid is not None


def test_after_several_looks_in_vain_few_queries_are_looked_at(realistic_forest, many_queries, no_choices):
    look = FirstLook(realistic_forest)
    hard = next(query for query in many_queries if look.answer(query) is None)
    looked = []
    look.look = lambda query: looked.append(query) or first_look.Open(query, None, None, None)
    for _ in range(20):
        assert look.answer(hard) is None
    assert first_look.PATIENCE <= len(looked) <= first_look.PATIENCE + 20 // first_look.PATIENCE
    look.look = lambda query: Answer(None)
    settled = [look.answer(hard) is not None for _ in range(2 * first_look.PATIENCE)]
    first = settled.index(True)
    assert all(settled[first:]), "one that is settled brings the looks back"


class Refusing:
    """A look that nothing may be asked of."""

    def answer(self, query):
        raise AssertionError("limits are enforced in the child only")


@pytest.mark.parametrize("limits", [{"timeout_s": LOOK_TIMEOUT_S / 2}, {"memory_bytes": 2**32}])
def test_queries_with_tight_limits_go_to_the_child(realistic_forest, many_queries, limits):
    with engines.create("portfolio", realistic_forest) as engine:
        assert engine.solve(many_queries[0], timeout_s=60).status in (Status.FORGED, Status.IMPOSSIBLE)
        assert engine.child_pid is None
        engine._look = Refusing()
        engine.solve(many_queries[0], **({"timeout_s": 60} | limits))
        assert engine.child_pid is not None


def test_the_time_of_a_look_counts_against_the_limit(monkeypatch, realistic_forest, many_queries):
    given = []

    class Child:
        suspended_s = 0.0

        def ready(self):
            pass

        def ask(self, message, *, timeout_s, memory_bytes):
            given.append(timeout_s)
            raise TimeoutError

        def close(self):
            pass

    now = iter(float(second) for second in range(100))
    monkeypatch.setattr("wm.engines.isolated.Sandbox", lambda *_: Child())
    monkeypatch.setattr("wm.engines.isolated.time.perf_counter", lambda: next(now))
    with IsolatedEngine("portfolio", realistic_forest) as engine:
        engine._look.answer = lambda query: None
        found = engine.solve(many_queries[0], timeout_s=60)
    assert given == [59.0]
    assert (found.status, found.reason, found.seconds) == (Status.TIMEOUT, "time limit of 60 s", 2.0)


def test_a_look_that_fails_is_left_to_the_child_to_report(realistic_forest, many_queries):
    with engines.create("portfolio", realistic_forest) as engine:
        expected = engine.solve(many_queries[0], timeout_s=60)
        engine._look = Refusing()
        found = engine.solve(many_queries[0], timeout_s=60)
    assert found.status is expected.status


def test_large_forests_are_prepared_in_the_child_only(monkeypatch, realistic_forest, many_queries):
    monkeypatch.setattr(first_look, "LARGEST_FOREST", 10)
    with engines.create("portfolio", realistic_forest) as engine:
        assert engine._look is None
        engine.solve(many_queries[0], timeout_s=60)
        assert engine.child_pid is not None


def test_a_global_proof_of_a_look_answers_later_queries():
    """Two equal trees never vote differently."""
    twins = Forest.from_arrays(
        offset=[0, 3, 6],
        left=[1, -1, -1] * 2,
        right=[2, -1, -1] * 2,
        feature=[0, -1, -1] * 2,
        threshold=[0.5, 0.0, 0.0] * 2,
        value=[[1, 1], [1, 0], [0, 1]] * 2,
        n_features=1,
        classes=[0, 1],
    )
    query = ForgeryQuery(signature=[0, 1], label=1, centre=[0.4], eps=0.2)
    with engines.create("portfolio", twins) as engine:
        found = engine.solve(query, timeout_s=60)
        assert (found.status, found.reason) == (Status.IMPOSSIBLE, "whole domain")
        engine._look = Refusing()
        found = engine.solve(replace(query, centre=[0.6]), timeout_s=60)
        assert engine.child_pid is None
    assert (found.status, found.reason) == (Status.IMPOSSIBLE, "whole domain")


@pytest.mark.parametrize(
    ("words", "most"), [(0, 20_000), (1, 20_000), (100, 20_000), (500, 4_000), (10**7, 1)]
)
def test_a_look_is_bounded_in_small_forests_and_large_ones(words, most):
    """Where a choice is a few words its time is that of the trees."""
    assert first_look.quick_choices(SimpleNamespace(words=words)) == most
