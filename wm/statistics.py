"""Statistics that several modules share: rank p-values, correction for many tests, exact intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray


def rank_p_value(observed: float, null: ArrayLike) -> float:
    """Return (1 + #{null >= observed}) / (1 + #null): exact if observed and null are exchangeable.

    Parameters
    ----------
    null : (N,)
        Draws of the statistic under the null hypothesis; none gives 1.
    """
    draws = np.asarray(null, dtype=np.float64)
    # The tolerance makes values equal that differ by rounding only, which can only enlarge p.
    limit = observed - 1e-12 * max(1.0, abs(observed))
    return float((1 + np.count_nonzero(draws >= limit)) / (1 + draws.size))


def two_sided(lower: float, upper: float) -> float:
    """Return the two-sided p-value from those of both tails, each at half of the level."""
    return min(1.0, 2.0 * min(lower, upper))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return p-values adjusted for multiple tests, valid under any dependence (Holm 1979)."""
    order = np.argsort(p_values, kind="stable")
    adjusted = np.empty(len(p_values))
    steps = np.arange(len(p_values), 0, -1) * np.asarray(p_values, dtype=np.float64)[order]
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return tuple(adjusted.tolist())


class Interval(NamedTuple):
    """Bounds of a probability, in [0, 1]."""

    low: float
    high: float


def clopper_pearson(hits: int, trials: int, confidence: float = 0.95) -> Interval:
    """Return the exact interval of a probability (Clopper and Pearson 1934); [0, 1] without trials.

    Raises
    ------
    ValueError
        More hits than trials, fewer than 0, or a confidence outside (0, 1).
    """
    if not 0 <= hits <= trials or not 0 < confidence < 1:
        raise ValueError(f"{hits} hits in {trials} trials at confidence {confidence} are impossible")
    if not trials:
        return Interval(0.0, 1.0)
    from scipy.stats import binomtest

    found = binomtest(hits, trials).proportion_ci(confidence, method="exact")
    return Interval(float(found.low), float(found.high))


def doubled_ranks(values: ArrayLike) -> NDArray[np.int64]:
    """Return twice the rank of each value, from 2; ties share their mean rank, whose double is whole."""
    from scipy.stats import rankdata

    return np.asarray(2 * rankdata(values), dtype=np.int64)
