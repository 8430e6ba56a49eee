"""Evidence from the votes on a codebook's rows, with the trees in order or not.

Null hypothesis: the suspect is independent of the codebook. Its bits are then independent coins with the
chance rho of a one, whatever the suspect's votes are; every p-value here is one over these coins, given the
votes.

Let a vote be wrong or right, and its bit 1 or 0. With the trees in order the statistic is

    gain x (wrong votes with bit 1) - cost x (right votes with bit 1),

where both weights follow from the votes alone (`weights`). The two counts are independent and binomial, so
the tail is an exact sum over one of them, in logarithms. Counting matched bits would be the case gain = cost;
a pruned copy is wrong on few votes, but where it is wrong its bits are ones, and the weights see that.

With the order lost, each suspect tree is compared with each column of the codebook by an e-value: the
likelihood ratio of the column's bits between a copy of that column's tree and a stranger. Under the null its
expectation is 1, and so is that of the product over a matching of different trees to different columns, since
columns are independent. There are t! / (t - r)! m! / (m - r)! / r! matchings of r trees, so by Markov's
inequality the best product is at least their number over p with chance at most p. Dropped, added, shuffled,
replaced and duplicated trees all are covered; the number of matchings is the price. It is lower where the
trees that are left kept their order, for r! fewer matchings do: both are tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

HONEST_ERROR = 0.05
"""Share of wrong votes of an unmarked tree, where a judge has no controls to measure it on."""

FIDELITIES = (0.3, 0.6, 0.85, 0.97, 0.999)
"""Shares of a tree's votes that follow its bits in the copies that a matching looks for."""

MAX_PAIRS = 10**6
"""Pairs of a suspect's tree and a column among which a matching is sought, about a second; of more trees,
those are taken that are most like each column."""

_RESOLUTION = 100
"""Weights are whole multiples of 1 / this, so that equal statistics are equal numbers."""


def log10_in_order(wrong: NDArray[np.bool_], bits: NDArray[np.bool_], rho: float, error: float) -> float:
    """Return the exact log10 p of votes whose trees are in the codebook's order.

    Parameters
    ----------
    wrong, bits : (k, m) bool
        Which votes are wrong, and which should be.
    rho
        Chance of a one, in (0, 1).
    error
        Share of wrong votes of an unmarked tree, in (0, 1); not computed from the bits. It decides which
        copies the test finds best, not whether it is valid.
    """
    gain, cost = weights(float(wrong.mean()), rho, error)
    found, missed = int((wrong & bits).sum()), int((~wrong & bits).sum())
    some = np.arange(int(wrong.sum()) + 1)
    most = (gain * (some - found) + cost * missed) // cost
    reached = most >= 0
    below = np.logaddexp.accumulate(_log_binomial(int((~wrong).sum()), rho))
    tail = _log_binomial(len(some) - 1, rho)[reached] + below[np.minimum(most[reached], len(below) - 1)]
    return min(0.0, float(np.logaddexp.reduce(tail)) / math.log(10))


def weights(wrong: float, rho: float, error: float) -> tuple[int, int]:
    """Return gain and cost: the log-likelihood ratios of a vote that is wrong, and right, by its bit.

    The model is a copy of which a share f of the votes follows the bits while the others err at the honest
    rate; f is the one that explains the share of wrong votes.
    """
    error = min(max(error, 0.001), 0.5)
    explained = (wrong - error) / (rho - error) if rho > error else 0.5
    marked, plain = _error_rates(min(max(explained, 0.05), 0.98), error)
    gain, cost = math.log(marked / plain), math.log((1 - plain) / (1 - marked))
    return max(1, round(_RESOLUTION * gain)), max(1, round(_RESOLUTION * cost))


def log10_floor(bits: NDArray[np.bool_], rho: float) -> float:
    """Return the smallest log10 p of `log10_in_order`: that of votes that follow all bits."""
    return float(_column_floors(bits, rho).sum())


@dataclass(frozen=True)
class Matching:
    """The best matching of a suspect's trees with a codebook's columns.

    Attributes
    ----------
    log10_p
        Valid whatever the order and number of the trees, as a power of ten.
    trees
        Number of trees that it rests on; 0 where p is 1.
    bits
        Share of the votes, in the trees that can be matched, that fit.
    """

    log10_p: float
    trees: int
    bits: float


_NOTHING = Matching(0.0, 0, 0.0)


def match_columns(
    wrong: NDArray[np.bool_], bits: NDArray[np.bool_], rho: float, errors: NDArray[np.float64]
) -> Matching:
    """Return the best matching that is found, corrected for all matchings.

    Parameters
    ----------
    wrong : (k, t) bool
        Which votes of the suspect's t trees are wrong.
    bits : (k, m) bool
        The codebook's.
    rho
        Chance of a one, in (0, 1).
    errors : (t,)
        Share of wrong votes of each tree where it is not marked, as `error` of `log10_in_order`.
    """
    from scipy.optimize import linear_sum_assignment

    trees = wrong.shape[1]
    tried = [
        _judged(wrong[:, kept], bits, scores, pairs, partial(count, trees))
        for fidelity in FIDELITIES
        for all_scores in [log_ratios(wrong, bits, rho, np.clip(errors, 0.001, 0.5), fidelity)]
        for kept in [_most_alike(all_scores)]
        for scores in [all_scores[kept]]
        for pairs, count in (
            (linear_sum_assignment(np.maximum(scores, 0.0), maximize=True), log_matchings),
            (in_old_order(scores), log_matchings_in_order),
        )
    ]
    best = min(tried, key=lambda each: each.log10_p)
    log10_p = best.log10_p + math.log10(len(tried))
    return replace(best, log10_p=log10_p) if log10_p < 0 else replace(_NOTHING, bits=best.bits)


_Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Trees and their columns."""


def _judged(
    wrong: NDArray[np.bool_],
    bits: NDArray[np.bool_],
    scores: NDArray[np.float64],
    pairs: _Pairs,
    count: Callable[[int], NDArray[np.float64]],
) -> Matching:
    """Return p of a matching by the natural logarithms of the e-values, (t, m), for one fidelity.

    `count` returns, for the number of columns, ln of the number of such matchings of 1, 2, ... of all trees.
    """
    trees, columns = pairs
    if not len(trees):
        return _NOTHING
    found = np.sort(scores[trees, columns])[::-1]
    # The choice of a length is paid for, of all trees; a prefix is at most the best product of its length.
    matchings = count(scores.shape[1])
    logs = matchings[: len(found)] + math.log(len(matchings)) - np.cumsum(found)
    size = int(np.argmin(logs))
    fits = wrong[:, trees] == bits[:, columns]
    return Matching(float(logs[size]) / math.log(10), size + 1, float(fits.mean()))


def _most_alike(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return all trees of scores (t, m), or of too many those that are most like each column, ascending."""
    trees, columns = scores.shape
    if trees * columns <= MAX_PAIRS:
        return np.arange(trees)
    each = max(1, MAX_PAIRS // columns**2)
    return np.unique(np.argpartition(-scores, each, axis=0)[:each])


def in_old_order(scores: NDArray[np.float64]) -> _Pairs:
    """Return the matching of the largest sum of scores, (t, m), among those that keep the order."""
    trees, columns = scores.shape
    best = np.zeros((trees + 1, columns + 1))
    for tree, row in enumerate(scores):
        taken = np.maximum(best[tree, 1:], best[tree, :-1] + row)
        best[tree + 1, 1:] = np.maximum.accumulate(np.maximum(taken, 0.0))
    pairs = []
    tree, column = trees, columns
    while tree and column:
        if best[tree, column] == best[tree - 1, column]:
            tree -= 1
        elif best[tree, column] == best[tree, column - 1]:
            column -= 1
        else:
            tree, column = tree - 1, column - 1
            pairs.append((tree, column))
    found = np.array(pairs[::-1], dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def log10_aligned_floor(bits: NDArray[np.bool_], trees: int, rho: float) -> float:
    """Return a lower bound of the log10 p that `match_columns` can give for a number of suspect trees."""
    sizes = min(trees, bits.shape[1])
    best = np.cumsum(np.sort(_column_floors(bits, rho))[:sizes])
    return min(0.0, float((best + log_matchings_in_order(trees, bits.shape[1]) / math.log(10)).min()))


def _error_rates(fidelity: float, error: float) -> tuple[float, float]:
    """Return the chance that a copy's vote is wrong where its bit is 1, and where it is 0."""
    plain = (1 - fidelity) * error
    return fidelity + plain, plain


def _column_floors(bits: NDArray[np.bool_], rho: float) -> NDArray[np.float64]:
    """Return log10 of the chance of each column's bits: (m,)."""
    ones = bits.sum(axis=0)
    found: NDArray[np.float64] = ones * math.log10(rho) + (len(bits) - ones) * math.log10(1 - rho)
    return found


def log_ratios(
    wrong: NDArray[np.bool_],
    bits: NDArray[np.bool_],
    rho: float,
    errors: NDArray[np.float64],
    fidelity: float,
) -> NDArray[np.float64]:
    """Return the natural logarithm of each e-value, (t, m): of t suspect trees and m columns.

    Parameters
    ----------
    wrong, bits, rho, errors
        As in `match_columns`; errors in (0, 1).
    fidelity
        Share of the votes that follow the bits in the copies that are looked for, in (0, 1).
    """
    w, b = wrong.astype(np.float64), bits.astype(np.float64)
    plain = (1 - fidelity) * errors
    marked = fidelity + plain
    total = np.zeros((w.shape[1], b.shape[1]))
    for seen, on_one, on_zero in ((w, marked, plain), (1 - w, 1 - marked, 1 - plain)):
        mean = rho * on_one + (1 - rho) * on_zero
        total += (seen * np.log(on_one / mean)).T @ b + (seen * np.log(on_zero / mean)).T @ (1 - b)
    return total


def log_matchings(trees: int, columns: int) -> NDArray[np.float64]:
    """Return ln of the number of matchings of r = 1, 2, ... trees to different columns."""
    from scipy.special import gammaln

    r = np.arange(1, min(trees, columns) + 1)
    found: NDArray[np.float64] = (
        gammaln(trees + 1)
        - gammaln(trees - r + 1)
        + gammaln(columns + 1)
        - gammaln(columns - r + 1)
        - gammaln(r + 1)
    )
    return found


def log_matchings_in_order(trees: int, columns: int) -> NDArray[np.float64]:
    """Return ln of the number of matchings of r = 1, 2, ... trees to as many columns in the same order."""
    from scipy.special import gammaln

    r = np.arange(1, min(trees, columns) + 1)
    found: NDArray[np.float64] = log_matchings(trees, columns) - gammaln(r + 1)
    return found


def _log_binomial(count: int, rho: float) -> NDArray[np.float64]:
    """Return ln P(0), ..., ln P(count) of the binomial distribution."""
    from scipy.special import gammaln

    x = np.arange(count + 1)
    found: NDArray[np.float64] = (
        gammaln(count + 1)
        - gammaln(x + 1)
        - gammaln(count - x + 1)
        + x * math.log(rho)
        + (count - x) * math.log1p(-rho)
    )
    return found
