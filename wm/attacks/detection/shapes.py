"""Numbers read off the shape of each tree, beyond the paper's depth and leaves.

Trees that must isolate flipped rows grow longer branches, more small leaves, and a positive region of other
volume. Which way a number leans differs from set to set, so that a guess is scored up to complement.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from wm.attacks.detection.guesses import GuessScore, ValueScore, as_guess, score_guess, score_values
from wm.engines.encoding import LeafBounds, leaf_bounds
from wm.forest import Forest
from wm.signature import Signature

_THINNEST = 2.0**-40
"""Least width that a side of a box counts with: a box outside [0, 1] has none, and its logarithm no value."""


class Shape(StrEnum):
    """What is measured on each tree; all from leaves that some instance can reach."""

    MEAN_LEAF_DEPTH = "mean-leaf-depth"
    """Mean depth of the leaves, in edges."""
    POSITIVE_LEAF_SHARE = "positive-leaf-share"
    """Share of the leaves that vote for the last class."""
    LEAF_VOLUME = "leaf-volume"
    """Mean over the leaves of log2 of their volume within [0, 1]^d."""
    POSITIVE_VOLUME = "positive-volume"
    """Volume, within [0, 1]^d, of the region that votes for the last class."""


@dataclass(frozen=True)
class ShapeResult:
    """How much of a signature one shape gives away.

    Attributes
    ----------
    shape
        What was measured.
    mean, std
        Of the measure over the ensemble (population standard deviation).
    values
        The measure as a ranking of the trees.
    guess
        The trees divided at the median.
    """

    shape: Shape
    mean: float
    std: float
    values: ValueScore
    guess: GuessScore


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
    widths = np.log2(np.maximum(upper - lower, _THINNEST))
    return _sums(bounds.leaf, widths, len(bounds.node))


def detect_by_shape(forest: Forest, signature: Signature) -> list[ShapeResult]:
    """Measure every shape and score it against the true signature."""
    bounds = leaf_bounds(forest)
    results = []
    for shape in Shape:
        values = measure_shape(forest, shape, bounds)
        results.append(
            ShapeResult(
                shape=shape,
                mean=float(values.mean()),
                std=float(values.std()),
                values=score_values(values, signature),
                guess=score_guess(as_guess(values), signature),
            )
        )
    return results
