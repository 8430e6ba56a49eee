"""Scrubbing: the removal of everything from a forest that its votes do not need.

A trained forest reveals more than its votes. Class shares at nodes are weighted by the training weights: the
shares at the roots take two values, one for each kind of tree, and so reveal the signature; those at leaves
show where heavy rows lie. The order of the nodes is that of best-first growth, by weighted impurity. A
scrubbed forest keeps structure, thresholds and votes; everything else is computed from these alone:

- a leaf has all its value on the class that it votes for. Weighted shares would reveal the trigger rows'
  weights, and unweighted shares of the training rows their flipped labels;
- an inner node's value is the share of the leaves below it that vote for each class;
- nodes come in depth-first order, left before right.

So for a scrubbed forest `Forest.predict_proba` equals `Forest.vote_shares`, and `Forest.accuracy_of_mean`
equals `Forest.accuracy`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wm.forest import Forest
from wm.formats.forest_checks import tree_levels


def scrubbed(forest: Forest) -> Forest:
    """Return a forest with the same votes and nothing else; scrubbing twice changes nothing."""
    rank, base = _depth_first(forest), np.repeat(forest.offset[:-1], np.diff(forest.offset))
    order = np.argsort(base + rank)
    leaf = forest.is_leaf

    def renumbered(child: NDArray[np.int32]) -> NDArray[np.int64]:
        return np.where(leaf, -1, rank[np.where(leaf, 0, base + child)])

    votes = leaves_below(forest)
    return Forest.from_arrays(
        offset=forest.offset,
        left=renumbered(forest.left)[order],
        right=renumbered(forest.right)[order],
        feature=forest.feature[order],
        threshold=forest.threshold[order],
        value=(votes / votes.sum(axis=1, keepdims=True))[order],
        n_features=forest.n_features,
        classes=forest.classes,
    )


def leaves_below(forest: Forest) -> NDArray[np.int64]:
    """Return the number of leaves at or below each node that vote for each class: (nodes, c)."""
    count = np.zeros((len(forest.left), len(forest.classes)), dtype=np.int64)
    leaves = np.flatnonzero(forest.is_leaf)
    count[leaves, forest.node_class[leaves]] = 1
    for inner, left, right in reversed(_levels(forest)):
        count[inner] = count[left] + count[right]
    return count


def _depth_first(forest: Forest) -> NDArray[np.int64]:
    """Return each node's place in its tree's depth-first order: (nodes,)."""
    nodes_below = 2 * leaves_below(forest).sum(axis=1) - 1
    rank = np.zeros(len(forest.left), dtype=np.int64)
    for inner, left, right in _levels(forest):
        rank[left] = rank[inner] + 1
        rank[right] = rank[inner] + 1 + nodes_below[left]
    return rank


def _levels(forest: Forest) -> list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """Return the inner nodes with their children, level by level from the roots; all are global indexes."""
    base = np.repeat(forest.offset[:-1], np.diff(forest.offset))
    levels = []
    for nodes in tree_levels(forest.offset, forest.left, forest.right):
        inner = nodes[~forest.is_leaf[nodes]]
        levels.append((inner, base[inner] + forest.left[inner], base[inner] + forest.right[inner]))
    return levels
