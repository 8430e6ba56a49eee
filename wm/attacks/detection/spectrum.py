"""Vote spectrum: trees with the same bit err together, which shows in the leading direction of the votes.

The matrix of votes, centred over the trees for each instance, has a leading singular vector with one entry
for each tree; a watermark shared by all trigger rows pulls the trees with bit 1 to one side of it. The
instances are an unlabelled sample, or points moved into the forest's own leaves: votes are divided in a leaf
that holds a trigger row, and finding it takes no data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.attacks.divisions import majority
from wm.engines.encoding import leaf_bounds
from wm.forest import Forest


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The leading direction of a matrix of votes."""

    scores: NDArray[np.float64]
    """(m,): leading singular vector over the trees, of unit length and arbitrary sign; zeros where all votes
    are unanimous."""
    strengths: NDArray[np.float64]
    """(r,): share of the centred matrix's variance along each direction, descending; they sum to 1, or are
    all 0."""
    projections: NDArray[np.float64]
    """(n,): projection of each instance on the leading direction."""

    @property
    def strength(self) -> float:
        """Share of the variance along the leading direction, in [0, 1]."""
        return float(self.strengths[0])


def vote_spectrum(codes: NDArray[np.int64]) -> Spectrum:
    """Return the spectrum of votes, class columns (n, m), n and m at least 1.

    A vote counts as 1 where it agrees with the majority of its instance, else 0, which allows any number of
    classes; for two classes this is the plain vote up to a sign that changes no singular vector.
    """
    agrees = (codes == majority(codes)[:, None]).astype(np.float64)
    centred = agrees - agrees.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    total = float((centred**2).sum())
    if total == 0:
        return Spectrum(np.zeros(codes.shape[1]), np.zeros(codes.shape[1]), np.zeros(len(codes)))
    leading = vectors[:, -1]
    return Spectrum(leading, np.maximum(values[::-1], 0.0) / total, centred @ leading)


def leaf_probes(
    forest: Forest,
    rng: np.random.Generator,
    *,
    base: NDArray[np.float32] | None = None,
    limit: int | None = None,
) -> NDArray[np.float32]:
    """Return points that reach given leaves: a base point for each, moved to the nearest point of its box.

    Parameters
    ----------
    base : (n, d) float32, optional
        Points to start from, one drawn for each probe; without them, uniform ones of [0, 1]^d.
    limit
        Largest number of probes: leaves are drawn without repetition; None: one probe for each leaf.

    Returns
    -------
    (p, d) float32, in the order of the leaves.
    """
    bounds = leaf_bounds(forest)
    wanted = np.arange(len(bounds.node))
    if limit is not None and len(wanted) > limit:
        wanted = np.sort(rng.choice(wanted, size=limit, replace=False))
    if base is None:
        probes = rng.random((len(wanted), forest.n_features), dtype=np.float32)
    else:
        probes = base[rng.integers(len(base), size=len(wanted))].astype(np.float32)
    for probe, leaf in zip(probes, wanted, strict=True):
        rows = slice(bounds.start[leaf], bounds.start[leaf + 1])
        features = bounds.feature[rows]
        probe[features] = np.clip(probe[features], bounds.lower[rows], bounds.upper[rows])
    return probes
