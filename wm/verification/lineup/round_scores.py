"""How much each candidate of a boosted line-up resembles a suspect, round by round.

A candidate counts by how it differs from the mean of its round's candidates. The suspect is known by

- what its trees add (`in_order`, `out_of_order`): the cosine with the suspect's tree, both without what that
  mean and a constant explain, so that a factor of all leaves changes nothing; out of order with the tree of
  any place that is most alike, each candidate with its own. Votes count as -1 and 1;
- its margins, or probabilities as margins (`by_margins`), or labels (`by_labels`): what the owner's rounds
  before, the mean candidate, and a judge's honest models do not explain of them by least squares, regressed
  on the round's candidates by ridge regression. Labels are explained by probabilities, and candidates count
  by how much they move these, so most where a label is decided.

All take (m, N, q) outputs and give resemblances (m, N), of which row i is a function of rounds up to i.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wm.verification.lineup.rounds import RoundLineup

RIDGE = 0.1
"""Ridge as a share of the largest eigenvalue; from 0.001 to 0.1 p changed by a few powers of ten."""

_LARGEST = 1e6
"""Leaves count up to so much: a margin of 40 is certain already."""

_MOST = 7.0
"""Margins count up to so much: probabilities nearer to 0 or 1 than 0.001 may have been rounded."""


def in_order(lineup: RoundLineup, trees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the resemblance to the suspect's trees in order: (m, N).

    Rounds without a tree have 0; trees beyond the last round are left out.

    Parameters
    ----------
    trees : (q, any number)
        What each adds to each query.
    """
    found = np.zeros(lineup.shape[:2])
    for row, (candidates, _), tree in zip(found, lineup.rounds(), _bounded(trees).T, strict=False):
        row[:] = _cosines(candidates, tree[None])[:, 0]
    return found


def out_of_order(lineup: RoundLineup, trees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the resemblance to the suspect's trees in any order and number: (m, N).

    Parameters
    ----------
    trees : (q, any number)
    """
    every = _bounded(trees).T
    return np.stack([_cosines(candidates, every).max(axis=1) for candidates, _ in lineup.rounds()])


def _bounded(trees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what trees add within `_LARGEST`: the squares of a thief's larger numbers would be infinite."""
    return np.clip(np.nan_to_num(trees), -_LARGEST, _LARGEST)


def _cosines(candidates: NDArray[np.float64], trees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cosine of each candidate, (N, q), with each tree, (t, q): (N, t)."""
    mean = candidates.mean(axis=0)
    basis = _orthonormal([np.ones_like(mean), mean])
    found: NDArray[np.float64] = (
        _unit(_unexplained(candidates - mean, basis)) @ _unit(_unexplained(trees, basis)).T
    )
    return found


def by_margins(lineup: RoundLineup, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the resemblance to a suspect of which probabilities of class 1 are known: (q,) -> (m, N)."""
    from scipy.special import expit, logit

    margins = logit(np.clip(probabilities, expit(-_MOST), expit(_MOST)))
    mean = lineup.honest.mean(axis=0)
    known = [np.ones_like(mean), mean, mean**2, mean**3, *lineup.honest]
    return _regressed(lineup, margins, known, np.ones_like(mean))


def by_labels(lineup: RoundLineup, labels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the resemblance to a suspect of which labels, 0 and 1, are known: (q,) -> (m, N)."""
    from scipy.special import expit

    honest = expit(lineup.honest)
    mean = honest.mean(axis=0)
    known = [np.ones_like(mean), mean, mean**2, mean**3, *honest]
    return _regressed(lineup, labels, known, mean * (1 - mean))


def _regressed(
    lineup: RoundLineup,
    target: NDArray[np.float64],
    known: Sequence[NDArray[np.float64]],
    weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    found = []
    for candidates, before in lineup.rounds():
        mean = candidates.mean(axis=0)
        basis = _orthonormal([*known, weight * before, weight * mean])
        own = _unexplained(weight * (candidates - mean), basis)
        found.append(_ridge(own, _unexplained(target, basis)))
    return np.stack(found)


def _orthonormal(columns: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return an orthonormal basis of what some vectors span: (q, at most their number)."""
    units = np.stack([_unit(each) for each in columns], axis=1)
    left, values, _ = np.linalg.svd(units, full_matrices=False)
    basis: NDArray[np.float64] = left[:, values > 1e-9 * values[0]] if len(values) else left
    return basis


def _unexplained(vectors: NDArray[np.float64], basis: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what a basis, (q, b), does not explain of vectors, (..., q)."""
    rest: NDArray[np.float64] = vectors - (vectors @ basis) @ basis.T
    return rest


def _ridge(own: NDArray[np.float64], rest: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return coefficients of candidates, (N, q), that explain the rest, (q,): (N,)."""
    inner = own @ own.T
    largest = float(np.linalg.eigvalsh(inner)[-1])
    if largest <= 0:
        return np.zeros(len(own))
    inner[np.diag_indices_from(inner)] += RIDGE * largest
    return np.asarray(np.linalg.solve(inner, own @ rest), dtype=np.float64)


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return vectors, (..., q), with length 1; 0 stays 0."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    found: NDArray[np.float64] = vectors / np.where(length > 0, length, 1.0)
    return found
