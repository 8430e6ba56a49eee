"""Modifications that prune: truncation, cost-complexity and reduced-error pruning, on the thief's rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wm.attacks.modification.common import AttackerData, some_trees
from wm.attacks.modification.rebuild import cut
from wm.forest import Forest
from wm.formats.scrubbing import leaves_below


def truncate(forest: Forest, strength: float, data: AttackerData, rng: np.random.Generator) -> Forest:
    """Cut off the deepest levels: at strength s no leaf is deeper than (1 - s) of the deepest, rounded."""
    deepest = round((1 - strength) * int(forest.tree_depths.max()))
    counts = class_counts(forest, data)
    at = (forest.node_depth == deepest) & ~forest.is_leaf
    return cut(forest, at, majority_below(forest, counts))


def cost_complexity(forest: Forest, strength: float, data: AttackerData, rng: np.random.Generator) -> Forest:
    """Prune each tree to the subtree of smallest (share of the thief's rows wrong) + strength x leaves.

    Breiman et al. (1984), chapter 3; the strength is their alpha. At 0 nothing changes, although subtrees
    that gain nothing could be pruned.
    """
    if strength == 0:
        return forest
    return cut(forest, *_bottom_up(forest, data, strength))


def reduced_error(forest: Forest, strength: float, data: AttackerData, rng: np.random.Generator) -> Forest:
    """Prune a share of the trees, from below, wherever a leaf errs no more often on the thief's rows.

    Quinlan (1987). A subtree that none of the rows reaches becomes a leaf of its commonest class.
    """
    at, code = _bottom_up(forest, data, 0.0)
    chosen = np.isin(forest.node_tree, some_trees(forest, strength, rng))
    return cut(forest, at & chosen, code)


def class_counts(forest: Forest, data: AttackerData) -> NDArray[np.float64]:
    """Return how many of the thief's rows of each class pass through each node: (nodes, c)."""
    counts = np.zeros((len(forest.left), len(forest.classes)))
    reached = forest.apply(data.X)
    codes = np.searchsorted(forest.classes, data.y)
    np.add.at(counts, (reached, codes[:, None]), 1.0)
    for inner, left, right in reversed(forest.inner_levels):
        counts[inner] = counts[left] + counts[right]
    return counts


def majority_below(forest: Forest, counts: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the class that each node would have as a leaf: (nodes,).

    The class of most of the thief's rows in it, or without rows, of most leaves below it. Inner values are
    not used: in a stripped forest they hold no information.
    """
    deciding = np.where(counts.sum(axis=1, keepdims=True) > 0, counts, leaves_below(forest))
    return np.asarray(deciding.argmax(axis=1), dtype=np.int64)


def _bottom_up(
    forest: Forest, data: AttackerData, price: float
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return which inner nodes are better leaves, (nodes,), and the class of each node as a leaf, (nodes,).

    A leaf is better if its share of the thief's rows wrong + price is at most the cost of the subtree below.
    """
    counts = class_counts(forest, data)
    code = majority_below(forest, counts)
    total, every = counts.sum(axis=1), np.arange(len(counts))
    as_leaf = (total - counts[every, code]) / len(data.X) + price
    # Right for leaves; inner nodes are filled in from below.
    cost = (total - counts[every, forest.node_class]) / len(data.X) + price
    at = np.zeros(len(forest.left), dtype=bool)
    for inner, left, right in reversed(forest.inner_levels):
        below = cost[left] + cost[right]
        at[inner] = as_leaf[inner] <= below + 1e-12
        cost[inner] = np.minimum(as_leaf[inner], below)
    return at, code
