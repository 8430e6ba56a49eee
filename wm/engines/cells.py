"""Trees and leaves in cells: the integer form for `search`.

The thresholds of a feature, as float32, cut its axis into cells; no tree distinguishes points of one cell.
Cell c of a feature with thresholds t_0 < t_1 < ... holds t_(c-1) < x <= t_c. A leaf is a box of whole cells;
a query's box covers whole cells but for its borders.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wm.engines.encoding import LeafBounds, float32_at_most, next_above, next_below
from wm.engines.walk_kernel import cells_of
from wm.forest import Forest


class Nodes(NamedTuple):
    """The trees in cells.

    Attributes
    ----------
    root : (m,) int32
        Each tree's root.
    feature : (nodes,) int32
        Feature tested, -1 at a leaf.
    cut : (nodes,) int32
        Last cell that is sent left.
    left, right : (nodes,) int32
        Children, numbered through all trees.
    leaf : (nodes,) int32
        Position in `LeafBounds`; -1 at inner nodes and unreachable leaves.
    """

    root: NDArray[np.int32]
    feature: NDArray[np.int32]
    cut: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    leaf: NDArray[np.int32]


class SortedBounds(NamedTuple):
    """All bounds, feature after feature, sorted by descending first cell and by ascending last cell.

    Attributes
    ----------
    leaf : (2, B) int32
        Leaf of each bound.
    key : (2, B) int32
        Its first cell, negated, or its last cell; ascending within each feature.
    start : (d + 1,) int64
        Bounds of feature f are ``start[f]:start[f + 1]`` of both.
    """

    leaf: NDArray[np.int32]
    key: NDArray[np.int32]
    start: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CellForest:
    """A forest in cells; bounds in the order of `LeafBounds`.

    Attributes
    ----------
    thresholds : (T,) float32
        Feature after feature, ascending.
    threshold_start : (d + 1,)
        Thresholds of feature f are rows ``threshold_start[f]:threshold_start[f + 1]``.
    above : (T,) float32
        The next larger float32 number of each threshold.
    lower, upper : (B,) int32
        First and last cell of each bound.
    by_key
        The same, sorted.
    nodes
        The trees.
    """

    thresholds: NDArray[np.float32]
    threshold_start: NDArray[np.int64]
    above: NDArray[np.float32]
    lower: NDArray[np.int32]
    upper: NDArray[np.int32]
    by_key: SortedBounds
    nodes: Nodes

    def of(self, point: NDArray[np.float32]) -> NDArray[np.int32]:
        """Return the cell of each of a point's features: (d,)."""
        found = np.empty(len(point), dtype=np.int32)
        cells_of(point, self.thresholds, self.threshold_start, found)
        return found


def cell_forest(forest: Forest, bounds: LeafBounds) -> CellForest:
    """Return a forest and its leaves' bounds in cells."""
    has_lower, has_upper = np.isfinite(bounds.lower), np.isfinite(bounds.upper)
    # A lower bound is the float32 just above its threshold.
    under = next_below(bounds.lower)
    feature = np.concatenate([bounds.feature[has_lower], bounds.feature[has_upper]])
    threshold = np.concatenate([under[has_lower], bounds.upper[has_upper]])
    order = np.lexsort((threshold, feature))
    feature, threshold = feature[order], threshold[order]
    new = np.diff(feature, prepend=-1) != 0
    new[1:] |= threshold[1:] != threshold[:-1]
    name = np.empty(len(order), dtype=np.int64)
    name[order] = np.cumsum(new) - 1
    start = np.searchsorted(feature[new], np.arange(forest.n_features + 1))
    count = np.diff(start)

    lower = np.zeros(len(bounds.feature), dtype=np.int32)
    upper = count[bounds.feature].astype(np.int32)
    first = start[bounds.feature]
    lowers = int(has_lower.sum())
    lower[has_lower] = name[:lowers] - first[has_lower] + 1
    upper[has_upper] = name[lowers:] - first[has_upper]
    keys = np.stack([-lower, upper])
    orders = np.stack([np.lexsort((key, bounds.feature)) for key in keys])
    return CellForest(
        thresholds=threshold[new],
        threshold_start=start,
        above=next_above(threshold[new]),
        lower=lower,
        upper=upper,
        by_key=SortedBounds(
            leaf=bounds.leaf[orders].astype(np.int32),
            key=np.take_along_axis(keys, orders, axis=1),
            start=np.searchsorted(bounds.feature[orders[0]], np.arange(forest.n_features + 1)),
        ),
        nodes=_nodes(forest, bounds, threshold[new], start),
    )


def _nodes(
    forest: Forest, bounds: LeafBounds, thresholds: NDArray[np.float32], start: NDArray[np.int64]
) -> Nodes:
    inner = ~forest.is_leaf
    base = np.repeat(forest.offset[:-1], np.diff(forest.offset))
    snapped = float32_at_most(forest.threshold)
    cut = np.zeros(len(base), dtype=np.int32)
    for feature in range(forest.n_features):
        here = np.flatnonzero(inner & (forest.feature == feature))
        own = thresholds[start[feature] : start[feature + 1]]
        # A threshold that no leaf has sends all points that come to it the same way.
        cut[here] = np.searchsorted(own, snapped[here], side="right") - 1
        cut[here[snapped[here] >= np.finfo(np.float32).max]] = len(own)
    leaf = np.full(len(base), -1, dtype=np.int32)
    leaf[bounds.node] = np.arange(len(bounds.node))
    return Nodes(
        root=forest.offset[:-1].astype(np.int32),
        feature=np.where(inner, forest.feature, -1).astype(np.int32),
        cut=cut,
        left=np.where(inner, base + forest.left, -1).astype(np.int32),
        right=np.where(inner, base + forest.right, -1).astype(np.int32),
        leaf=leaf,
    )
