"""Flat arrays from scikit-learn's classifying trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import ModelError
from wm.formats.forest_checks import finite_thresholds


def arrays(model: Any, *, unseen_missing: bool = False) -> dict[str, Any]:
    """Return the keyword arguments of `Forest.from_arrays` for a fitted scikit-learn model.

    Parameters
    ----------
    model
        As in `Forest.from_sklearn`; errors too.
    unseen_missing
        Whether a forest takes missing values although no tree saw one in training: scikit-learn then sends
        them to the child with more training rows.
    """
    trees, classes = trees_and_classes(model)
    parts = [tree.tree_ for tree in trees]
    leaf = np.concatenate([part.children_left == -1 for part in parts])
    columns = getattr(model, "estimators_features_", None)  # of bagging: each tree sees some of the features
    features = [
        part.feature if columns is None else np.asarray(columns[number])[part.feature]
        for number, part in enumerate(parts)
    ]
    found = {
        "offset": np.cumsum([0, *(part.node_count for part in parts)]),
        "left": np.concatenate([part.children_left for part in parts]),
        "right": np.concatenate([part.children_right for part in parts]),
        "feature": np.where(leaf, -1, np.concatenate(features)),
        "threshold": np.where(
            leaf, 0.0, finite_thresholds(np.concatenate([part.threshold for part in parts]))
        ),
        "value": np.concatenate([_class_columns(tree, len(classes)) for tree in trees]),
        "n_features": int((trees[0] if columns is None else model).n_features_in_),
        "classes": classes,
    }
    takes_missing = unseen_missing and take_missing_values(trees)
    if takes_missing or any(map(_saw_missing_values, parts)):
        found["missing_left"] = np.concatenate([directions(part) for part in parts])
    return found


def _class_columns(tree: Any, classes: int) -> NDArray[np.float64]:
    """Return a tree's values in the columns of all classes; a bagged tree may not have seen some."""
    value: NDArray[np.float64] = tree.tree_.value[:, 0, :]
    if value.shape[1] == classes:
        return value
    found = np.zeros((len(value), classes))
    found[:, tree.classes_.astype(np.int64)] = value
    return found


def trees_and_classes(model: Any) -> tuple[list[Any], NDArray[Any]]:
    """Return the decision trees of a fitted scikit-learn model, in order, and its class values."""
    from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    is_bagging = isinstance(model, BaggingClassifier)
    if isinstance(model, list | tuple):
        trees = list(model)
    elif is_bagging or isinstance(model, RandomForestClassifier | ExtraTreesClassifier):
        trees = list(getattr(model, "estimators_", []))
    else:
        trees = [model]
    check_trees(
        trees,
        DecisionTreeClassifier,
        "give a RandomForestClassifier, an ExtraTreesClassifier, a BaggingClassifier of trees, or decision "
        "tree classifiers",
    )
    # The trees of a forest carry encoded classes 0, 1, ...; the forest knows the real values.
    classes = np.asarray(model.classes_ if hasattr(model, "classes_") else trees[0].classes_)
    for number, tree in enumerate(trees):
        if tree.n_features_in_ != trees[0].n_features_in_:
            raise ModelError(f"tree {number} has {tree.n_features_in_} features, tree 0 another number")
        if isinstance(model, list | tuple) and not np.array_equal(tree.classes_, classes):
            raise ModelError(f"tree {number} has other classes than tree 0")
    return trees, classes


def check_trees(trees: list[Any], kind: type[Any], supported: str) -> None:
    """Raise `ModelError` unless there are trees, all of one kind, fitted and with one output."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if not trees:
        raise ModelError("the model has no trees: fit it first")
    for number, tree in enumerate(trees):
        if not isinstance(tree, kind):
            raise ModelError(f"{type(tree).__name__} is not supported: {supported}")
        try:
            check_is_fitted(tree)
        except NotFittedError as reason:
            raise ModelError(f"tree {number} is not fitted: call fit first") from reason
        if tree.n_outputs_ != 1:
            raise ModelError(f"tree {number} has {tree.n_outputs_} outputs; one is supported")


def directions(tree: Any) -> NDArray[np.bool_]:
    """Return whether each node sends missing values left."""
    found: NDArray[np.bool_] = tree.__getstate__()["nodes"]["missing_go_to_left"].astype(bool)
    return found


def take_missing_values(trees: list[Any]) -> bool:
    """Return whether a model of some trees answers rows with missing values; our own exports do not."""
    allowed = all(
        tree.__sklearn_tags__().input_tags.allow_nan and tree.monotonic_cst is None for tree in trees
    )
    return allowed and any(
        directions(tree.tree_).any() or np.isinf(tree.tree_.threshold).any() for tree in trees
    )


def _saw_missing_values(tree: Any) -> bool:
    """Return whether a tree's training met missing values at some node.

    Without them, scikit-learn sends later ones to the child with more training rows, and our own exports to
    the right; a node that does otherwise has learned its direction. An infinite threshold parts missing
    values from all others.
    """
    if np.isinf(tree.threshold).any():
        return True
    inner = tree.children_left >= 0
    rows = tree.n_node_samples
    larger_left = rows[tree.children_left[inner]] > rows[tree.children_right[inner]]
    learned = directions(tree)[inner]
    return bool(learned.any() and (learned != larger_left).any())
