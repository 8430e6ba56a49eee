"""How much each candidate of a line-up resembles a suspect: three ways, for three kinds of answers.

All take the candidates' votes, (m, N, q) of 0 and 1: N candidates for each of m positions, q queries. Let p
be a query's mean vote over all candidates; queries on which all agree are dropped. A vote v counts as
(v - p) / sqrt(p (1 - p) + 0.02): agreement with the few says more than agreement with the many.

- `in_order`: the cosine between candidate (i, k) and the suspect's tree i;
- `out_of_order`: the same with the tree that an assignment gives to position i. The assignment looks at each
  position's best candidate only, wherever it stands, so that it does not depend on the owner's places;
- `by_shares`: the suspect's share of votes, probability or label s for each query is a sum over its trees.
  What p explains of s (a cubic fit, so that labels and recalibrated probabilities do as well as shares) is
  taken off; the rest, r, is regressed on the candidates C, (m N, q), by ridge regression:
  A = (C C' / (m N) + h I)^-1 C r, h a hundredth of the largest eigenvalue. For up to 4,096 candidates the
  matrix is factorised once for all suspects, in O((m N)^2 q). For more, A = C (C' C / (m N) + h I)^-1 r is
  found by conjugate gradients, in some tens of passes over the votes, O(m N q) each, without any matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LEAST_VARIANCE = 0.02
"""Added to p (1 - p), so that no single query decides."""

RIDGE = 0.01
"""Ridge as a share of the largest eigenvalue; measured best from 0.003 to 0.03."""

BANDS = {"": (0.0, 0.2), ", not near ties": (0.1, 0.5), ", far from ties": (0.25, 0.5)}
"""How far from 1/2 p is, at least and less than, on the queries that each test of labels looks at.

