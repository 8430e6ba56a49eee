"""Modifications of single numbers: noise on thresholds, coarser thresholds, flipped leaves."""

from __future__ import annotations

import numpy as np

from wm.attacks.modification.common import AttackerData, check_amount, check_share, spreads
from wm.attacks.modification.rebuild import with_arrays
from wm.forest import Forest


def noise(forest: Forest, strength: float, data: AttackerData, rng: np.random.Generator) -> Forest:
    """Add normal noise to every threshold; the strength is its size in standard deviations of the feature."""
    check_amount(strength, "noise")
    spread = spreads(data.X)[np.maximum(forest.feature, 0)]
    moved = forest.threshold + strength * spread * rng.standard_normal(len(forest.threshold))
    return with_arrays(forest, threshold=np.where(forest.is_leaf, 0.0, moved))


def quantise(forest: Forest, strength: float, data: AttackerData, rng: np.random.Generator) -> Forest:
    """Round every threshold to a multiple of a step; the strength is the step in standard deviations.

    A feature that is constant on the thief's rows keeps its thresholds.
    """
    check_amount(strength, "quantise")
    step = strength * spreads(data.X)[np.maximum(forest.feature, 0)]
    safe = np.where(step > 0, step, 1.0)
    rounded = np.where(step > 0, np.round(forest.threshold / safe) * safe, forest.threshold)
    return with_arrays(forest, threshold=np.where(forest.is_leaf, 0.0, rounded))


def flip_leaves(forest: Forest, strength: float, data: AttackerData, rng: np.random.Generator) -> Forest:
    """Let a random share of the leaves vote for another class, any of the others alike."""
    check_share(strength, "flip-leaves")
    leaves = np.flatnonzero(forest.is_leaf)
    flipped = rng.choice(leaves, size=round(strength * len(leaves)), replace=False)
    classes = len(forest.classes)
    if classes < 2:
        return forest
    code = (forest.node_class[flipped] + rng.integers(1, classes, size=len(flipped))) % classes
    value = forest.value.copy()
    value[flipped] = np.eye(classes)[code]
    return with_arrays(forest, value=value)
