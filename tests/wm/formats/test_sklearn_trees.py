"""Forests from scikit-learn's models: the same votes and shares, bit for bit, and nothing else accepted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from wm.errors import ModelError
from wm.forest import Forest
from wm.testing import on_thresholds

N_CLASSES = {"binary": 2, "signed": 2, "text": 3, "numbers": 5}


def labels(kind, codes):
    names = {
        "binary": np.array([0, 1]),
        "signed": np.array([-1, 1]),
        "text": np.array(["apple", "fig", "zucchini"]),
        "numbers": np.array([-2.0, 0.0, 1.0, 3.0, 10.0]),
    }
    return names[kind][codes]


def instances(kind, n, rng):
    """Training data whose thresholds fall in different places between float32 numbers."""
    if kind == "continuous":
        return rng.normal(size=(n, 6))
    if kind == "integers":  # thresholds at halves, exact in float32
        return rng.integers(-20, 20, size=(n, 6)).astype(float)
    # Neighbouring float32 numbers: thresholds midway between two of them, the hardest case for rounding.
    return 2.5 + rng.integers(0, 30, size=(n, 6)) * 2.0**-22


@dataclass(frozen=True)
class Case:
    """A fitted model, its trees, and each tree's prediction in class values."""

    model: Any
    trees: list[Any]
    classes: np.ndarray
    encoded: bool
    X: np.ndarray

    def tree_votes(self, X):
        votes = [tree.predict(X) for tree in self.trees]
        if self.encoded:  # a forest's trees predict positions in the forest's classes
            votes = [self.classes[vote.astype(int)] for vote in votes]
        return np.stack(votes, axis=1)


MODELS = {
    "random forest": RandomForestClassifier(12, max_depth=6, random_state=3),
    "whole-sample forest": RandomForestClassifier(12, max_leaf_nodes=9, bootstrap=False, random_state=3),
    "extra trees": ExtraTreesClassifier(12, class_weight="balanced", max_depth=5, random_state=3),
    "tree": DecisionTreeClassifier(random_state=3),
}


@pytest.fixture(scope="module", params=["continuous", "integers", "neighbours"])
def data_kind(request):
    return request.param


@pytest.fixture(scope="module", params=list(N_CLASSES))
def label_kind(request):
    return request.param


