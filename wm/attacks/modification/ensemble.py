"""Modifications of the ensemble: shuffle, drop, replace and regrow trees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wm.attacks.modification.common import AttackerData, check_share, some_trees
from wm.attacks.modification.rebuild import TreeArrays, grafted, together, tree_from_model, tree_of
from wm.embedding.training import fit_trees
from wm.forest import Forest
from wm.formats.forest_checks import tree_levels

KEPT_LEVELS = 2
"""Levels of a regrown tree that stay: the first splits do not depend on trigger rows."""


def shuffle(forest: Forest, strength: float, data: AttackerData, rng: np.random.Generator) -> Forest:
    """Permute a share of the trees at random; the majority of votes does not change."""
    check_share(strength, "shuffle")
    places = some_trees(forest, strength, rng)
    order = np.arange(forest.n_trees)
    order[places] = rng.permutation(places)
    return forest.select(order)


def drop(forest: Forest, strength: float, data: AttackerData, rng: np.random.Generator) -> Forest:
    """Remove a share of the trees, at most all but one; the others keep their order."""
    check_share(strength, "drop")
    dropped = some_trees(forest, strength, rng)[: forest.n_trees - 1]
    return forest.select(np.setdiff1d(np.arange(forest.n_trees), dropped))


def replace(forest: Forest, strength: float, data: AttackerData, rng: np.random.Generator) -> Forest:
    """Replace a share of the trees by trees trained on the thief's rows."""
    check_share(strength, "replace")
    places = some_trees(forest, strength, rng)
    if not len(places):
        return forest
    model = fit_trees(data.X, data.y, n_trees=len(places), caps=data.caps, seed=int(rng.integers(2**31 - 1)))
    trees = [tree_of(forest, tree) for tree in range(forest.n_trees)]
    for place, estimator in zip(places, model.estimators_, strict=True):
        trees[place] = tree_from_model(estimator, forest.classes, model.classes_)
    return together(trees, forest)


def regrow(forest: Forest, strength: float, data: AttackerData, rng: np.random.Generator) -> Forest:
    """Grow a share of the trees again on the thief's rows, below their first `KEPT_LEVELS` levels of splits.

    A subtree that none of the thief's rows reaches stays.
    """
    check_share(strength, "regrow")
    chosen = some_trees(forest, strength, rng)
    if not len(chosen):
        return forest
    reached = _nodes_at(forest, data.X, KEPT_LEVELS)
    trees = [tree_of(forest, tree) for tree in range(forest.n_trees)]
    for tree in chosen:
        first = int(forest.offset[tree])
        parts = {}
        for node in np.unique(reached[:, tree]):
            if not forest.is_leaf[node]:
                rows = reached[:, tree] == node
                parts[int(node) - first] = _grown(forest, data, rows, rng)
        trees[tree] = grafted(trees[tree], parts)
    return together(trees, forest)


def _nodes_at(forest: Forest, X: NDArray[np.float32], level: int) -> NDArray[np.int64]:
    """Return the node at a level, or the leaf above it, through which each row passes: (n, m), global."""
    parent = np.arange(len(forest.left))
    for nodes in tree_levels(forest.offset, forest.left, forest.right):
        inner = nodes[~forest.is_leaf[nodes]]
        base = forest.offset[forest.node_tree[inner]]
        parent[base + forest.left[inner]] = inner
        parent[base + forest.right[inner]] = inner
    node = forest.apply(X)
    for _ in range(int(forest.tree_depths.max())):
        node = np.where(forest.node_depth[node] > level, parent[node], node)
    return node


def _grown(
    forest: Forest, data: AttackerData, rows: NDArray[np.bool_], rng: np.random.Generator
) -> TreeArrays:
    from sklearn.tree import DecisionTreeClassifier

    depth = None if data.caps.max_depth is None else max(1, data.caps.max_depth - KEPT_LEVELS)
    model = DecisionTreeClassifier(
        max_depth=depth, max_features="sqrt", random_state=int(rng.integers(2**31 - 1))
    )
    return tree_from_model(model.fit(data.X[rows], data.y[rows]), forest.classes)