The first is for an honest majority, whose label is another by a few trees there only; the others are for
suspects that answer by a coin near a tie.
"""

_FEWEST = 100
"""Queries in a band that are enough to judge labels there."""

_DEGREE = 3
"""Of the polynomial of p that explains a share or label."""

_ITERATIONS = 20
"""Of the power method: the ridge need not be exact."""

_TOLERANCE = 1e-4
"""Residual, as a share of r, at which conjugate gradients stop."""

MOST_FACTORISED = 4096
"""Candidates up to which the matrix is kept: 130 MB."""

_CACHED = 64
"""Candidates whose votes are real numbers at the same time, where each is read once."""

_BLOCK = 1024
"""Candidates, trees or queries whose votes are real numbers at the same time."""


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Votes of candidates on the queries that tell them apart.

    Attributes
    ----------
    votes : (m, N, q) uint8
        0 and 1.
    kept : (all queries,) bool
        Which queries these are.
    mean, weight : (q,)
        p, and 1 / sqrt(p (1 - p) + 0.02).
    """

    votes: NDArray[np.uint8]
    kept: NDArray[np.bool_]
    mean: NDArray[np.float64]
    weight: NDArray[np.float64]
    _bands: dict[str, Contrasts] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, votes: NDArray[np.uint8]) -> Contrasts:
        """Drop the queries on which all candidates agree."""
        mean = votes.mean(axis=(0, 1), dtype=np.float64)
        kept = (mean > 0) & (mean < 1)
        if not kept.all():
            votes, mean = votes.compress(kept, axis=-1), mean[kept]  # an index would put queries first
        return cls(votes, kept, mean, 1.0 / np.sqrt(mean * (1.0 - mean) + _LEAST_VARIANCE))

    def bands(self) -> Iterator[tuple[str, Contrasts]]:
        """Yield those of the queries that are in each of `BANDS`, if they are not too few, and its name."""
        away = np.abs(self.mean - 0.5)
        for name, (low, high) in BANDS.items():
            found = self._bands.get(name) or self._some((away >= low) & (away < high))
            if self._is_small:
                self._bands[name] = found
            if len(found.mean) >= _FEWEST:
                yield name, found

    def _some(self, inside: NDArray[np.bool_]) -> Contrasts:
        kept = self.kept.copy()
        kept[self.kept] = inside
        votes = self.votes.compress(inside, axis=-1)
        return Contrasts(votes, kept, self.mean[inside], self.weight[inside])

    @property
    def _is_small(self) -> bool:
        """Whether what all suspects have in common is kept; of more candidates it is too large."""
        return len(self.flat) <= MOST_FACTORISED

    def unit(self, votes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return a suspect's votes, (trees, q), centred, weighted and with length 1."""
        found = (votes - self.mean) * self.weight
        length = np.linalg.norm(found, axis=-1, keepdims=True)
        return found / np.where(length > 0, length, 1.0)

    def times(self, votes: NDArray[np.uint8], vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return products of candidates' votes, centred and weighted, with vectors: (n, q), (t, q) -> (n, t).

        In double precision, so that equal candidates stay equal.
        """
        turned = vectors * self.weight
        found: NDArray[np.float64] = votes.astype(np.float64) @ turned.T - turned @ self.mean
        return found

    def cosines(self, votes: NDArray[np.uint8], units: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the cosines between candidates and vectors of length 1: (n, q), (t, q) -> (n, t)."""
        square = self.weight**2  # of (v - p)^2, which is v (1 - 2 p) + p^2
        length = votes @ (square * (1 - 2 * self.mean)) + square @ self.mean**2
        return self.times(votes, units) / np.sqrt(np.where(length > 0, length, 1.0))[:, None]

    @property
    def flat(self) -> NDArray[np.uint8]:
        """The votes of one candidate after another: (m N, q)."""
        positions, candidates, queries = self.votes.shape
        return self.votes.reshape(positions * candidates, queries)

    @cached_property
    def _factor(self) -> Any:
        return _factorised(self)

    @cached_property
    def _ridge(self) -> float:
        return RIDGE * _largest_eigenvalue(partial(_squared, self), len(self.mean))

    def regress(self, rest: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coefficients of the ridge regression of residuals, (q,), on the candidates: (m N,)."""
        # What is kept must not hold these votes: in a circle they would stay until it is found.
        if not self._is_small:
            return _candidates_times(self, _iterated(self, self._ridge, rest))
        from scipy.linalg import cho_solve

        found: NDArray[np.float64] = cho_solve(self._factor, _candidates_times(self, rest))
        return found


def in_order(contrasts: Contrasts, votes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the resemblance to the suspect's trees in order: (m, N).

    Parameters
    ----------
    votes : (all queries, m)
        The suspect's, 0 and 1.
    """
    trees = contrasts.unit(votes[contrasts.kept].T)
    pairs = zip(contrasts.votes, trees, strict=True)
    return np.stack([contrasts.cosines(own, tree[None])[:, 0] for own, tree in pairs])


def out_of_order(contrasts: Contrasts, votes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the resemblance to the suspect's trees in any order and number: (m, N).

    Positions to which no tree is assigned have 0.

    Parameters
    ----------
    votes : (all queries, trees)
    """
    from scipy.optimize import linear_sum_assignment

    asked = votes[contrasts.kept]
    asked = asked[
        :, (asked != asked[:1]).any(axis=0)
    ]  # a constant tree resembles no candidate more than another
    found, best = np.zeros(contrasts.votes.shape[:2]), np.zeros((len(contrasts.votes), asked.shape[1]))
    for start in range(0, asked.shape[1], _BLOCK):
        some = slice(start, start + _BLOCK)
        trees = contrasts.unit(asked[:, some].T)
        best[:, some] = [contrasts.cosines(own, trees).max(axis=0) for own in contrasts.votes]
    best -= np.median(best, axis=1, keepdims=True) if best.size else 0.0
    for position, tree in zip(*linear_sum_assignment(-best), strict=True):
        one = contrasts.unit(asked[:, [tree]].T)
        found[position] = contrasts.cosines(contrasts.votes[position], one)[:, 0]
    return found


def by_shares(contrasts: Contrasts, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the resemblance to a suspect of which each query's share of votes or label is known: (m, N).

    Parameters
    ----------
    shares : (all queries,)
        Votes for class 1 as a share, probabilities of class 1, or labels 0 and 1.
    """
    positions, candidates, queries = contrasts.votes.shape
    if not queries:
        return np.zeros((positions, candidates))
    rest = _unexplained(contrasts.mean, shares[contrasts.kept]) * contrasts.weight
    return contrasts.regress(rest).reshape(positions, candidates)


def _factorised(contrasts: Contrasts) -> Any:
    """Return the Cholesky factor of the regression's matrix, (m N, m N), as scipy's `cho_solve` takes it."""
    from scipy.linalg import cho_factor

    flat, count = contrasts.flat, len(contrasts.flat)
    matrix = np.zeros((count, count))
    for start in range(0, flat.shape[1], _BLOCK):
        some = slice(start, start + _BLOCK)
        block = (flat[:, some] - contrasts.mean[some]) * contrasts.weight[some]
        matrix += block @ block.T
    matrix /= count
    matrix[np.diag_indices(count)] += RIDGE * _largest_eigenvalue(matrix.__matmul__, count)
    return cho_factor(matrix, overwrite_a=True)


def _iterated(contrasts: Contrasts, ridge: float, rest: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (C' C / (m N) + h I)^-1 r: (q,)."""
    from scipy.sparse.linalg import LinearOperator, cg

    def times(x: NDArray[Any]) -> NDArray[np.float64]:
        return _squared(contrasts, x) + ridge * x

    matrix = LinearOperator((len(rest), len(rest)), matvec=times, dtype=np.float64)
    found: NDArray[np.float64] = cg(matrix, rest, rtol=_TOLERANCE)[0]
    return found


def _squared(contrasts: Contrasts, x: NDArray[Any]) -> NDArray[np.float64]:
    """Return C' C x / (m N)."""
    from wm.verification.lineup import scores_kernel

    weighted, total = (contrasts.weight * x).astype(np.float32), np.zeros(len(x))
    offset = np.float32(contrasts.mean @ weighted)
    sums = scores_kernel.squared(contrasts.flat, weighted, offset, total)
    found: NDArray[np.float64] = (total - sums * contrasts.mean) * contrasts.weight / len(contrasts.flat)
    return found


def _candidates_times(contrasts: Contrasts, vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return C x: (q,) -> (m N,)."""
    flat = contrasts.flat
    blocks = (flat[start : start + _CACHED] for start in range(0, len(flat), _CACHED))
    return np.concatenate([contrasts.times(block, vector[None])[:, 0] for block in blocks])


def _unexplained(mean: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what a polynomial of the mean vote does not explain of the shares."""
    powers = np.vander(mean - 0.5, _DEGREE + 1)
    found: NDArray[np.float64] = shares - powers @ np.linalg.lstsq(powers, shares, rcond=None)[0]
    return found


def _largest_eigenvalue(times: Callable[[NDArray[np.float64]], NDArray[np.float64]], size: int) -> float:
    """Return about the largest eigenvalue, from below, of a matrix without negative ones, by iteration."""
    vector = np.random.default_rng(0).standard_normal(size)
    for _ in range(_ITERATIONS):
        vector = times(vector / (float(np.linalg.norm(vector)) or 1.0))
    return float(np.linalg.norm(vector)) or 1.0
