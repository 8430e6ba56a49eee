"""Presence: test whether a forest is watermarked at all, against honest forests of equal settings.

The same statistics are computed for the suspect and for each honest forest. Under the null hypothesis the
suspect is one more honest forest, exchangeable with the others; each p-value is then a rank, exact for any
distribution. Two corrections allow for the number of statistics: Holm's, and the rank of the largest
standardised deviation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
"""Share of outvoted trees from which a probe counts as contested; an honest forest has few such probes."""

_MAX_PROBES = 3000
"""Leaf probes of one forest: all leaves of a small forest, a sample of a larger one's."""


@dataclass(frozen=True)
class PresenceResult:
    """P-values of a suspect among honest forests."""

    names: tuple[str, ...]
    p_values: tuple[float, ...]
    holm: tuple[float, ...]
    """Of each statistic: its name, and its two-sided rank p-value, alone and adjusted for all of them."""
    p_value: float
    """Rank of the largest standardised deviation: valid for all statistics together; at least 1 / (honest
    forests + 1)."""


def presence_statistics(forest: Forest, rng: np.random.Generator) -> dict[str, float]:
    """Return the statistics of one forest, by name; `rng`, its own, draws the probes.

    Shares of the leaf probes: votes' variance along their leading direction (``spectrum_strength``); at least
    `CONTESTED` of the trees outvoted (``contested_share``); in the commonest contested division of the trees
    (``repeated_division``). The others are means and standard deviations over the trees, see `Shape`.
    """
    bounds = leaf_bounds(forest)
    codes = forest.vote_codes(leaf_probes(forest, rng, limit=_MAX_PROBES))
    contested = disagreement(codes) >= CONTESTED
    divisions = codes[contested] != codes[contested][:, :1]
    counts = np.unique(divisions, axis=0, return_counts=True)[1] if contested.any() else np.zeros(1)
    depth, positive, volume = (
        measure_shape(forest, shape, bounds)
        for shape in (Shape.MEAN_LEAF_DEPTH, Shape.POSITIVE_LEAF_SHARE, Shape.LEAF_VOLUME)
    )
    return {
        "spectrum_strength": vote_spectrum(codes).strength,
        "contested_share": float(contested.mean()),
        "repeated_division": float(counts.max() / len(codes)),
        "mean_leaves": float(forest.tree_leaves.mean()),
        "mean_leaf_depth": float(depth.mean()),
        "positive_leaf_share": float(positive.mean()),
        "leaf_volume": float(volume.mean()),
        "depth_spread": float(forest.tree_depths.std()),
        "leaf_volume_spread": float(volume.std()),
    }


def presence_test(suspect: Mapping[str, float], honest: Sequence[Mapping[str, float]]) -> PresenceResult:
    """Rank a suspect among honest forests by the same statistics.

    Raises
    ------
    ModelError
        Fewer than two honest forests.
    """
    if len(honest) < 2:
        raise ModelError(f"presence needs at least two honest forests to compare with, not {len(honest)}")
    row = np.array(list(suspect.values()))
    table = np.array([[one[name] for name in suspect] for one in honest])
    p_values = tuple(
        two_sided(rank_p_value(-row[column], -table[:, column]), rank_p_value(row[column], table[:, column]))
        for column in range(len(row))
    )
    deviations = _deviations(np.vstack([row, table]))
    return PresenceResult(
        names=tuple(suspect),
        p_values=p_values,
        holm=holm(p_values),
        p_value=rank_p_value(float(deviations[0]), deviations[1:]),
    )


def _deviations(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest standardised deviation of each row; all rows are treated alike, so exchangeable."""
    spread = table.std(axis=0)
    standard = np.abs(table - table.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    largest: NDArray[np.float64] = standard.max(axis=1)
    return largest
