"""Missing values, whole numbers and one-hot groups: engines agree with brute force over all cells."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from wm import engines
from wm.engines import ForgeryQuery, Status, solver_class
from wm.engines.encoding import query_box
from wm.engines.isolated import replay_fault
from wm.engines.meaning import Meaning
from wm.engines.minimal import MinimalSearch
from wm.errors import QueryError
from wm.forest import Forest
from wm.testing import forest_of, random_forest, random_query, wanted_votes

GRID = np.linspace(0, 1, 5, dtype=np.float32)


def with_directions(forest, rng):
    return forest.changed(missing_left=rng.random(len(forest.left)) < 0.5)


def random_meaning(forest, rng):
    """Rules that leave some features free; two or three of them may be a one-hot group."""
    d = forest.n_features
    values, groups = [None] * d, ()
    for feature in range(d):
        if rng.random() < 0.4:
            values[feature] = np.sort(rng.choice(GRID, size=rng.integers(1, 5), replace=False))
    may_miss = rng.random(d) < 0.5
    if d > 1 and rng.random() < 0.5:
        members = rng.permutation(d)[: rng.integers(2, d + 1)].tolist()
        group = []
        for feature in members:
            kind = rng.choice(["both", "cold", "hot"], p=[0.8, 0.1, 0.1])
            values[feature] = np.array({"both": [0, 1], "cold": [0], "hot": [0]}[kind], dtype=np.float32)
            group.append((feature, {"both": 1.0, "cold": None, "hot": 0.0}[kind]))
        may_miss[members] = False
        groups = (tuple(group),)
    return Meaning(may_miss, tuple(values), groups)


def candidates(forest, query):
    """For each feature the values that can make a difference: one in each cell of the box, and NaN."""
    meaning = query.meaning
    lower, upper = query_box(query.centre, query.eps)
    for feature in range(forest.n_features):
        z = query.centre[feature]
        found = []
        if not np.isnan(z) and lower[feature] <= upper[feature]:
            permitted = None if meaning is None else meaning.values[feature]
            if permitted is None:
                found = [lower[feature]]
                for threshold in forest.threshold[forest.feature == feature]:
                    with np.errstate(over="ignore"):
                        above = np.float32(threshold)
                        if above <= threshold:
                            above = np.nextafter(above, np.float32(np.inf))
                    if lower[feature] < above <= upper[feature]:
                        found.append(above)
            else:
                found = [each for each in permitted if lower[feature] <= each <= upper[feature]]
        if np.isnan(z) or (meaning is not None and meaning.may_miss[feature]):
            found = [*found, np.float32(np.nan)]
        yield sorted(set(found), key=lambda each: (np.isnan(each), each))[:40]


def forgeable(forest, query):
    points = np.array(list(itertools.product(*candidates(forest, query))), dtype=np.float32)
    points = points.reshape(-1, forest.n_features)
    if query.meaning is not None:
        points = np.array([row for row in points if query.meaning.fault(row) is None]).reshape(
            -1, forest.n_features
        )
    return bool(len(points)) and bool(wanted_votes(forest, points, query).any())


def cases(seed):
    rng = np.random.default_rng(seed)
    forest = with_directions(random_forest(rng), rng)
    if forest.n_features > 5:
        return
    for _ in range(4):
        query, _ = random_query(rng, forest)
        centre = np.where(rng.random(forest.n_features) < 0.2, np.nan, query.centre)
        meaning = random_meaning(forest, rng) if rng.random() < 0.8 else None
        asked = {"label": query.label, "centre": centre, "eps": query.eps, "meaning": meaning}
        signature = query.signature
        options = list(candidates(forest, ForgeryQuery(signature=signature, **asked)))
        if rng.random() < 0.7 and all(options):  # votes that some row draws, perhaps one that the rules allow
            for _ in range(8):
                row = np.array([rng.choice(each) for each in options], dtype=np.float32)
                if meaning is None or meaning.fault(row) is None:
                    break
            signature = (forest.votes(row[None])[0] != query.label).astype(int)
        yield forest, ForgeryQuery(signature=signature, **asked)


@pytest.mark.parametrize("engine", ["sat", "portfolio"])
@given(st.integers(0, 2**32))
@examples(120)
def test_engines_agree_with_brute_force(engine, seed):
    for forest, query in cases(seed):
        if not query.is_constrained:
            continue
        answer = solver_class(engine)(forest).answer(query)
        assert (answer.witness is not None) == forgeable(forest, query)
        if answer.witness is not None:
            assert replay_fault(forest, query, answer.witness) is None


def test_the_cases_reach_both_answers_and_all_rules():
    seen = []
    for seed in range(60):
        for forest, query in cases(seed):
            answer = solver_class("sat")(forest).answer(query)
            missing = answer.witness is not None and bool(np.isnan(answer.witness).any())
            grouped = query.meaning is not None and bool(query.meaning.groups)
            seen.append((answer.witness is not None, missing, grouped, answer.reason))
    forged, missing, grouped, reasons = map(np.array, zip(*seen, strict=True))
    assert min(forged.sum(), (~forged).sum(), (forged & grouped).sum(), (~forged & grouped).sum()) > 10
    assert missing.sum() > 10
    assert {"solver", "no leaf", "empty box"} <= set(reasons.tolist())


@given(st.integers(0, 2**32))
@examples(25)
def test_least_distances_are_least(seed):
    class Direct:
        """An engine in this process."""

        def __init__(self, forest):
            self._forest, self._solver, self.name = forest, solver_class("sat")(forest), "sat"

        def solve(self, query, *, timeout_s, memory_bytes=None):
            answer = self._solver.answer(query)
            status = Status.IMPOSSIBLE if answer.witness is None else Status.FORGED
            return engines.ForgeryOutcome(status, answer.witness, None, 0.0, self.name, answer.reason)

    for forest, query in cases(seed):
        found = MinimalSearch(forest, Direct(forest)).find(query, timeout_s=60)
        assert (found.status is Status.FORGED) == forgeable(forest, query)
        if found.distance is not None:
            assert found.distance <= query.eps
            assert forgeable(forest, replace(query, eps=found.distance))
            if found.distance > 0:
                below = float(np.nextafter(found.distance, 0))
                assert not forgeable(forest, replace(query, eps=below))


FOREST = forest_of([(0, 0.5, 0, 1), (1, 0.5, 1, 0)], n_features=2, classes=[0, 1]).changed(
    missing_left=[True, False, False] * 2
)


def test_a_missing_value_reaches_what_no_value_near_does():
    asked = {"signature": [0, 0], "label": 0, "centre": [0.9, 0.1], "eps": 0.1}
    with engines.create("portfolio", FOREST) as engine:
        assert engine.solve(ForgeryQuery(**asked), timeout_s=60).status is Status.IMPOSSIBLE
        free = ForgeryQuery(**asked, meaning=Meaning.of_missing([True, False]))
        assert engine.solve(free, timeout_s=60).status is Status.IMPOSSIBLE
        outcome = engine.solve(
            ForgeryQuery(**asked | {"centre": [0.9, 0.45]}, meaning=Meaning.of_missing([True, True])),
            timeout_s=60,
        )
        assert outcome.status is Status.FORGED
        assert np.isnan(outcome.witness[0])
        assert outcome.witness[1] == np.nextafter(np.float32(0.5), np.float32(1))
        assert outcome.distance == pytest.approx(0.05, abs=1e-6)


def test_what_does_not_fit_is_refused():
    missing = {"signature": [0, 0], "label": 0, "centre": [np.nan, 0.1], "eps": 0.1}
    with engines.create("search", FOREST) as engine, pytest.raises(QueryError, match="take portfolio or sat"):
        engine.solve(ForgeryQuery(**missing), timeout_s=60)
    plain = Forest.from_arrays(
        **{
            name: getattr(FOREST, name)
            for name in ("offset", "left", "right", "feature", "threshold", "value")
        },
        n_features=2,
        classes=[0, 1],
    )
    with engines.create("sat", plain) as engine, pytest.raises(QueryError, match="where missing values go"):
        engine.solve(ForgeryQuery(**missing), timeout_s=60)
    with engines.create("sat", FOREST) as engine, pytest.raises(QueryError, match="of 3 features"):
        engine.solve(ForgeryQuery(**missing, meaning=Meaning.of_missing([True] * 3)), timeout_s=60)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"may_miss": [False], "values": (None, None)}, "values are given for 2 features"),
        ({"may_miss": [False], "values": ([1, 0],)}, "ascending"),
        ({"may_miss": [False], "values": ([],)}, "0 values"),
        (
            {"may_miss": [False] * 2, "values": ([0, 1], None), "groups": (((0, 1.0), (1, 1.0)),)},
            "one or two values",
        ),
        ({"may_miss": [True] * 2, "values": ([0, 1],) * 2, "groups": (((0, 1.0), (1, 1.0)),)}, "never NaN"),
        (
            {"may_miss": [False] * 2, "values": ([0, 1],) * 2, "groups": (((0, 0.0), (1, 1.0)),)},
            "largest value only",
        ),
        ({"may_miss": [False] * 2, "values": ([0, 1],) * 2, "groups": (((0, 1.0), (0, 1.0)),)}, "twice"),
    ],
)
def test_rules_that_are_none(rules, message):
    values = tuple(None if each is None else np.array(each, dtype=np.float32) for each in rules["values"])
    with pytest.raises(QueryError, match=message):
        Meaning(np.array(rules["may_miss"]), values, rules.get("groups", ()))


def test_a_centre_may_miss_values_but_not_be_infinite():
    asked = ForgeryQuery(signature=[0, 0], label=0, centre=[np.nan, 0.1], eps=0.1)
    assert asked.is_constrained
    assert not replace(asked, centre=[0.2, 0.1]).is_constrained
    with pytest.raises(QueryError, match="finite numbers, or NaN"):
        replace(asked, centre=[np.inf, 0.1])
