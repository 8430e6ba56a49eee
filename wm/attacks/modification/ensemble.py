"""Modifications of the ensemble: shuffle, drop, replace and regrow trees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wm.attacks.modification.common import AttackerData, some_trees
from wm.attacks.modification.rebuild import grafted, joined, student
from wm.embedding.training import honest_forest
from wm.forest import Forest

KEPT_LEVELS = 2
"""Levels of a regrown tree that stay: the first splits do not depend on trigger rows."""


def shuffle(forest: Forest, strength: float, data: AttackerData, rng: np.random.Generator) -> Forest:
    """Permute a share of the trees at random; the majority of votes does not change."""
    places = some_trees(forest, strength, rng)
    order = np.arange(forest.n_trees)
    order[places] = rng.permutation(places)
    return forest.select(order)


def drop(forest: Forest, strength: float, data: AttackerData, rng: np.random.Generator) -> Forest:
    """Remove a share of the trees, at most all but one; the others keep their order."""
    dropped = some_trees(forest, strength, rng)[: forest.n_trees - 1]
    return forest.select(np.setdiff1d(np.arange(forest.n_trees), dropped))


def replace(forest: Forest, strength: float, data: AttackerData, rng: np.random.Generator) -> Forest:
    """Replace a share of the trees by trees trained on the thief's rows."""
    places = some_trees(forest, strength, rng)
    if not len(places):
        return forest
    seed = int(rng.integers(2**31 - 1))
    trained = honest_forest(data.X, data.y, n_trees=len(places), caps=data.caps, seed=seed)
    order = np.arange(forest.n_trees)
    order[places] = forest.n_trees + np.arange(len(places))
    return joined([forest, student(trained, forest.classes)]).select(order)


def regrow(forest: Forest, strength: float, data: AttackerData, rng: np.random.Generator) -> Forest:
    """Grow a share of the trees again on the thief's rows, below their first `KEPT_LEVELS` levels of splits.

    A subtree that none of the thief's rows reaches stays.
    """
    chosen = some_trees(forest, strength, rng)
    if not len(chosen):
        return forest
    reached = _nodes_at(forest, data.X, KEPT_LEVELS)
    parts = {}
    for tree in chosen:
        for node in np.unique(reached[:, tree]):
            if not forest.is_leaf[node]:
                parts[int(node)] = _grown(forest, data, reached[:, tree] == node, rng)
    return grafted(forest, parts)


def _nodes_at(forest: Forest, X: NDArray[np.float32], level: int) -> NDArray[np.int64]:
    """Return the node at a level, or the leaf above it, through which each row passes: (n, m), global."""
    node = forest.apply(X)
    for _ in range(int(forest.tree_depths.max())):
        node = np.where(forest.node_depth[node] > level, forest.parent[node], node)
    return node


def _grown(forest: Forest, data: AttackerData, rows: NDArray[np.bool_], rng: np.random.Generator) -> Forest:
    from sklearn.tree import DecisionTreeClassifier

    depth = None if data.caps.max_depth is None else max(1, data.caps.max_depth - KEPT_LEVELS)
    model = DecisionTreeClassifier(
        max_depth=depth, max_features="sqrt", random_state=int(rng.integers(2**31 - 1))
    )
    return student(Forest.from_sklearn(model.fit(data.X[rows], data.y[rows])), forest.classes)
