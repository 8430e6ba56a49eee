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


def scrubbed(forest: Forest) -> Forest:
    """Return a forest with the same votes and nothing else; scrubbing twice changes nothing."""
    rank = _depth_first(forest)
    order = np.argsort(forest.offset[forest.node_tree] + rank)
    left, right = (np.where(forest.is_leaf, -1, rank[side])[order] for side in forest.children)
    votes = leaves_below(forest)
    return forest.changed(
        left=left,
        right=right,
        feature=forest.feature[order],
        threshold=forest.threshold[order],
        value=(votes / votes.sum(axis=1, keepdims=True))[order],
        missing_left=None if forest.missing_left is None else forest.missing_left[order],
    )


def leaves_below(forest: Forest) -> NDArray[np.int64]:
    """Return the number of leaves at or below each node that vote for each class: (nodes, c)."""
    leaves = np.flatnonzero(forest.is_leaf)
    count = np.zeros((len(forest.left), len(forest.classes)), dtype=np.int64)
    count[leaves, forest.node_class[leaves]] = 1
    for inner, left, right in reversed(forest.inner_levels):
        count[inner] = count[left] + count[right]
    return count


def _depth_first(forest: Forest) -> NDArray[np.int64]:
    """Return each node's place in its tree's depth-first order: (nodes,)."""
    nodes_below = 2 * leaves_below(forest).sum(axis=1) - 1
    rank = np.zeros(len(forest.left), dtype=np.int64)
    for inner, left, right in forest.inner_levels:
        rank[left] = rank[inner] + 1
        rank[right] = rank[inner] + 1 + nodes_below[left]
    return rank
