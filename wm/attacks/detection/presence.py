"""Presence: is a forest watermarked at all? Compared with honest forests of equal settings.

Several statistics of a bare forest are taken of the suspect and of each honest forest. Under the null
hypothesis the suspect is one more honest forest, exchangeable with the others; each p-value is then a rank,
exact whatever the distribution. Trying several statistics is corrected for twice: by Holm, and by the rank of
the largest standardised deviation among all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields

import numpy as np
from numpy.typing import NDArray

from wm.attacks.detection.shapes import Shape, measure_shape
from wm.attacks.detection.spectrum import leaf_probes, vote_spectrum
from wm.attacks.divisions import disagreement
from wm.engines.encoding import leaf_bounds
from wm.errors import ModelError
from wm.forest import Forest
from wm.statistics import holm, rank_p_value, two_sided

CONTESTED = 0.4
"""Share of trees outvoted from which on a probe counts as contested: few are, on an honest forest."""

PROBES = 3000
"""Leaf probes taken of one forest: all leaves of a small forest, a sample of a larger one's."""


@dataclass(frozen=True)
class PresenceStatistics:
    """What is compared.

    Attributes
    ----------
    spectrum_strength
        Share of the variance of leaf probes' votes along their leading direction.
    contested_share
        Share of leaf probes on which at least `CONTESTED` of the trees are outvoted.
    repeated_division
        Share of leaf probes in the commonest contested division of the trees.
    mean_leaves, mean_leaf_depth, positive_leaf_share, leaf_volume
        Means over the trees; see `Shape`.
    depth_spread, leaf_volume_spread
        Standard deviations over the trees, of depth and `Shape.LEAF_VOLUME`.
    """

    spectrum_strength: float
    contested_share: float
    repeated_division: float
    mean_leaves: float
    mean_leaf_depth: float
    positive_leaf_share: float
    leaf_volume: float
    depth_spread: float
    leaf_volume_spread: float


@dataclass(frozen=True)
class PresenceResult:
    """Whether a suspect stands out among honest forests.

    Attributes
    ----------
    honest
        Number of honest forests.
    names, p_values, holm
        For each statistic its two-sided rank p-value, alone and adjusted for all of them.
    deviation
        Largest standardised deviation of the suspect.
    p_value
        Rank of that deviation: valid for all statistics together; at least 1 / (honest + 1).
    """

    honest: int
    names: tuple[str, ...]
    p_values: tuple[float, ...]
    holm: tuple[float, ...]
    deviation: float
    p_value: float


def presence_statistics(
    forest: Forest, rng: np.random.Generator, *, base: NDArray[np.float32] | None = None
) -> PresenceStatistics:
    """Measure one forest.

    Parameters
    ----------
    rng
        Draws the probes; give every forest a generator of its own.
    base : (n, d) float32, optional
        Unlabelled sample that probes start from, as in `leaf_probes`; the same for all forests.
    """
    bounds = leaf_bounds(forest)
    codes = forest.vote_codes(leaf_probes(forest, rng, base=base, limit=PROBES))
    contested = disagreement(codes) >= CONTESTED
    divisions = codes[contested] != codes[contested][:, :1]
    counts = np.unique(divisions, axis=0, return_counts=True)[1] if contested.any() else np.zeros(1)
    depth, positive, volume = (
        measure_shape(forest, shape, bounds)
        for shape in (Shape.MEAN_LEAF_DEPTH, Shape.POSITIVE_LEAF_SHARE, Shape.LEAF_VOLUME)
    )
    return PresenceStatistics(
        spectrum_strength=vote_spectrum(codes).strength,
        contested_share=float(contested.mean()),
        repeated_division=float(counts.max() / len(codes)),
        mean_leaves=float(forest.tree_leaves.mean()),
        mean_leaf_depth=float(depth.mean()),
        positive_leaf_share=float(positive.mean()),
        leaf_volume=float(volume.mean()),
        depth_spread=float(forest.tree_depths.std()),
        leaf_volume_spread=float(volume.std()),
    )


def presence_test(suspect: PresenceStatistics, honest: Sequence[PresenceStatistics]) -> PresenceResult:
    """Rank a suspect among honest forests.

    Raises
    ------
    ModelError
        Fewer than two honest forests.
    """
    table = _table(honest)
    row = np.array(astuple(suspect))
    p_values = tuple(
        two_sided(rank_p_value(-row[column], -table[:, column]), rank_p_value(row[column], table[:, column]))
        for column in range(len(row))
    )
    deviations = _deviations(np.vstack([row, table]))
    return PresenceResult(
        honest=len(table),
        names=tuple(field.name for field in fields(PresenceStatistics)),
        p_values=p_values,
        holm=holm(p_values),
        deviation=float(deviations[0]),
        p_value=rank_p_value(float(deviations[0]), deviations[1:]),
    )


def _table(honest: Sequence[PresenceStatistics]) -> NDArray[np.float64]:
    if len(honest) < 2:
        raise ModelError(f"presence needs at least two honest forests to compare with, not {len(honest)}")
    return np.array([astuple(one) for one in honest])


def _deviations(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest standardised deviation of each row, all rows treated alike (hence exchangeable)."""
    spread = table.std(axis=0)
    standard = np.abs(table - table.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    largest: NDArray[np.float64] = standard.max(axis=1)
    return largest
