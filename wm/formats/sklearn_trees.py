"""Flat arrays from scikit-learn's trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import ModelError


def arrays(model: Any) -> dict[str, Any]:
    """Return the keyword arguments of `Forest.from_arrays` for a fitted scikit-learn model.

    Parameters and errors as in `Forest.from_sklearn`.
    """
    trees, classes = trees_and_classes(model)
    parts = [tree.tree_ for tree in trees]
    leaf = np.concatenate([part.children_left == -1 for part in parts])
    return {
        "offset": np.cumsum([0, *(part.node_count for part in parts)]),
        "left": np.concatenate([part.children_left for part in parts]),
        "right": np.concatenate([part.children_right for part in parts]),
        "feature": np.where(leaf, -1, np.concatenate([part.feature for part in parts])),
        "threshold": np.where(leaf, 0.0, np.concatenate([part.threshold for part in parts])),
        "value": np.concatenate([part.value[:, 0, :] for part in parts]),
        "n_features": int(trees[0].n_features_in_),
        "classes": classes,
    }


def trees_and_classes(model: Any) -> tuple[list[Any], NDArray[Any]]:
    """Return the decision trees of a fitted scikit-learn model, in order, and its class values."""
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
    from sklearn.exceptions import NotFittedError
    from sklearn.tree import DecisionTreeClassifier
    from sklearn.utils.validation import check_is_fitted

    if isinstance(model, list | tuple):
        trees = list(model)
    elif isinstance(model, RandomForestClassifier | ExtraTreesClassifier):
        trees = list(getattr(model, "estimators_", []))
    else:
        trees = [model]
    if not trees:
        raise ModelError("the model has no trees: fit it first")
    for number, tree in enumerate(trees):
        if not isinstance(tree, DecisionTreeClassifier):
            raise ModelError(
                f"{type(tree).__name__} is not supported: give a RandomForestClassifier, an "
                "ExtraTreesClassifier, or decision tree classifiers"
            )
        try:
            check_is_fitted(tree)
        except NotFittedError as reason:
            raise ModelError(f"tree {number} is not fitted: call fit first") from reason
        if tree.n_outputs_ != 1:
            raise ModelError(f"tree {number} has {tree.n_outputs_} outputs; one is supported")
        if _saw_missing_values(tree.tree_):
            raise ModelError(
                f"tree {number} was trained with missing values, which have no place in a forest here: fill "
                "them in before training"
            )
    # The trees of a forest carry encoded classes 0, 1, ...; the forest knows the real values.
    classes = np.asarray(model.classes_ if hasattr(model, "classes_") else trees[0].classes_)
    for number, tree in enumerate(trees):
        if tree.n_features_in_ != trees[0].n_features_in_:
            raise ModelError(f"tree {number} has {tree.n_features_in_} features, tree 0 another number")
        if isinstance(model, list | tuple) and not np.array_equal(tree.classes_, classes):
            raise ModelError(f"tree {number} has other classes than tree 0")
    return trees, classes


def _saw_missing_values(tree: Any) -> bool:
    """Return whether a tree's training met missing values at some node.

    Without them, scikit-learn sends later ones to the child with more training rows, and our own exports to
    the right; a node that does otherwise has learned its direction.
    """
    inner = tree.children_left >= 0
    rows = tree.n_node_samples
    larger_left = rows[tree.children_left[inner]] > rows[tree.children_right[inner]]
    directions = tree.__getstate__()["nodes"]["missing_go_to_left"][inner]
    return bool(directions.any() and (directions != larger_left).any())
