"""Tails of sums over random subsets: exact, or a proven upper bound where exact counting takes too long."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.signature import Signature

_SAFE_LOG10 = 290.0
"""Below 10^-290 floating point could underflow to zero: there sums are taken in logarithms."""

_MAX_STEPS = 3e8
"""Additions that an exact p-value may take, one or two seconds; beyond them the bound is used."""

_MAX_CELLS = 1e7
"""Numbers that its table may hold: 80 MB, and a few copies."""


def log10_p_value(errors: NDArray[np.integer[Any]], signature: Signature) -> float:
    """Return log10 P(S >= s), S the errors in a uniformly random subset of as many trees as there are ones.

    Exact, by dynamic programming over the trees, or the upper bound of `log10_tail` where that would take too
    long. Since the total of errors is fixed, S >= s means that the
    other trees, a random subset too, hold at most the remaining errors. For a good claim these are few, and
    larger sums need not be followed.

    Parameters
    ----------
    errors : (m,)
        Errors on the trigger set, one count for each tree.
    signature
        m bits; s is the sum of `errors` where they are 1.
    """
    counts = np.asarray(errors, dtype=np.int64)
    # A common factor changes no comparison; a perfect claim (0 or k errors) becomes 0 or 1.
    counts = counts // max(1, int(np.gcd.reduce(counts)))
    allowed = int(counts[signature.array == 0].sum())
    ones, trees = signature.ones, len(signature)
    if _is_too_large(trees - ones, allowed, trees):
        return _log10_bound(counts, trees - ones, allowed)
    log_subsets = math.lgamma(trees + 1) - math.lgamma(ones + 1) - math.lgamma(trees - ones + 1)
    if log_subsets < _SAFE_LOG10 * math.log(10):
        tail = float(sums(counts, trees - ones, allowed).sum())
        return min(0.0, math.log10(tail))
    tail = float(np.logaddexp.reduce(sums(counts, trees - ones, allowed, logs=True)))
    return min(0.0, tail / math.log(10))


def sums(counts: NDArray[np.int64], size: int, limit: int, *, logs: bool = False) -> NDArray[np.float64]:
    """Return P(sum = 0, ..., limit) over random subsets of a size, drawing without replacement.

    Parameters
    ----------
    counts : (m,)
        Errors of each tree.
    size
        Trees in the subset, at most m.
    limit
        Largest sum that is followed.
    logs
        Whether natural logarithms are returned, which cannot underflow.

    Returns
    -------
    (limit + 1,)
    """
    table = np.zeros((size + 1, limit + 1))  # row: trees chosen; column: errors in them
    table[0, 0] = 1.0
    chosen = np.arange(size + 1)
    with np.errstate(divide="ignore"):  # the logarithm of 0
        if logs:
            table = np.log(table)
        for index, count in enumerate(counts):
            share = np.clip((size - chosen) / (len(counts) - index), 0.0, 1.0)[:, None]
            if logs:
                taken, table = table + np.log(share), table + np.log(1.0 - share)
            else:
                taken, table = table * share, table * (1.0 - share)
            if count <= limit:
                add = np.logaddexp if logs else np.add
                table[1:, count:] = add(table[1:, count:], taken[:-1, : limit + 1 - count])
    last: NDArray[np.float64] = table[size]
    return last


def log10_tail(scores: NDArray[np.int64], size: int) -> tuple[float, bool]:
    """Return log10 P(sum over a random subset of that size >= sum of the first `size`), and if it is exact.

    Where exact counting takes too long, the upper bound of `_log10_bound` takes its place.

    Parameters
    ----------
    scores : (n,)
        Whole numbers.
    size
        In 1..n.
    """
    # A large sum of scores is a small sum of shortfalls, which is quick to count.
    short = scores.max() - scores
    total = int(short[:size].sum())
    if _is_too_large(size, total, len(scores)):
        return _log10_bound(short, size, total), False
    first = Signature.of([0] * size + [1] * (len(scores) - size))
    return log10_p_value(short, first), True


def _is_too_large(size: int, limit: int, count: int) -> bool:
    cells = (size + 1) * (limit + 1)
    return cells > _MAX_CELLS or cells * count > _MAX_STEPS


def _log10_bound(scores: NDArray[np.int64], size: int, total: int) -> float:
    """Return an upper bound of log10 P(sum over a random subset of that size <= total).

    Let each item be in the subset by a coin of its own that shows heads with probability p = size / n. Given
    that `size` items are in it, the subset is uniform; so the probability is at most, for every t >= 0 and u,
    exp(t total - u size) prod(1 - p + p exp(u - t score)) / P(binomial(n, p) = size), which is minimized over
    both (Chernoff's bound on the joint generating function; every t and u give a valid bound).
    """
    from scipy.optimize import minimize
    from scipy.special import expit
    from scipy.stats import binom

    count = len(scores)
    if size in (0, count):
        return 0.0
    share = size / count
    scale = float(scores.std()) or 1.0
    x = (scores - scores.mean()) / scale
    limit = (total - size * float(scores.mean())) / scale
    odds = math.log(share / (1.0 - share))

    def exponent(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        t, u = point
        logits = odds + u - t * x
        inside = expit(logits)
        value = t * limit - u * size + float(np.logaddexp(0.0, logits).sum()) + count * math.log1p(-share)
        return value, np.array([limit - float(inside @ x), float(inside.sum()) - size])

    best = minimize(exponent, np.zeros(2), jac=True, method="L-BFGS-B", bounds=[(0.0, None), (None, None)])
    log_bound = float(best.fun) - float(binom.logpmf(size, count, share))
    return min(0.0, log_bound / math.log(10))
