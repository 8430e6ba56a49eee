"""Trees grown from ranks are those of scikit-learn, node for node and bit for bit."""

from __future__ import annotations

import pickle
import platform

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import export_text

from tests.examples import examples
from wm.codebook import random_codebook
from wm.embedding import growing
from wm.embedding.codebook import embed_codebook
from wm.embedding.common import EmbeddingTask
from wm.embedding.growing import UNIT, Grower, tree_seeds
from wm.embedding.options import TrainOptions
from wm.embedding.paper import embed_paper
from wm.embedding.training import Caps, fit_trees, fitting, honest_forest
from wm.forest import Forest
from wm.formats.sklearn_metadata import from_model
from wm.signature import Signature

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="scikit-learn may be compiled otherwise here"
)

PLAIN = Caps(None, None)
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
    fit = fitting(Caps(max_leaf_nodes=None, **limits))
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


@examples(80)
@given(
    seed=st.integers(0, 2**31 - 1),
    n=st.integers(2, 300),
    d=st.integers(1, 30),
    max_depth=st.none() | st.integers(1, 9),
    max_leaf_nodes=st.none() | st.integers(2, 40),
    min_samples_leaf=st.sampled_from([1, 1, 3]),
    share=st.sampled_from([0.0, 0.02, 0.2, 1.0]),
    weight=st.integers(1, 2**30),
)
def test_trees_with_heavy_rows_are_those_of_scikit_learn(
    seed, n, d, max_depth, max_leaf_nodes, min_samples_leaf, share, weight
):
    X, y = rows(seed, n, d)
    heavy = np.flatnonzero(np.random.default_rng(seed).random(n) < share)
    caps = Caps(max_depth, max_leaf_nodes, min_samples_leaf)
    grower = Grower.like(fitting(caps), X, y, tree_seeds(seed, 3), heavy=heavy)
    assert grower is not None
    flipped = y.copy()
    flipped[heavy] ^= 1
    if len(np.unique(flipped)) < 2:
        return
    for labels in (y, flipped):
        weights = np.ones(n)
        weights[heavy] = weight * UNIT
        asked = grower.weighted(weight * UNIT).relabelled(labels)
        for number in range(3):
            theirs = fitting(caps)(X, labels, asked.seeds[number], weights)
            ours = asked.fitted(asked.seeds[number])
            assert ours.get_params() == theirs.get_params()
            assert ours.tree_.max_depth == theirs.tree_.max_depth
            assert (ours.tree_.value == theirs.tree_.value).all()
            for name in ("children_left", "children_right", "feature", "threshold", "impurity"):
                assert (getattr(ours.tree_, name) == getattr(theirs.tree_, name)).all(), name
            for name in ("n_node_samples", "weighted_n_node_samples"):
                assert (getattr(ours.tree_, name) == getattr(theirs.tree_, name)).all(), name
            assert (ours.predict_proba(X) == theirs.predict_proba(X)).all()
            grown = asked.grow(number, max_depth)
            assert (grown.votes(X) == theirs.predict(X)).all()


def test_a_grown_tree_is_kept_and_read_like_one_of_scikit_learn():
    X, y = rows(4, 120, 8)
    heavy = np.arange(10)
    grower = Grower.like(fitting(Caps(5, 12)), X, y, (3, 4), heavy=heavy)
    ours = grower.weighted(8.0).fitted(4)
    theirs = fitting(Caps(5, 12))(X, y, 4, np.where(np.arange(len(X)) < 10, 8.0, 1.0))
    again = pickle.loads(pickle.dumps(ours))  # noqa: S301 (our own)
    for one in (ours, again):
        assert export_text(one) == export_text(theirs)
        assert (one.classes_ == theirs.classes_).all()
        assert (one.feature_importances_ == theirs.feature_importances_).all()
        assert (
            one.cost_complexity_pruning_path(X, y).impurities
            == theirs.cost_complexity_pruning_path(X, y).impurities
        ).all()
        inner = theirs.tree_.children_left >= 0
        assert (one.tree_.missing_go_to_left[inner] == theirs.tree_.missing_go_to_left[inner]).all()


def test_weights_whose_sums_are_not_exact_are_left_to_scikit_learn():
    X, y = rows(4, 120, 8)
    grower = Grower.like(fitting(PLAIN), X, y, (3, 4), heavy=np.arange(10))
    assert grower.weighted(1.1) is None
    assert grower.weighted(UNIT / 2) is None
    assert grower.weighted(2.0**40) is None


