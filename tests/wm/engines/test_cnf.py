"""The Boolean form: its numbering of tests, and what a query assumes."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.strategies import forgery_queries, small_forests
from wm.engines.cnf import decode_keys, encode, encode_keys, whole_forest
from wm.engines.encoding import build_problem, leaf_bounds

tests = st.tuples(st.integers(0, 1000), st.floats(allow_nan=False, width=32))


@given(pairs=st.lists(tests, min_size=1, max_size=20))
def test_keys_order_tests_by_feature_and_threshold(pairs):
    feature = np.array([f for f, _ in pairs])
    threshold = np.array([t for _, t in pairs], dtype=np.float32)
    keys = encode_keys(feature, threshold)
    order = sorted(range(len(pairs)), key=lambda i: pairs[i])
    assert (np.diff(keys[order]) >= 0).all()
    for i, j in itertools.pairwise(order):
        assert (keys[i] == keys[j]) == (pairs[i] == pairs[j])
    back_feature, back_threshold = decode_keys(keys)
    assert np.array_equal(back_feature, feature)
    assert np.array_equal(back_threshold, threshold)  # -0.0 equals 0.0


def holds(literal, truth):
    return truth[abs(literal) - 1] == (literal > 0)


@examples(100)
@given(data=st.data())
def test_both_forms_are_true_of_a_point_iff_it_answers_the_query(data):
    forest = data.draw(small_forests())
    bounds = leaf_bounds(forest)
    query = data.draw(forgery_queries(forest))
    problem = build_problem(forest, bounds, query)
    if problem.trivial_reason == "empty box":
        return
    whole = whole_forest(forest, bounds)
    assumed = whole.assumptions(query, problem.lower, problem.upper)
    n_thresholds = len(whole.encoding.feature)
    box = [literal for literal in assumed if abs(literal) <= n_thresholds]
    assert len(box) <= 2 * forest.n_features
    pruned = encode(bounds, problem.unwanted, problem.lower, problem.upper)
    share = np.array(
        data.draw(st.lists(st.floats(0, 1), min_size=forest.n_features, max_size=forest.n_features))
    )
    point = (problem.lower + share * (problem.upper - problem.lower)).astype(np.float32)
    point = np.clip(point, problem.lower, problem.upper)
    agrees = ((forest.votes(point[None])[0] == query.label) == (query.signature == 0)).all()

    thresholds = point[whole.encoding.feature] <= whole.encoding.threshold
    votes = forest.votes(point[None])[0][:, None] == forest.classes[None, :]
    truth = [*thresholds, *votes.ravel()]
    assert all(any(holds(x, truth) for x in clause) for clause in whole.clauses)
    assert all(holds(x, truth) for x in box)
    assert all(holds(x, truth) for x in assumed) == agrees

    truth = point[pruned.feature] <= pruned.threshold
    assert all(any(holds(x, truth) for x in clause) for clause in pruned.order)
    assert all(any(holds(x, truth) for x in clause) for clause in pruned.leaves) == agrees
    assert len(pruned.feature) <= n_thresholds
