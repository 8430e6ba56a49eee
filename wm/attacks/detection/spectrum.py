"""Vote spectrum: trees with one bit err together, and so the votes have a direction of their own.

The matrix of votes, centred over the trees for each instance, has a leading singular vector with one entry
for each tree; a watermark shared by all trigger rows pulls the trees with bit 1 to one side of it. The
instances are a sample (unlabelled), or points clipped into the forest's own leaves: a leaf that holds a
trigger row draws a divided vote, and needs no data at all to be asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wm.attacks.detection.guesses import GuessScore, ValueScore, as_guess, score_guess, score_values
from wm.attacks.divisions import majority
from wm.engines.encoding import leaf_bounds
from wm.forest import Forest
from wm.signature import Signature

Mode = Literal["sample", "leaf-probe", "blind leaf-probe"]
"""The instances are natural; or natural ones moved into leaves; or uniform ones moved into leaves."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The leading direction of a matrix of votes.

    Attributes
    ----------
    scores : (m,)
        Leading singular vector over the trees, of unit length, its sign arbitrary; zeros where no vote is
        ever divided.
    strengths : (r,)
        Share of the centred matrix's variance along each direction, descending; they sum to 1, or are all 0.
    projections : (n,)
        Each instance's part along the leading direction.
    """

    scores: NDArray[np.float64]
    strengths: NDArray[np.float64]
    projections: NDArray[np.float64]

    @property
    def strength(self) -> float:
        """Share of the variance along the leading direction, in [0, 1]."""
        return float(self.strengths[0])


@dataclass(frozen=True, eq=False)
class SpectrumResult:
    """How much of a signature the spectrum gives away.

    Attributes
    ----------
    mode
        Where the instances came from.
    points
        How many they were.
    strength
        See `Spectrum`.
    scores : (m,)
        See `Spectrum`.
    values
        The scores as a ranking of the trees.
    guess
        The trees divided at the median score.
    """

    mode: Mode
    points: int
    strength: float
    scores: NDArray[np.float64]
    values: ValueScore
    guess: GuessScore


def vote_spectrum(codes: NDArray[np.int64]) -> Spectrum:
    """Return the spectrum of votes, class columns (n, m), n and m at least 1.

    An instance is counted by which trees vote as its majority, so that any number of classes will do; for
    two classes this is the plain vote up to a sign that changes no singular vector.
    """
    agrees = (codes == majority(codes)[:, None]).astype(np.float64)
    centred = agrees - agrees.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    total = float((centred**2).sum())
    if total == 0:
        return Spectrum(np.zeros(codes.shape[1]), np.zeros(codes.shape[1]), np.zeros(len(codes)))
    leading = vectors[:, -1]
    return Spectrum(leading, np.maximum(values[::-1], 0.0) / total, centred @ leading)


def split_at_median(spectrum: Spectrum) -> NDArray[np.int64]:
    """Return a guess of the signature, up to complement: 1 for scores above their median, (m,)."""
    return as_guess(spectrum.scores)


def leaf_probes(
    forest: Forest,
    rng: np.random.Generator,
    *,
    base: NDArray[np.float32] | None = None,
    per_leaf: int = 1,
    limit: int | None = None,
) -> NDArray[np.float32]:
    """Return points that reach given leaves: a base point, moved as little as each leaf's box demands.

    Parameters
    ----------
    base : (n, d) float32, optional
        Points to start from, one drawn for each probe; without them, uniform ones of [0, 1]^d.
    per_leaf
        Probes for each leaf; at least 1.
    limit
        Most probes; leaves are then drawn without repetition.

    Returns
    -------
    (p, d) float32, by leaf.
    """
    bounds = leaf_bounds(forest)
    wanted = np.repeat(np.arange(len(bounds.node)), per_leaf)
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


def detect_by_spectrum(
    codes: NDArray[np.int64], signature: Signature, *, mode: Mode = "sample"
) -> SpectrumResult:
    """Score the spectrum of votes (n, m) against the true signature."""
    spectrum = vote_spectrum(codes)
    return SpectrumResult(
        mode=mode,
        points=len(codes),
        strength=spectrum.strength,
        scores=spectrum.scores,
        values=score_values(spectrum.scores, signature),
        guess=score_guess(split_at_median(spectrum), signature),
    )
