"""The smallest distance at which an instance can be forged, compared with brute force."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from wm.engines import ForgeryOutcome, ForgeryQuery, Status, solver_class
from wm.engines.encoding import distance, query_box
from wm.engines.isolated import replay_fault
from wm.engines.minimal import MinimalSearch, min_eps
from wm.forest import Forest
from wm.testing import forest_of


class InProcess:
    """An engine without limits whose queries take `seconds` each; after some of them it only times out."""

    name = "search"

    def __init__(self, forest: Forest, gives_up_after: int = 10**9, seconds: float = 0.0) -> None:
        self._forest = forest
        self._solver = solver_class("search")(forest)
        self._gives_up_after = gives_up_after
        self._seconds = seconds
        self.limits: list[float] = []

    def solve(self, query, *, timeout_s, memory_bytes=None) -> ForgeryOutcome:
        self.limits.append(timeout_s)
        if len(self.limits) > self._gives_up_after:
            return ForgeryOutcome(Status.TIMEOUT, None, None, self._seconds, self.name, "time limit")
        witness = self._solver.answer(query).witness
        if witness is None:
            return ForgeryOutcome(Status.IMPOSSIBLE, None, None, self._seconds, self.name)
        assert replay_fault(self._forest, query, witness) is None
        reach = distance(witness, query.centre)
        return ForgeryOutcome(Status.FORGED, witness, reach, self._seconds, self.name)

    def close(self) -> None:
        pass


def stumps(thresholds: list[tuple[int, float, int]], n_features: int) -> Forest:
    """Return a forest of one tree for each (feature, threshold, class of the left leaf)."""
    trees = [(feature, threshold, left, 1 - left) for feature, threshold, left in thresholds]
    return forest_of(trees, n_features=n_features, classes=[0, 1])


def brute_force(forest: Forest, query: ForgeryQuery) -> float | None:
    """Try every corner of every cell near the centre; return the smallest distance."""
    points = []
    for feature, at in enumerate(query.centre):
        cuts = np.float32(forest.threshold[forest.feature == feature])
        cuts = np.where(
            cuts > forest.threshold[forest.feature == feature], np.nextafter(cuts, -np.float32(9)), cuts
        )
        near = np.concatenate([cuts, np.nextafter(cuts, np.float32(9)), [np.clip(np.float32(at), 0, 1)]])
        points.append([value for value in np.unique(near.astype(np.float32)) if 0 <= value <= 1])
    best = None
    for point in itertools.product(*points):
        wrong = forest.votes(np.array([point], dtype=np.float32))[0] != query.label
        if (wrong == (query.signature == 1)).all():
            away = float(min_eps(np.array(point, dtype=np.float32), query.centre).max())
            best = away if best is None else min(best, away)
    return best if best is not None and best <= query.eps else None


@examples(60)
@given(data=st.data())
def test_the_minimal_distance_is_that_of_brute_force(data):
    d = data.draw(st.integers(1, 3))
    unit = st.floats(0.015625, 0.984375, width=32)
    trees = data.draw(
        st.lists(st.tuples(st.integers(0, d - 1), unit, st.integers(0, 1)), min_size=1, max_size=4)
    )
    forest = stumps(trees, d)
    query = ForgeryQuery(
        signature=data.draw(st.lists(st.integers(0, 1), min_size=len(trees), max_size=len(trees))),
        label=data.draw(st.integers(0, 1)),
        centre=data.draw(st.lists(st.floats(0, 1, width=32), min_size=d, max_size=d)),
        eps=data.draw(st.sampled_from([0.05, 0.3, 1.0])),
    )
    found = MinimalSearch(forest, InProcess(forest)).find(query, timeout_s=60)
    expected = brute_force(forest, query)
    assert found.distance == expected
    if expected is None:
        assert (found.status, found.witness, found.impossible_at) == (Status.IMPOSSIBLE, None, query.eps)
    else:
        assert found.status is Status.FORGED
        assert found.impossible_at < expected
        assert replay_fault(forest, replace(query, eps=expected), found.witness) is None


@given(point=st.floats(0, 1, width=32), centre=st.floats(-1, 2))
def test_min_eps_is_the_smallest_whose_box_holds_the_point(point, centre):
    eps = float(min_eps(np.array([point], dtype=np.float32), np.array([centre]))[0])
    exact = abs(Fraction(point) - Fraction(centre))
    assert Fraction(eps) >= exact
    assert eps == 0 or Fraction(float(np.nextafter(eps, 0))) < exact
    lower, upper = query_box(np.array([centre]), eps)
    assert lower[0] <= np.float32(point) <= upper[0]


def test_only_solving_time_counts(realistic_forest, many_queries):
    """The first query may wait for the start of the engine, which leaves the limit of the others alone."""
    counts = []
    for query in many_queries:
        engine = InProcess(realistic_forest, seconds=0.25)
        found = MinimalSearch(realistic_forest, engine).find(query, timeout_s=50)
        left = [50 - 0.25 * number for number in range(found.queries)]
        assert engine.limits in (left, [left[0] / 4, *left[1:]])
        assert found.seconds == 0.25 * found.queries
        counts.append(found.queries)
    assert max(counts) > 2


def test_what_was_asked_before_changes_no_answer(realistic_forest, many_queries):
    queries = [replace(query, eps=eps) for query in many_queries for eps in (0.05, 1.0)]
    kept = MinimalSearch(realistic_forest, InProcess(realistic_forest))
    statuses = set()
    for query in queries * 2:
        alone = MinimalSearch(realistic_forest, InProcess(realistic_forest)).find(query, timeout_s=60)
        found = kept.find(query, timeout_s=60)
        assert (found.status, found.distance) == (alone.status, alone.distance)
        assert (found.impossible_at, found.forged_at) == (alone.impossible_at, alone.forged_at)
        np.testing.assert_equal(found.witness, alone.witness)
        statuses.add(found.status)
    assert statuses == {Status.FORGED, Status.IMPOSSIBLE}


class SlowAtFirst(InProcess):
    """An engine that reaches the limit of the first query, as if it were the hardest."""

    def solve(self, query, *, timeout_s, memory_bytes=None) -> ForgeryOutcome:
        if not self.limits:
            self.limits.append(timeout_s)
            return ForgeryOutcome(Status.TIMEOUT, None, None, timeout_s, self.name, "time limit")
        return super().solve(query, timeout_s=timeout_s, memory_bytes=memory_bytes)


def test_a_first_question_that_is_too_hard_leaves_time_for_the_others(realistic_forest, many_queries):
    asked = 0
    for query in many_queries:
        whole = MinimalSearch(realistic_forest, InProcess(realistic_forest)).find(query, timeout_s=60)
        engine = SlowAtFirst(realistic_forest)
        found = MinimalSearch(realistic_forest, engine).find(query, timeout_s=60)
        if engine.limits[0] == 15:
            asked += 1
            assert (found.status, found.distance) == (whole.status, whole.distance)
            assert engine.limits[1] == 45
    assert asked


def test_a_limit_leaves_a_bracket():
    forest = stumps([(0, 0.1 * step, 0) for step in range(1, 10)], 1)
    signature = [1] * 7 + [0, 0]  # right of 0.7, left of 0.8
    query = ForgeryQuery(signature=signature, label=0, centre=[0.05], eps=1.0)
    whole = MinimalSearch(forest, InProcess(forest)).find(query, timeout_s=60)
    assert whole.distance == pytest.approx(0.65)
    cut = MinimalSearch(forest, InProcess(forest, gives_up_after=1)).find(query, timeout_s=60)
    assert (cut.status, cut.distance) in [(Status.TIMEOUT, None), (Status.FORGED, whole.distance)]
    assert cut.impossible_at < whole.distance <= cut.forged_at
    none = MinimalSearch(forest, InProcess(forest, gives_up_after=0)).find(query, timeout_s=60)
    assert (none.status, none.distance, none.forged_at) == (Status.TIMEOUT, None, None)
    assert none.impossible_at == -1.0
