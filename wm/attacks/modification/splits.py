"""Modifications of single numbers: noise on thresholds, coarser thresholds, flipped leaves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wm.attacks.modification.common import AttackerData
from wm.forest import Forest


def noise(forest: Forest, strength: float, data: AttackerData, rng: np.random.Generator) -> Forest:
    """Add normal noise to every threshold; the strength is its size in standard deviations of the feature."""
    spread = _spread(forest, data)
    moved = forest.threshold + strength * spread * rng.standard_normal(len(forest.threshold))
    return forest.changed(threshold=np.where(forest.is_leaf, 0.0, moved))


def quantise(forest: Forest, strength: float, data: AttackerData, rng: np.random.Generator) -> Forest:
    """Round every threshold to a multiple of a step; the strength is the step in standard deviations.

    A feature that is constant on the thief's rows keeps its thresholds.
    """
    step = strength * _spread(forest, data)
    safe = np.where(step > 0, step, 1.0)
    rounded = np.where(step > 0, np.round(forest.threshold / safe) * safe, forest.threshold)
    return forest.changed(threshold=np.where(forest.is_leaf, 0.0, rounded))


def flip_leaves(forest: Forest, strength: float, data: AttackerData, rng: np.random.Generator) -> Forest:
    """Let a random share of the leaves vote for another class, any of the others alike."""
    leaves = np.flatnonzero(forest.is_leaf)
    flipped = rng.choice(leaves, size=round(strength * len(leaves)), replace=False)
    classes = len(forest.classes)
    if classes < 2:
        return forest
    code = (forest.node_class[flipped] + rng.integers(1, classes, size=len(flipped))) % classes
    value = forest.value.copy()
    value[flipped] = np.eye(classes)[code]
    return forest.changed(value=value)


def _spread(forest: Forest, data: AttackerData) -> NDArray[np.float64]:
    """Return the standard deviation of each node's feature over the thief's rows: (nodes,)."""
    spread: NDArray[np.float64] = data.X.astype(np.float64).std(axis=0)[np.maximum(forest.feature, 0)]
    return spread
