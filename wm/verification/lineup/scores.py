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
  A = (C C' / (m N) + h I)^-1 C r, h a hundredth of the largest eigenvalue. For fewer queries than candidates
  the same numbers come from A = C (C' C / (m N) + h I)^-1 r. So the cost is O(m N q min(m N, q)) time and
  O(min(m N, q)^2) memory beside the votes, which are read in blocks: 18,000 candidates and 2,000 queries take
  seconds and 40 MB.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_LEAST_VARIANCE = 0.02
"""Added to p (1 - p), so that no single query decides."""

RIDGE = 0.01
"""Ridge as a share of the largest eigenvalue; measured best from 0.003 to 0.03."""

DIVIDED = (0.3, 0.7)
"""Mean votes between which a forest's label is often another by a few trees."""

_FEWEST = 100
"""Divided queries that are enough for labels."""

_DEGREE = 3
"""Of the polynomial of p that explains a share or label."""

_ITERATIONS = 30
"""Of the power method: the ridge need not be exact."""

_BLOCK = 1024
"""Candidates whose votes are real numbers at the same time."""


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

    @classmethod
    def of(cls, votes: NDArray[np.uint8]) -> Contrasts:
        """Drop the queries on which all candidates agree."""
        return cls._between(votes, 0.0, 1.0)

    def divided(self) -> Contrasts:
        """Return those of the queries on which a label says something; all if there are too few."""
        found = self._between(self.votes, *DIVIDED)
        if found.kept.sum() < _FEWEST:
            return self
        kept = self.kept.copy()
        kept[self.kept] = found.kept
        return Contrasts(found.votes, kept, found.mean, found.weight)

    @classmethod
    def _between(cls, votes: NDArray[np.uint8], low: float, high: float) -> Contrasts:
        mean = votes.mean(axis=(0, 1), dtype=np.float64)
        kept = (mean > low) & (mean < high)
        if not kept.all():
            votes, mean = votes[..., kept], mean[kept]
        return cls(votes, kept, mean, 1.0 / np.sqrt(mean * (1.0 - mean) + _LEAST_VARIANCE))

    def weighted(self, votes: NDArray[np.uint8] | NDArray[np.int64]) -> NDArray[np.float64]:
        """Return votes, (..., q), centred and weighted."""
        found: NDArray[np.float64] = (votes - self.mean) * self.weight
        return found

    def unit(self, votes: NDArray[np.uint8] | NDArray[np.int64]) -> NDArray[np.float64]:
        """Return them with length 1 too."""
        found = self.weighted(votes)
        length = np.linalg.norm(found, axis=-1, keepdims=True)
        return found / np.where(length > 0, length, 1.0)


def in_order(contrasts: Contrasts, votes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the resemblance to the suspect's trees in order: (m, N).

    Parameters
    ----------
    votes : (all queries, m)
        The suspect's, 0 and 1.
    """
    trees = contrasts.unit(votes[contrasts.kept].T)
    return np.stack([contrasts.unit(own) @ tree for own, tree in zip(contrasts.votes, trees, strict=True)])


def out_of_order(contrasts: Contrasts, votes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the resemblance to the suspect's trees in any order and number: (m, N).

    Positions to which no tree is assigned have 0.

    Parameters
    ----------
    votes : (all queries, trees)
    """
    from scipy.optimize import linear_sum_assignment

    trees = contrasts.unit(votes[contrasts.kept].T)
    best = np.stack([(contrasts.unit(own) @ trees.T).max(axis=0) for own in contrasts.votes])  # (m, trees)
    best -= np.median(best, axis=1, keepdims=True)
    found = np.zeros(contrasts.votes.shape[:2])
    for position, tree in zip(*linear_sum_assignment(-best), strict=True):
        found[position] = contrasts.unit(contrasts.votes[position]) @ trees[tree]
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
    count = positions * candidates
    if queries <= count:
        inner = np.zeros((queries, queries))
        for block in _blocks(contrasts):
            single = block.astype(np.float32)  # half the time; the ridge is far above its rounding
            inner += single.T @ single
        towards = _ridge_solution(inner / count, rest)
        found = [block @ towards for block in _blocks(contrasts)]
        return np.concatenate(found).reshape(positions, candidates)
    every = np.concatenate(list(_blocks(contrasts)))
    return _ridge_solution(every @ every.T / count, every @ rest).reshape(positions, candidates)


def _blocks(contrasts: Contrasts) -> Iterator[NDArray[np.float64]]:
    flat = contrasts.votes.reshape(-1, contrasts.votes.shape[-1])
    for start in range(0, len(flat), _BLOCK):
        yield contrasts.weighted(flat[start : start + _BLOCK])


def _unexplained(mean: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what a polynomial of the mean vote does not explain of the shares."""
    powers = np.vander(mean - 0.5, _DEGREE + 1)
    found: NDArray[np.float64] = shares - powers @ np.linalg.lstsq(powers, shares, rcond=None)[0]
    return found


def _ridge_solution(matrix: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.linalg import cho_factor, cho_solve

    matrix[np.diag_indices_from(matrix)] += RIDGE * _largest_eigenvalue(matrix)
    found: NDArray[np.float64] = cho_solve(cho_factor(matrix, overwrite_a=True), right)
    return found


def _largest_eigenvalue(matrix: NDArray[np.float64]) -> float:
    """Return about the largest eigenvalue, from below, of a matrix without negative ones, by iteration."""
    vector = np.ones(len(matrix))
    for _ in range(_ITERATIONS):
        vector = matrix @ vector
        vector /= float(np.linalg.norm(vector)) or 1.0
    return max(float(vector @ matrix @ vector), float(matrix.diagonal().max()))
