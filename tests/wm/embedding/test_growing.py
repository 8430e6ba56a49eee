"""Trees grown from ranks are those of scikit-learn, node for node and bit for bit."""

from __future__ import annotations

import platform

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

from tests.examples import examples
from wm.embedding import growing
from wm.embedding.growing import Grower, bootstrap_counts, tree_seeds
from wm.embedding.training import Caps, fit_tree, fit_trees, honest_forest
from wm.forest import Forest

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="scikit-learn may be compiled otherwise here"
)

STEP = 1e-7
"""Columns in such units hold numbers that scikit-learn takes for equal, and others that it does not."""


@pytest.fixture(autouse=True)
def _use_it_for_little_work(monkeypatch):
    monkeypatch.setattr(growing, "_LEAST_WORK", 0)


def rows(seed, n, d):
    """Return rows whose columns have few values, many, close ones or a single one, and labels."""
    rng = np.random.default_rng(seed)
    kinds = (
        lambda: rng.integers(0, 3, n),
        lambda: rng.standard_normal(n),
        lambda: 0.25 + STEP * rng.integers(0, 6, n),
        lambda: np.full(n, -2.0),
        lambda: np.where(rng.random(n) < 0.9, 0.0, rng.standard_normal(n) * 1e30),
    )
    X = np.stack([kinds[rng.integers(len(kinds))]() for _ in range(d)], axis=1).astype(np.float32)
    y = (X[:, 0] + rng.standard_normal(n) > 0).astype(np.int64)
    y[:2] = 0, 1
    return X, y


def fitting(caps=Caps(None, None), bootstrap=False):  # noqa: B008 (frozen)
    """Return what fits scikit-learn's tree of a seed."""

    def fit(X, y, seed):
        weight = bootstrap_counts(seed, len(y)).astype(float) if bootstrap else None
        return fit_tree(X, y, caps=caps, seed=seed, sample_weight=weight)

    return fit


@examples(60)
@given(
    seed=st.integers(0, 2**31 - 1),
    n=st.integers(2, 300),
    d=st.integers(1, 40),
    max_depth=st.none() | st.integers(1, 9),
    max_features=st.none() | st.sampled_from(["sqrt", "log2", 0.5]) | st.just(1),
    bootstrap=st.booleans(),
    min_samples_leaf=st.sampled_from([1, 1, 2, 7, 0.03]),
)
def test_trees_are_those_of_scikit_learn(seed, n, d, max_depth, max_features, bootstrap, min_samples_leaf):
    X, y = rows(seed, n, d)
    limits = {
        "max_depth": max_depth,
        "max_features": max_features,
        "min_samples_leaf": 1 if bootstrap else min_samples_leaf,
    }
    fit = fitting(Caps(max_leaf_nodes=None, **limits), bootstrap)
    grower = Grower.like(fit, X, y, tree_seeds(seed, 4), bootstrap=bootstrap)
    assert grower is not None
    forest = RandomForestClassifier(4, bootstrap=bootstrap, random_state=seed, **limits).fit(X, y)
    asked = np.concatenate([X, X + np.float32(STEP), rows(seed + 1, 20, d)[0]])
    for number, theirs in enumerate(forest.estimators_):
        ours = grower.grow(number, max_depth)
        assert ours.depth == theirs.get_depth()
        shares = theirs.predict_proba(asked)
        assert (ours.shares(asked) == shares).all()
        assert (ours.votes(asked) == shares.argmax(axis=1)).all()
    made = grower.forest(max_depth, np.unique(y), n_jobs=2)
    assert made.content_hash == Forest.from_sklearn(forest).content_hash


@pytest.mark.parametrize("bootstrap", [False, True])
def test_rows_beyond_those_of_the_first_test(monkeypatch, bootstrap):
    """More values in a column than 16 bits number; the rarer class is not among the rows evenly spread."""
    monkeypatch.setattr(growing, "_MAX_TESTED", 50)
    rng = np.random.default_rng(2)
    X = np.stack([rng.permutation(70_000), rng.integers(0, 300, 70_000)], axis=1).astype(np.float32)
    y = np.zeros(len(X), dtype=np.int64)
    y[[1, 60_000, 60_001]] = 1
    grower = Grower.like(fitting(bootstrap=bootstrap), X, y, tree_seeds(5, 2), bootstrap=bootstrap)
    forest = RandomForestClassifier(2, bootstrap=bootstrap, random_state=5).fit(X, y)
    assert grower.forest(None, np.unique(y)).content_hash == Forest.from_sklearn(forest).content_hash


def test_large_nodes_with_sparse_ranks_are_sorted():
    """300 rows of a column whose thousands of other values lie elsewhere."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12_000, 2)).astype(np.float32)
    y = (rng.random(len(X)) < 0.5).astype(np.int64)
    X[:300, 0] += 100
    grower = Grower.like(fitting(), X, y, tree_seeds(1, 3))
    forest = RandomForestClassifier(3, bootstrap=False, random_state=1).fit(X, y)
    assert grower.forest(None, np.unique(y)).content_hash == Forest.from_sklearn(forest).content_hash


@pytest.mark.parametrize("caps", [Caps(6, None), Caps(None, None, min_samples_leaf=5, max_features=0.5)])
def test_an_honest_forest_is_the_same_either_way(monkeypatch, caps):
    X, y = rows(3, 200, 12)
    fast = honest_forest(X, y, n_trees=5, caps=caps, seed=9)
    theirs = Forest.from_sklearn(fit_trees(X, y, n_trees=5, caps=caps, seed=9))
    assert fast.content_hash == theirs.content_hash
    monkeypatch.setattr(growing, "_LEAST_WORK", 10**12)
    assert honest_forest(X, y, n_trees=5, caps=caps, seed=9).content_hash == theirs.content_hash


@pytest.mark.parametrize(
    "fault", ["classes", "missing", "little work", "processor", "another tree", "leaves", "sampled leaves"]
)
def test_what_may_come_out_otherwise_is_left_to_scikit_learn(monkeypatch, fault):
    X, y = rows(5, 60, 6)
    fit = fitting(Caps(4, None))
    if fault == "classes":
        y[0] = 2
    elif fault == "missing":
        X[3, 2] = np.nan
    elif fault == "little work":
        monkeypatch.setattr(growing, "_LEAST_WORK", 10**6)
    elif fault == "processor":
        monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    elif fault == "leaves":
        fit = fitting(Caps(4, 9))
    elif fault == "sampled leaves":
        fit = fitting(Caps(4, None, min_samples_leaf=2), bootstrap=True)
    elif fault == "another tree":  # as of a scikit-learn that draws features otherwise
        fit = lambda X, y, seed: fitting(Caps(4, None))(X, y, seed + 1)  # noqa: E731
    assert Grower.like(fit, X, y, (0, 1), bootstrap=fault == "sampled leaves") is None
