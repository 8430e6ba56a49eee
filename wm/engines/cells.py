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

from wm.engines.cnf import encode_keys
from wm.engines.encoding import LeafBounds, float32_at_most, next_above, next_below
from wm.engines.walk_kernel import cells_of
from wm.forest import Forest


class Nodes(NamedTuple):
    """The trees in cells."""

    root: NDArray[np.int32]
    """(m,): root of each tree."""
    feature: NDArray[np.int32]
    """(nodes,): feature tested, -1 at a leaf."""
    cut: NDArray[np.int32]
    """(nodes,): last cell that is sent left."""
    left: NDArray[np.int32]
    """(nodes,): left child, numbered through all trees; so are roots and right children."""
    right: NDArray[np.int32]
    leaf: NDArray[np.int32]
    """(nodes,): position in `LeafBounds`; -1 at inner nodes and unreachable leaves."""


class SortedBounds(NamedTuple):
    """All bounds, feature after feature, sorted by descending first cell and by ascending last cell."""

    leaf: NDArray[np.int32]
    """(2, B): leaf of each bound."""
    key: NDArray[np.int32]
    """(2, B): its first cell, negated, or its last cell; ascending within each feature."""
    start: NDArray[np.int64]
    """(d + 1,): bounds of feature f are ``start[f]:start[f + 1]`` of both."""


@dataclass(frozen=True, eq=False)
class CellForest:
    """A forest in cells; bounds in the order of `LeafBounds`."""

    thresholds: NDArray[np.float32]
    """(T,): feature after feature, ascending."""
    threshold_start: NDArray[np.int64]
    """(d + 1,): thresholds of feature f are rows ``threshold_start[f]:threshold_start[f + 1]``."""
    above: NDArray[np.float32]
    """(T,): the next larger float32 number of each threshold."""
    lower: NDArray[np.int32]
    """(B,): first cell of each bound."""
    upper: NDArray[np.int32]
    """(B,): last cell of each bound."""
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
    feature = np.concatenate([bounds.feature[has_lower], bounds.feature[has_upper]])
    # A lower bound is the float32 just above its threshold.
    threshold = np.concatenate([next_below(bounds.lower)[has_lower], bounds.upper[has_upper]])
    keys, first, name = np.unique(encode_keys(feature, threshold), return_index=True, return_inverse=True)
    thresholds = threshold[first]
    start = np.searchsorted(feature[first], np.arange(forest.n_features + 1))

    lower = np.zeros(len(bounds.feature), dtype=np.int32)
    upper = np.diff(start)[bounds.feature].astype(np.int32)
    own_start = start[bounds.feature]
    lowers = int(has_lower.sum())
    lower[has_lower] = name[:lowers] - own_start[has_lower] + 1
    upper[has_upper] = name[lowers:] - own_start[has_upper]
    sort_keys = np.stack([-lower, upper])
    orders = np.stack([np.lexsort((key, bounds.feature)) for key in sort_keys])
    return CellForest(
        thresholds=thresholds,
        threshold_start=start,
        above=next_above(thresholds),
        lower=lower,
        upper=upper,
        by_key=SortedBounds(
            leaf=bounds.leaf[orders].astype(np.int32),
            key=np.take_along_axis(sort_keys, orders, axis=1),
            start=np.searchsorted(bounds.feature[orders[0]], np.arange(forest.n_features + 1)),
        ),
        nodes=_nodes(forest, bounds, keys, start),
    )


def _nodes(forest: Forest, bounds: LeafBounds, keys: NDArray[np.int64], start: NDArray[np.int64]) -> Nodes:
    inner = ~forest.is_leaf
    left, right = (np.where(inner, side, -1).astype(np.int32) for side in forest.children)
    feature = forest.feature[inner].astype(np.int64)  # keys need 64 bits
    snapped = float32_at_most(forest.threshold[inner])
    # A threshold that no leaf has sends all points that come to it the same way.
    place = np.searchsorted(keys, encode_keys(feature, snapped), side="right") - 1 - start[feature]
    cut = np.zeros(len(inner), dtype=np.int32)
    cut[inner] = np.where(snapped >= np.finfo(np.float32).max, np.diff(start)[feature], place)
    leaf = np.full(len(inner), -1, dtype=np.int32)
    leaf[bounds.node] = np.arange(len(bounds.node))
    return Nodes(
        root=forest.offset[:-1].astype(np.int32),
        feature=np.where(inner, forest.feature, -1).astype(np.int32),
        cut=cut,
        left=left,
        right=right,
        leaf=leaf,
    )
