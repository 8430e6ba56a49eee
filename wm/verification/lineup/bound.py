"""The p-value of a line-up: how unlikely it is that the owner's candidates look so much like the suspect.

Null hypothesis: the suspect is independent of the owner's keys. Given the suspect and the candidates as they
stand in the line-up, the owner's places are then independent and uniform, whatever the suspect and the
candidates are. With A[i, k] the resemblance of candidate k of position i, standardised for each position, a
statistic is T = sum_i f(A[i, place_i]), and for every t >= 0 (Chernoff)

    P(T' >= T) <= exp(-t T) prod_i mean_k exp(t f(A[i, k])),

which is minimised over t. Every t gives a valid bound: rounding in the search costs power, never validity.
Ties need no rule: the bound is of "at least T", and equal candidates count alike.

Two functions f are tried, and the smaller bound is doubled for the choice. With f(a) = a every position
counts a little, which finds a weak resemblance of all trees. With f(a) = exp(a) one candidate that stands out
counts as much as many that are a little more alike, which finds the few trees that are left of a copy whose
others were replaced.

Of a boosted model the candidates of a round depend on the owner's place in the rounds before. Given these,
the owner's place is uniform again, so that for every fixed t

    E_t = prod_i exp(t f(A[i, place_i])) / mean_k exp(t f(A[i, k]))

has mean 1 under the null hypothesis, and so has its mean over some t and both f. By Markov's inequality
P(mean >= e) <= 1 / e. Nothing may be chosen afterwards here: the mean costs twice the length of `_GRID` at
most.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_FLAT = 1e-9
"""Spread, as a share of a position's largest resemblance, below which its candidates count as alike."""

_MAX_T = 1e6
"""Largest t that is tried: there the bound is within 10^-5 of its limit for any gap that rounding leaves."""

_HALVINGS = 30

_OUTSTANDING = 6.0
"""Resemblance, in standard deviations, above which all candidates stand out alike: no position outweighs the
others. Of N candidates one can be (N - 1)^(1/2) above their mean; of 1,000 independent, hardly one is 4."""

_FUNCTIONS = 2


_GRID = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Values of t for rounds: at the largest the most alike of N candidates counts N-fold."""


def standardised(resemblance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return resemblances, (m, N), with mean 0 and standard deviation 1 in each row.

    A row whose values differ by no more than rounding says nothing, and becomes 0. No row depends on another:
    what a later round is like must not decide whether an earlier one counts.
    """
    centred = resemblance - resemblance.mean(axis=1, keepdims=True)
    spread = centred.std(axis=1, keepdims=True)
    scale = np.abs(resemblance).max(axis=1, keepdims=True)
    found: NDArray[np.float64] = np.where(
        spread > _FLAT * scale, centred / np.where(spread > 0, spread, 1.0), 0.0
    )
    return found


def log10_bound(resemblance: NDArray[np.float64], places: NDArray[np.int64]) -> float:
    """Return an upper bound of the p-value, as a power of ten, at most 0.

    Parameters
    ----------
    resemblance : (m, N)
        Of each candidate of each position to the suspect; not standardised.
    places : (m,)
        The owner's candidate of each position.
    """
    scores = standardised(resemblance)
    smallest = min(_log10_chernoff(each, places) for each in (scores, _outstanding(scores)))
    return min(0.0, smallest + math.log10(_FUNCTIONS))


def _outstanding(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return exp of standardised resemblances, (m, N), with mean 0 in each row."""
    powers = np.exp(np.minimum(scores, _OUTSTANDING) - _OUTSTANDING)
    found: NDArray[np.float64] = powers - powers.mean(axis=1, keepdims=True)
    return found


def _log10_chernoff(scores: NDArray[np.float64], places: NDArray[np.int64]) -> float:
    """Return the bound for scores, (m, N), with mean 0 in each row."""
    total = float(scores[np.arange(len(scores)), places].sum())
    if total <= 0:
        return 0.0
    low, high = 0.0, 1.0
    while _slope(scores, total, high) < 0 and high < _MAX_T:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _slope(scores, total, middle) < 0 else (low, middle)
    return min(0.0, _exponent(scores, total, high) / math.log(10))


def log10_rounds(resemblance: NDArray[np.float64], places: NDArray[np.int64]) -> float:
    """Return an upper bound of the p-value of rounds, as a power of ten, at most 0; see `log10_e`."""
    return min(0.0, -log10_e(resemblance, places))


def log10_e(resemblance: NDArray[np.float64], places: NDArray[np.int64]) -> float:
    """Return the e-value of rounds, as a power of ten: under the null hypothesis its mean is 1.

    Parameters
    ----------
    resemblance : (m, N)
        Of each candidate of each round to the suspect; row i may depend on rounds up to i only.
    places : (m,)
        The owner's candidate of each round.
    """
    scores = standardised(resemblance)
    rows = np.arange(len(scores))
    logs = np.array(
        [
            -_exponent(each, float(each[rows, places].sum()), t)
            for each in (scores, standardised(_outstanding(scores)))
            for t in _GRID
        ]
    )
    largest = float(logs.max())
    return (largest + math.log(float(np.exp(logs - largest).mean()))) / math.log(10)


def log10_floor_of_rounds(alike: NDArray[np.float64]) -> float:
    """Return what log10 p of a line-up of rounds is always above, as in `log10_floor`."""
    return float(np.log10(alike).sum())


def log10_floor(alike: NDArray[np.float64]) -> float:
    """Return the smallest log10 p that a line-up can give, times the functions that are tried.

    Parameters
    ----------
    alike : (m,)
        Share of the candidates of each position that answer all queries as the owner's does, 1 / N or more:
        no suspect is more like that one than like these.
    """
    return min(0.0, math.log10(_FUNCTIONS) + float(np.log10(alike).sum()))


def _exponent(scores: NDArray[np.float64], total: float, t: float) -> float:
    """Return the natural logarithm of the bound at t."""
    top = scores.max(axis=1)
    means = np.exp(t * (scores - top[:, None])).mean(axis=1)
    return float(t * (top.sum() - total) + np.log(means).sum())


def _slope(scores: NDArray[np.float64], total: float, t: float) -> float:
    """Return its derivative, which grows with t."""
    top = scores.max(axis=1, keepdims=True)
    weights = np.exp(t * (scores - top))
    return float((scores * weights).sum(axis=1) @ (1.0 / weights.sum(axis=1)) - total)
