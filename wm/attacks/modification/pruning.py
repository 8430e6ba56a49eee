"""Modifications that prune: truncation, cost-complexity and reduced-error pruning, on the thief's rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wm.attacks.modification.common import AttackerData, check_amount, check_share, some_trees
from wm.attacks.modification.rebuild import cut
from wm.forest import Forest
from wm.formats.forest_checks import tree_levels


def truncate(forest: Forest, strength: float, data: AttackerData, rng: np.random.Generator) -> Forest:
    """Cut off the deepest levels: at strength s no leaf is deeper than (1 - s) of the deepest, rounded."""
    check_share(strength, "truncate")
    deepest = round((1 - strength) * int(forest.tree_depths.max()))
    counts = class_counts(forest, data)
    at = (forest.node_depth == deepest) & ~forest.is_leaf
    return cut(forest, at, majority_below(forest, counts))


def cost_complexity(forest: Forest, strength: float, data: AttackerData, rng: np.random.Generator) -> Forest:
    """Prune each tree to the subtree of least (share of the thief's rows wrong) + strength x leaves.

    Breiman et al. (1984), chapter 3; the strength is their alpha. At 0 only subtrees that gain nothing would
    go; these stay, so that nothing changes.
    """
    check_amount(strength, "cost-complexity")
    if strength == 0:
        return forest
    counts = class_counts(forest, data)
    code = majority_below(forest, counts)
    wrong = (counts.sum(axis=1) - counts[np.arange(len(counts)), code]) / len(data.X)
    return cut(forest, _bottom_up(forest, counts, wrong, len(data.X), strength), code)


def reduced_error(forest: Forest, strength: float, data: AttackerData, rng: np.random.Generator) -> Forest:
    """Prune a share of the trees, from below, wherever a leaf errs no more often on the thief's rows.

    Quinlan (1987). A subtree that none of the rows reaches becomes a leaf of its commonest class.
    """
    check_share(strength, "reduced-error")
    counts = class_counts(forest, data)
    code = majority_below(forest, counts)
    wrong = (counts.sum(axis=1) - counts[np.arange(len(counts)), code]) / len(data.X)
    at = _bottom_up(forest, counts, wrong, len(data.X), 0.0)
    chosen = np.isin(forest.node_tree, some_trees(forest, strength, rng))
    return cut(forest, at & chosen, code)


def class_counts(forest: Forest, data: AttackerData) -> NDArray[np.float64]:
    """Return how many of the thief's rows of each class pass through each node: (nodes, c)."""
    counts = np.zeros((len(forest.left), len(forest.classes)))
    reached = forest.apply(data.X)
    codes = np.searchsorted(forest.classes, data.y)
    np.add.at(counts, (reached, codes[:, None]), 1.0)
    for nodes in reversed(list(tree_levels(forest.offset, forest.left, forest.right))):
        inner = nodes[~forest.is_leaf[nodes]]
        base = forest.offset[forest.node_tree[inner]]
        counts[inner] = counts[base + forest.left[inner]] + counts[base + forest.right[inner]]
    return counts


def majority_below(forest: Forest, counts: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the class that each node would have as a leaf: (nodes,).

    That of most of the thief's rows, or where none comes, of most leaves below it. A stripped forest's inner
    values say nothing, so they are not asked.
    """
    leaves = np.zeros_like(counts)
    leaves[forest.is_leaf, forest.node_class[forest.is_leaf]] = 1.0
    for nodes in reversed(list(tree_levels(forest.offset, forest.left, forest.right))):
        inner = nodes[~forest.is_leaf[nodes]]
        base = forest.offset[forest.node_tree[inner]]
        leaves[inner] = leaves[base + forest.left[inner]] + leaves[base + forest.right[inner]]
    deciding = np.where(counts.sum(axis=1, keepdims=True) > 0, counts, leaves)
    return np.asarray(deciding.argmax(axis=1), dtype=np.int64)


def _bottom_up(
    forest: Forest,
    counts: NDArray[np.float64],
    wrong: NDArray[np.float64],
    rows: int,
    price: float,
) -> NDArray[np.bool_]:
    """Return the inner nodes that are better leaves: wrong(leaf) + price <= cost of the subtree below."""
    own = counts.sum(axis=1) - counts[np.arange(len(counts)), forest.node_class]
    cost = own / rows + price  # right for leaves; inner nodes are filled in from below
    at = np.zeros(len(forest.left), dtype=bool)
    for nodes in reversed(list(tree_levels(forest.offset, forest.left, forest.right))):
        inner = nodes[~forest.is_leaf[nodes]]
        base = forest.offset[forest.node_tree[inner]]
        below = cost[base + forest.left[inner]] + cost[base + forest.right[inner]]
        as_leaf = wrong[inner] + price
        at[inner] = as_leaf <= below + 1e-12
        cost[inner] = np.minimum(as_leaf, below)
    return at
