"""Measures of the shape of each tree, beyond the paper's depth and leaves.

Trees that must isolate flipped rows grow longer branches, more small leaves, and a positive region of another
volume. The direction of the difference varies between data sets, so a guess is scored up to complement.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from wm.attacks.detection.rows import Row, ranked
from wm.codebook import Marks
from wm.engines.encoding import LeafBounds, leaf_bounds
from wm.forest import Forest

_MIN_WIDTH = 2.0**-40
"""Smallest width of a box's side: a box outside [0, 1] has none, and 0 has no logarithm."""


class Shape(StrEnum):
    """A measure of each tree, taken over the leaves that some instance can reach."""

    MEAN_LEAF_DEPTH = "mean-leaf-depth"
    """Mean depth of the leaves, in edges."""
    POSITIVE_LEAF_SHARE = "positive-leaf-share"
    """Share of the leaves that vote for the last class."""
    LEAF_VOLUME = "leaf-volume"
    """Mean over the leaves of log2 of their volume within [0, 1]^d."""
    POSITIVE_VOLUME = "positive-volume"
    """Volume, within [0, 1]^d, of the region that votes for the last class."""


def measure_shape(forest: Forest, shape: Shape, bounds: LeafBounds | None = None) -> NDArray[np.float64]:
    """Return one number for each tree: (m,).

    Parameters
    ----------
    bounds
        `leaf_bounds(forest)`, if the caller has it already.
    """
    bounds = leaf_bounds(forest) if bounds is None else bounds
    match shape:
        case Shape.MEAN_LEAF_DEPTH:
            return _mean(forest, bounds, forest.node_depth[bounds.node].astype(np.float64))
        case Shape.POSITIVE_LEAF_SHARE:
            return _mean(forest, bounds, _positive(forest, bounds).astype(np.float64))
        case Shape.LEAF_VOLUME:
            return _mean(forest, bounds, _log2_volume(bounds))
        case Shape.POSITIVE_VOLUME:
            volume = np.exp2(_log2_volume(bounds)) * _positive(forest, bounds)
            return _sums(bounds.tree, volume, forest.n_trees)


def _positive(forest: Forest, bounds: LeafBounds) -> NDArray[np.bool_]:
    positive: NDArray[np.bool_] = bounds.code == len(forest.classes) - 1
    return positive


def _sums(place: NDArray[np.int64], values: NDArray[np.float64], length: int) -> NDArray[np.float64]:
    """Add up values by place: (length,)."""
    return np.bincount(place, values, minlength=length).astype(np.float64)


def _mean(forest: Forest, bounds: LeafBounds, values: NDArray[np.float64]) -> NDArray[np.float64]:
    leaves = np.bincount(bounds.tree, minlength=forest.n_trees)
    return _sums(bounds.tree, values, forest.n_trees) / leaves


def _log2_volume(bounds: LeafBounds) -> NDArray[np.float64]:
    """Return log2 of each leaf's volume within the unit cube: (L,)."""
    lower, upper = (np.clip(side.astype(np.float64), 0.0, 1.0) for side in (bounds.lower, bounds.upper))
    widths = np.log2(np.maximum(upper - lower, _MIN_WIDTH))
    return _sums(bounds.leaf, widths, len(bounds.node))


def detect_by_shape(forest: Forest, signature: Marks) -> list[Row]:
    """Score every shape against the true signature: a ranking and a split at the median of each."""
    bounds = leaf_bounds(forest)
    measured = [(shape, measure_shape(forest, shape, bounds)) for shape in Shape]
    return [
        row
        for shape, values in measured
        for row in ranked(shape.value, values, signature, mean=float(values.mean()), std=float(values.std()))
    ]
