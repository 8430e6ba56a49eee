"""Importance of features, from a released forest and training rows.

The trees as trained know their rows' weights, which a watermark raises; here each row counts as it was given.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wm.forest import Forest


def impurity_importances(
    forest: Forest, X: NDArray[np.float32], codes: NDArray[np.int64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the mean decrease of Gini impurity by each feature, (d,); they sum to 1, or are all 0.

    scikit-learn's `feature_importances_`: each tree's decreases are divided by their sum, then averaged.

    Parameters
    ----------
    X : (n, d)
        Training rows.
    codes : (n,)
        Columns of the forest's classes.
    weight : (n,)
        Of the rows.
    """
    total = _weights_of_nodes(forest, X, codes, weight)
    size = total.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):  # no row reaches some nodes
        impurity = np.where(size > 0, size - (total**2).sum(axis=1) / size, 0.0)
    found = np.zeros((forest.n_trees, forest.n_features))
    for inner, left, right in forest.inner_levels:
        decrease = impurity[inner] - impurity[left] - impurity[right]
        np.add.at(found, (forest.node_tree[inner], forest.feature[inner]), decrease)
    sums = found.sum(axis=1, keepdims=True)
    shares = np.divide(found, sums, out=np.zeros_like(found), where=sums > 0)
    mean: NDArray[np.float64] = shares[sums[:, 0] > 0].mean(axis=0) if (sums > 0).any() else shares[0]
    return mean / mean.sum() if mean.sum() > 0 else mean


def _weights_of_nodes(
    forest: Forest, X: NDArray[np.float32], codes: NDArray[np.int64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weight of each class's rows at each node: (nodes, c)."""
    total = np.zeros((len(forest.left), len(forest.classes)))
    leaves = forest.apply(X)
    for tree in range(forest.n_trees):
        np.add.at(total, (leaves[:, tree], codes), weight)
    for inner, left, right in reversed(forest.inner_levels):
        total[inner] = total[left] + total[right]
    return total