@pytest.fixture(scope="module", params=[*MODELS, "list of trees"])
def case(request, data_kind, label_kind):
    rng = np.random.default_rng(8)
    X = instances(data_kind, 160, rng)
    order = np.argsort(np.argsort(X[:, 0] + X[:, 1] * X[:, 2]))
    codes = (order * N_CLASSES[label_kind] // len(X) + (rng.random(len(X)) < 0.1)) % N_CLASSES[label_kind]
    y = labels(label_kind, codes)
    if request.param == "list of trees":
        trees = [DecisionTreeClassifier(max_depth=4, splitter="random", random_state=i) for i in range(5)]
        model = [tree.fit(X, y, sample_weight=rng.integers(1, 40, size=len(X))) for tree in trees]
        return Case(model, model, model[0].classes_, encoded=False, X=X)
    model = MODELS[request.param].__class__(**MODELS[request.param].get_params()).fit(X, y)
    single = isinstance(model, DecisionTreeClassifier)
    return Case(model, [model] if single else list(model.estimators_), model.classes_, not single, X)


def test_votes_equal_scikit_learns(case):
    forest = Forest.from_sklearn(case.model)
    votes = forest.votes(case.X)
    assert votes.shape == (len(case.X), len(case.trees))
    assert np.array_equal(votes, case.tree_votes(case.X))
    assert np.array_equal(forest.classes, case.classes)
    rng = np.random.default_rng(0)
    other = case.X[rng.integers(0, len(case.X), size=case.X.shape), np.arange(case.X.shape[1])]
    assert np.array_equal(forest.votes(other), case.tree_votes(other))


def beside_thresholds(tree, X):
    """Instances that reach every inner node, at its threshold and one unit in the last place around it.

    Returns
    -------
    (7, inner nodes, d) float64
        For each node: the threshold, the largest float32 not above it, the float32 numbers on either
        side of that one, the float64 numbers on either side of the threshold, the threshold in float32.
    """
    inner = np.flatnonzero(tree.tree_.children_left >= 0)
    # The first training row that passes through each node: column by column of the (row, node) matrix.
    passes = tree.decision_path(X.astype(np.float32)).toarray().astype(bool)
    rows = passes[:, inner].argmax(axis=0)
    threshold = tree.tree_.threshold[inner]
    rounded = threshold.astype(np.float32)
    down, up = np.float32(-np.inf), np.float32(np.inf)
    below = np.where(rounded.astype(np.float64) > threshold, np.nextafter(rounded, down), rounded)
    values = [
        threshold,
        below,
        np.nextafter(below, down),
        np.nextafter(below, up),
        np.nextafter(threshold, -np.inf),
        np.nextafter(threshold, np.inf),
        rounded,
    ]
    points = np.repeat(X[rows][None], len(values), axis=0)
    for index, value in enumerate(values):
        points[index, np.arange(len(inner)), tree.tree_.feature[inner]] = value
    return points


def test_votes_equal_scikit_learns_at_and_next_to_every_threshold(case):
    forest = Forest.from_sklearn(case.model)
    for number, tree in enumerate(case.trees):
        points = beside_thresholds(tree, case.X)
        flat = points.reshape(-1, points.shape[2])
        votes = forest.votes(flat)
        assert np.array_equal(votes, case.tree_votes(flat))
        leaves = forest.apply(flat)[:, number] - forest.offset[number]
        assert np.array_equal(leaves, tree.apply(flat.astype(np.float32)))
        # The instances do probe the threshold: from below it to the next float32 the node sends them apart.
        _, below, _, above, *_ = leaves.reshape(points.shape[:2])
        assert (below != above).all()


def test_predict_proba_equals_scikit_learns_exactly(case):
    forest = Forest.from_sklearn(case.model)
    if isinstance(case.model, list):
        expected = sum(tree.predict_proba(case.X) for tree in case.trees) / len(case.trees)
    else:
        expected = case.model.predict_proba(case.X)
        y = case.tree_votes(case.X)[:, 0]
        assert forest.accuracy_of_mean(case.X, y) == case.model.score(case.X, y)
    assert np.array_equal(forest.predict_proba(case.X), expected)


def test_depths_and_leaves_equal_scikit_learns(case):
    forest = Forest.from_sklearn(case.model)
    assert forest.n_trees == len(case.trees)
    assert forest.n_features == case.X.shape[1]
    assert forest.tree_depths.tolist() == [tree.get_depth() for tree in case.trees]
    assert forest.tree_leaves.tolist() == [tree.get_n_leaves() for tree in case.trees]


def test_a_real_forest_with_instances_of_every_number_type():
    X, y = load_breast_cancer(return_X_y=True)
    model = RandomForestClassifier(20, random_state=0).fit(X, y)
    forest = Forest.from_sklearn(model)
    for kind in (np.float16, np.float32, np.float64, np.longdouble, np.int64, object):
        rows = np.minimum(X, 60000).astype(kind)
        as_floats = rows.astype(np.float32)
        expected = np.stack([tree.predict(as_floats) for tree in model.estimators_], axis=1)
        assert np.array_equal(forest.votes(rows), expected)


def test_a_tree_that_is_a_single_leaf():
    tree = DecisionTreeClassifier().fit([[0.0], [1.0]], ["same", "same"])
    forest = Forest.from_sklearn(tree)
    assert forest.tree_depths.tolist() == [0]
    assert forest.votes([[5.0]]).tolist() == [["same"]]
    assert forest.predict_proba([[5.0]]).tolist() == [[1.0]]


def toy(n_classes=2):
    return make_classification(60, 5, n_informative=4, n_redundant=0, n_classes=n_classes, random_state=0)


def fitted(model, y=None):
    X, codes = toy()
    return model.fit(X, codes if y is None else y)


def two_outputs():
    _, codes = toy()
    return np.stack([codes, 1 - codes], axis=1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fitted(RandomForestRegressor(3)), "RandomForestRegressor is not supported"),
        (lambda: fitted(DecisionTreeRegressor()), "DecisionTreeRegressor is not supported"),
        (lambda: [fitted(DecisionTreeRegressor())], "DecisionTreeRegressor is not supported"),
        (lambda: fitted(GradientBoostingClassifier(n_estimators=3)), "GradientBoostingClassifier is not"),
        (lambda: fitted(LogisticRegression()), "LogisticRegression is not supported"),
        (lambda: None, "NoneType is not supported"),
        (lambda: fitted(RandomForestClassifier(3), two_outputs()), "tree 0 has 2 outputs; one is supported"),
        (lambda: fitted(DecisionTreeClassifier(), two_outputs()), "tree 0 has 2 outputs; one is supported"),
        (lambda: RandomForestClassifier(3), "the model has no trees: fit it first"),
        (lambda: DecisionTreeClassifier(), "tree 0 is not fitted: call fit first"),
        (lambda: [fitted(DecisionTreeClassifier()), DecisionTreeClassifier()], "tree 1 is not fitted"),
        (lambda: [], "the model has no trees"),
        (
            lambda: [fitted(DecisionTreeClassifier()), DecisionTreeClassifier().fit([[0], [1]], [0, 1])],
            "tree 1 has 1 features, tree 0 another number",
        ),
        (
            lambda: [fitted(DecisionTreeClassifier()), fitted(DecisionTreeClassifier(), toy()[1] + 1)],
            "tree 1 has other classes than tree 0",
        ),
    ],
)
def test_other_models_are_refused(make, message):
    with pytest.raises(ModelError, match=message) as caught:
        Forest.from_sklearn(make())
    assert "\n" not in str(caught.value)


