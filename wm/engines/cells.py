"""Leaves as ranges of cells: the integer form that `search` works on.

The thresholds of a feature, as float32, cut its axis into cells; all points of a cell are treated alike by
every tree. Cell c of a feature with thresholds t_0 < t_1 < ... holds t_(c-1) < x <= t_c. A leaf is then a box
of whole cells, and so is, cut at its rim, a query's box.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.engines.encoding import LeafBounds, next_above, next_below
from wm.engines.search_kernel import cells_of


@dataclass(frozen=True, eq=False)
class CellForest:
    """All leaves of a forest in cells; bounds as in `LeafBounds`, in its order.

    Attributes
    ----------
    thresholds : (T,) float32
        Feature after feature, ascending.
    threshold_start : (d + 1,)
        Thresholds of feature f are rows ``threshold_start[f]:threshold_start[f + 1]``.
    lower, upper : (B,) int32
        First and last cell of each bound.
    by_lower, by_upper : (B,) int64
        Bounds by feature and then by descending first cell, or by feature and ascending last cell.
    rank_lower, rank_upper : (B,) int64
        Place of each bound in these two orders.
    """

    thresholds: NDArray[np.float32]
    threshold_start: NDArray[np.int64]
    lower: NDArray[np.int32]
    upper: NDArray[np.int32]
    by_lower: NDArray[np.int64]
    by_upper: NDArray[np.int64]
    rank_lower: NDArray[np.int64]
    rank_upper: NDArray[np.int64]

    @property
    def last_cell(self) -> NDArray[np.int32]:
        """Number of the last cell of each feature: (d,)."""
        return np.diff(self.threshold_start).astype(np.int32)

    def of(self, point: NDArray[np.float32]) -> NDArray[np.int32]:
        """Return the cell of each of a point's features: (d,)."""
        found = np.empty(len(point), dtype=np.int32)
        cells_of(point, self.thresholds, self.threshold_start, found)
        return found

    def box(
        self, lower: NDArray[np.int32], upper: NDArray[np.int32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the closed float32 box of a range of cells: (d,) each, infinite where it has no end."""
        start, last = self.threshold_start[:-1], self.last_cell
        padded = np.append(self.thresholds, np.float32(np.inf))
        first = np.where(lower > 0, padded[np.minimum(start + lower - 1, len(self.thresholds))], -np.inf)
        below = np.where(lower > 0, next_above(first.astype(np.float32)), -np.inf)
        above = np.where(upper < last, padded[np.minimum(start + upper, len(self.thresholds))], np.inf)
        return below.astype(np.float32), above.astype(np.float32)


def cell_forest(bounds: LeafBounds, n_features: int) -> CellForest:
    """Return the leaves' bounds in cells."""
    has_lower, has_upper = np.isfinite(bounds.lower), np.isfinite(bounds.upper)
    # A lower bound is the float32 just above its threshold.
    under = next_below(bounds.lower)
    feature = np.concatenate([bounds.feature[has_lower], bounds.feature[has_upper]])
    threshold = np.concatenate([under[has_lower], bounds.upper[has_upper]])
    order = np.lexsort((threshold, feature))
    feature, threshold = feature[order], threshold[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (feature[1:] != feature[:-1]) | (threshold[1:] != threshold[:-1])
    name = np.empty(len(order), dtype=np.int64)
    name[order] = np.cumsum(new) - 1
    start = np.searchsorted(feature[new], np.arange(n_features + 1))
    count = np.diff(start)

    lower = np.zeros(len(bounds.feature), dtype=np.int32)
    upper = count[bounds.feature].astype(np.int32)
    first = start[bounds.feature]
    lowers = int(has_lower.sum())
    lower[has_lower] = name[:lowers] - first[has_lower] + 1
    upper[has_upper] = name[lowers:] - first[has_upper]
    by_lower, by_upper = np.lexsort((-lower, bounds.feature)), np.lexsort((upper, bounds.feature))
    return CellForest(
        thresholds=threshold[new],
        threshold_start=start,
        lower=lower,
        upper=upper,
        by_lower=by_lower,
        by_upper=by_upper,
        rank_lower=np.argsort(by_lower),
        rank_upper=np.argsort(by_upper),
    )
