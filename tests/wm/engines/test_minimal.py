"""The least distance at which an instance can be forged, against brute force over all that matter."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wm.engines import ForgeryOutcome, ForgeryQuery, Status, solver_class
from wm.engines.encoding import distance, query_box
from wm.engines.isolated import replay_fault
from wm.engines.minimal import MinimalSearch, least_eps
from wm.forest import Forest


class InProcess:
    """An engine without limits that counts its queries; `gives_up_after` of them it only says timeout."""

    name = "search"

    def __init__(self, forest: Forest, gives_up_after: int = 10**9) -> None:
        self._forest = forest
        self._solver = solver_class("search")(forest)
        self._left = gives_up_after

    def solve(self, query, *, timeout_s, memory_bytes=None) -> ForgeryOutcome:
        self._left -= 1
        if self._left < 0:
            return ForgeryOutcome(Status.TIMEOUT, None, None, 0.0, self.name, "time limit")
        witness = self._solver.answer(query).witness
        if witness is None:
            return ForgeryOutcome(Status.IMPOSSIBLE, None, None, 0.0, self.name)
        assert replay_fault(self._forest, query, witness) is None
        return ForgeryOutcome(Status.FORGED, witness, distance(witness, query.centre), 0.0, self.name)

    def close(self) -> None:
        pass


def stumps(thresholds: list[tuple[int, float, int]], n_features: int) -> Forest:
    """One tree for each (feature, threshold, class of the left leaf)."""
    m = len(thresholds)
    value = [[[1, 1], *([[1, 0], [0, 1]] if left == 0 else [[0, 1], [1, 0]])] for _, _, left in thresholds]
    return Forest.from_arrays(
        offset=np.arange(m + 1) * 3,
        left=[1, -1, -1] * m,
        right=[2, -1, -1] * m,
        feature=[part for feature, _, _ in thresholds for part in (feature, -1, -1)],
        threshold=[part for _, threshold, _ in thresholds for part in (threshold, 0.0, 0.0)],
        value=np.concatenate(value),
        n_features=n_features,
        classes=[0, 1],
    )


def brute_force(forest: Forest, query: ForgeryQuery) -> float | None:
    """Try every corner of every cell near the centre, and take the least distance."""
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
            away = float(least_eps(np.array(point, dtype=np.float32), query.centre).max())
            best = away if best is None else min(best, away)
    return best if best is not None and best <= query.eps else None


@settings(max_examples=60)
@given(data=st.data())
def test_the_least_distance_is_that_of_brute_force(data):
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
        at = ForgeryQuery(signature=query.signature, label=query.label, centre=query.centre, eps=expected)
        assert replay_fault(forest, at, found.witness) is None


@given(
    point=st.floats(0, 1, width=32),
    centre=st.floats(-1, 2),
)
def test_least_eps_is_the_smallest_whose_box_holds_the_point(point, centre):
    eps = float(least_eps(np.array([point], dtype=np.float32), np.array([centre]))[0])
    exact = abs(Fraction(point) - Fraction(centre))
    assert Fraction(eps) >= exact
    assert eps == 0 or Fraction(float(np.nextafter(eps, 0))) < exact
    lower, upper = query_box(np.array([centre]), eps)
    assert lower[0] <= np.float32(point) <= upper[0]


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
    assert (none.status, none.distance, none.forged_at, none.impossible_at) == (
        Status.TIMEOUT,
        None,
        None,
        -1.0,
    )