def with_missing(X, share, rng):
    return np.where(rng.random(X.shape) < share, np.nan, X)


def test_a_tree_that_splits_on_missing_values_alone_is_exact():
    X = np.array([[np.nan], [1.0], [np.nan], [1.0]])
    tree = DecisionTreeClassifier().fit(X, [0, 1, 0, 1])
    assert np.isinf(tree.tree_.threshold[0])
    asked = np.array([[np.nan], [-3e38], [0.0], [3e38]])
    np.testing.assert_array_equal(Forest.from_sklearn(tree).votes(asked)[:, 0], tree.predict(asked))


@pytest.mark.parametrize("share", [0.01, 0.2])
@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier, BaggingClassifier])
def test_forests_that_were_trained_with_missing_values_send_them_as_scikit_learn_does(kind, share):
    X, y = load_breast_cancer(return_X_y=True)
    model = kind(n_estimators=6, random_state=0)
    with pytest.raises(ModelError, match="not a finite float32 number"):
        Forest.from_sklearn(model.fit(X, y)).votes(with_missing(X, 0.1, np.random.default_rng(1)))
    X = with_missing(X, share, np.random.default_rng(0))
    model.fit(X, y)
    forest = Forest.from_sklearn(model)
    asked = with_missing(on_thresholds(forest, X, np.random.default_rng(2)), 0.2, np.random.default_rng(3))
    assert len(asked) > 100
    np.testing.assert_allclose(forest.predict_proba(asked), model.predict_proba(asked), atol=1e-12)
    read = Forest.from_bytes(forest.to_bytes())
    assert read.content_hash == forest.content_hash
    np.testing.assert_array_equal(read.apply(asked), forest.apply(asked))
    np.testing.assert_array_equal(forest.select([2, 0]).votes(asked), forest.votes(asked)[:, [2, 0]])
    with pytest.raises(ModelError, match="must move with them"):
        forest.changed(left=forest.left)


def test_bagged_trees_that_saw_some_features_and_classes_only():
    X, _ = load_breast_cancer(return_X_y=True)
    codes = (X[:, 1] * 7).astype(int) % 3
    model = BaggingClassifier(DecisionTreeClassifier(max_depth=3), 6, max_features=0.4, random_state=0)
    model.fit(X, np.array(["a", "b", "c"])[codes])
    some = codes != 1
    model.estimators_[2].fit(X[some][:, model.estimators_features_[2]], codes[some])
    forest = Forest.from_sklearn(model)
    asked = on_thresholds(forest, X, np.random.default_rng(2))
    np.testing.assert_allclose(forest.predict_proba(asked), model.predict_proba(asked), atol=1e-12)
    own = [
        np.asarray(model.classes_)[
            tree.classes_.astype(int)[tree.predict_proba(asked[:, columns]).argmax(axis=1)]
        ]
        for tree, columns in zip(model.estimators_, model.estimators_features_, strict=True)
    ]
    np.testing.assert_array_equal(forest.votes(asked), np.stack(own, axis=1))
