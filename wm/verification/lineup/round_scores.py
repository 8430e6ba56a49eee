"""How much each candidate of a boosted line-up resembles a suspect, round by round.

A candidate counts by how it differs from the mean of its round's candidates. The suspect is known by

- what its trees add, all without what that mean and a constant explain, so that no factor or constant of a
  tree's leaves changes anything: the cosine with the tree of the same place (`in_order`), or with the one of
  any place that is most alike, each candidate with its own (`out_of_order`); and how much of a candidate the
  span of all trees explains (`by_span`), whatever a thief adds to some trees and takes off others. Votes
  count as -1 and 1;
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

_LARGEST = 1e300
"""Leaves count up to so much: sums of larger numbers would be infinite."""

_DEPENDENT = 1e-6
"""Singular value, as a share of the largest, below which trees count as sums of the others."""

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
    for row, (candidates, _), tree in zip(found, lineup.rounds(), _normalised(trees).T, strict=False):
        row[:] = _cosines(candidates, tree[None])[:, 0]
    return found


def out_of_order(lineup: RoundLineup, trees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the resemblance to the suspect's trees in any order and number: (m, N).

    Parameters
    ----------
    trees : (q, any number)
    """
    every = _normalised(trees).T
    return np.stack([_cosines(candidates, every).max(axis=1) for candidates, _ in lineup.rounds()])


def by_span(lineup: RoundLineup, trees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how much of each candidate the suspect's trees together explain: (m, N).

    Parameters
    ----------
    trees : (q, any number)
        As many different ones as there are queries, or more, explain everything, and say nothing.
    """
    ones = np.ones((lineup.shape[2], 1))
    span = _orthonormal(np.hstack([ones, _normalised(trees)]), _DEPENDENT)
    found = []
    for candidates, _ in lineup.rounds():
        own, _ = _own_parts(candidates)
        # A tree may hold some of the mean candidate, to which own parts are at right angles.
        mean = _unit(candidates.mean(axis=0))
        rest = _unexplained(mean, span)
        also = rest / length if (length := np.linalg.norm(rest)) > _DEPENDENT else np.zeros_like(rest)
        found.append(np.hypot(np.linalg.norm(own @ span, axis=1), own @ also))
    return np.stack(found)


def _normalised(trees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what trees add, (q, t), less its mean, of at most 1: a thief's numbers may be of any size."""
    finite = np.clip(np.nan_to_num(trees), -_LARGEST, _LARGEST)
    centred = finite - finite.mean(axis=0)
    largest = np.abs(centred).max(axis=0, initial=0.0)
    found: NDArray[np.float64] = centred / np.where(largest > 0, largest, 1.0)
    return found


def _cosines(candidates: NDArray[np.float64], trees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cosine of each candidate, (N, q), with each tree, (t, q): (N, t)."""
    own, basis = _own_parts(candidates)
    found: NDArray[np.float64] = own @ _unit(_unexplained(trees, basis)).T
    return found


def _own_parts(candidates: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what each candidate has of its own, (N, q), of length 1, and a basis of the rest, (q, b).

    The rest is what their mean and a constant explain.
    """
    mean = candidates.mean(axis=0)
    basis = _orthonormal(np.stack([np.ones_like(mean), mean], axis=1))
    return _unit(_unexplained(candidates - mean, basis)), basis


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
    # Not 1 - mean, which rounding makes 0 for one of the classes only.
    return _regressed(lineup, labels, known, mean * expit(-lineup.honest).mean(axis=0))


def _regressed(
    lineup: RoundLineup,
    target: NDArray[np.float64],
    known: Sequence[NDArray[np.float64]],
    weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    found = []
    for candidates, before in lineup.rounds():
        mean = candidates.mean(axis=0)
        basis = _orthonormal(np.stack([*known, weight * before, weight * mean], axis=1))
        own = _unexplained(weight * (candidates - mean), basis)
        found.append(_ridge(own, _unexplained(target, basis)))
    return np.stack(found)


def _orthonormal(columns: NDArray[np.float64], dependent: float = 1e-9) -> NDArray[np.float64]:
    """Return an orthonormal basis of what vectors, (q, b), span: (q, at most b)."""
    units = _unit(columns.T).T
    if units.shape[1] > len(units):  # many copies of some, perhaps: squares take less time
        squares, left = np.linalg.eigh(units @ units.T)
        many: NDArray[np.float64] = left[:, squares > dependent**2 * squares[-1]]
        return many
    left, values, _ = np.linalg.svd(units, full_matrices=False)
    basis: NDArray[np.float64] = left[:, values > dependent * values[0]] if len(values) else left
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