@pytest.mark.parametrize("bootstrap", [False, True])
def test_rows_beyond_those_of_the_first_test(monkeypatch, bootstrap):
    """More values in a column than 16 bits number; the rarer class is not among the rows evenly spread."""
    monkeypatch.setattr(growing, "_MAX_TESTED", 50)
    rng = np.random.default_rng(2)
    X = np.stack([rng.permutation(70_000), rng.integers(0, 300, 70_000)], axis=1).astype(np.float32)
    y = np.zeros(len(X), dtype=np.int64)
    y[[1, 60_000, 60_001]] = 1
    grower = Grower.like(fitting(PLAIN), X, y, tree_seeds(5, 2), bootstrap=bootstrap)
    forest = RandomForestClassifier(2, bootstrap=bootstrap, random_state=5).fit(X, y)
    assert grower.forest(None, np.unique(y)).content_hash == Forest.from_sklearn(forest).content_hash


def test_large_nodes_with_sparse_ranks_are_sorted():
    """300 rows of a column whose thousands of other values lie elsewhere."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12_000, 2)).astype(np.float32)
    y = (rng.random(len(X)) < 0.5).astype(np.int64)
    X[:300, 0] += 100
    grower = Grower.like(fitting(PLAIN), X, y, tree_seeds(1, 3))
    forest = RandomForestClassifier(3, bootstrap=False, random_state=1).fit(X, y)
    assert grower.forest(None, np.unique(y)).content_hash == Forest.from_sklearn(forest).content_hash


@pytest.mark.parametrize(
    "caps", [Caps(6, None), Caps(7, 12), Caps(None, None, min_samples_leaf=5, max_features=0.5)]
)
def test_an_honest_forest_is_the_same_either_way(monkeypatch, caps):
    X, y = rows(3, 200, 12)
    fast = honest_forest(X, y, n_trees=5, caps=caps, seed=9)
    theirs = Forest.from_sklearn(fit_trees(X, y, n_trees=5, caps=caps, seed=9))
    assert fast.content_hash == theirs.content_hash
    monkeypatch.setattr(growing, "_LEAST_WORK", 10**12)
    assert honest_forest(X, y, n_trees=5, caps=caps, seed=9).content_hash == theirs.content_hash


@pytest.mark.parametrize(
    "fault", ["classes", "missing", "little work", "processor", "another tree", "sampled leaves"]
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
    elif fault == "sampled leaves":
        fit = fitting(Caps(4, None, min_samples_leaf=2))
    elif fault == "another tree":  # as of a scikit-learn that draws features otherwise
        fit = lambda X, y, seed, weight: fitting(Caps(4, None))(X, y, seed + 1, weight)  # noqa: E731
    assert Grower.like(fit, X, y, (0, 1), bootstrap=fault == "sampled leaves") is None


@pytest.mark.parametrize("training", ["per-tree", "paper", "artifact", "codebook"])
@pytest.mark.parametrize("caps", [Caps(None, None), Caps(9, 30)])
def test_a_watermark_is_the_same_either_way(monkeypatch, training, caps):
    X, y = rows(8, 200, 12)
    X[:, 1] = np.random.default_rng(8).permutation(200)  # no row occurs twice
    bits = Signature.of("0110100111")
    marks = random_codebook(6, 10, 0.25, np.random.default_rng(9))
    task = EmbeddingTask(
        X=X,
        y=y,
        signature=marks if training == "codebook" else bits,
        trigger_rows=np.arange(20, 80, 10),
        caps=caps,
        seed_right=5,
        seed_wrong=6,
        fit=TrainOptions(training="per-tree" if training == "codebook" else training),
        tree_seeds=tuple(range(10)),
    )
    embed = embed_codebook if training == "codebook" else embed_paper
    fast = embed(task)
    monkeypatch.setattr(growing, "_LEAST_WORK", 10**12)
    plain = embed(task)
    assert fast.forest.content_hash == plain.forest.content_hash
    assert (fast.fits, fast.weight_right, fast.weight_wrong) == (
        plain.fits,
        plain.weight_right,
        plain.weight_wrong,
    )
    assert from_model(list(fast.trees)).to_bytes() == from_model(list(plain.trees)).to_bytes()
