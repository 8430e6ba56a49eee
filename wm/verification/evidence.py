"""Verification by votes: matched bits and an exact p-value.

The paper's rule (Section 3.2): every tree errs on every trigger row iff its bit is 1. That rule is brittle
and does not account for chance, so there is also an exact p-value.

Null hypothesis: the suspect model is independent of the signature. Then, given the number of errors of each
tree on the trigger set, the n1 ones of the signature are a uniformly random subset of the m trees; the
statistic is the number of errors in those trees. All rows share one signature, so a pooled binomial over
k x m bits would count the same coincidence k times and is not valid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm.errors import ClaimError
from wm.signature import Signature

DEFAULT_LEVEL = 1e-6
"""Default of the largest p-value that is called significant."""

_SAFE_LOG10 = 290.0
"""Below 10^-290 floating point could underflow to zero: there sums are taken in logarithms."""


@dataclass(frozen=True)
class Evidence:
    """Result of verification by votes.

    Attributes
    ----------
    trigger_size
        k, rows of the trigger set.
    n_trees
        m, bits of the signature.
    matched_bits, total_bits
        Number of the k x m votes that fit the signature, and k x m.
    exact_match
        The paper's rule: all of them do.
    matched_trees
        Number of trees that fit the signature on every row.
    ones
        Number of ones in the signature.
    errors_in_ones, errors
        Errors on the trigger set in the trees with bit 1, and in all trees.
    log10_p
        Exact p-value of `errors_in_ones` under the null, as a power of ten.
    level, significant
        Level of significance, and whether p <= level.
    """

    trigger_size: int
    n_trees: int
    matched_bits: int
    total_bits: int
    exact_match: bool
    matched_trees: int
    ones: int
    errors_in_ones: int
    errors: int
    log10_p: float
    level: float
    significant: bool

    @property
    def p_value(self) -> float:
        """The p-value; 0.0 only when it is below the smallest floating-point number."""
        return float(10.0**self.log10_p)


def verify(
    votes: ArrayLike, labels: ArrayLike, signature: Signature, *, level: float = DEFAULT_LEVEL
) -> Evidence:
    """Judge a suspect model's votes on a trigger set.

    Parameters
    ----------
    votes : (k, m)
        The suspect's class values, one row for each trigger row, one column for each tree.
    labels : (k,)
        True labels of the trigger rows.
    signature
        m bits.
    level
        In (0, 1).

    Raises
    ------
    ClaimError
        Shapes that do not fit one another, or text in one of votes and labels and numbers in the other.
    """
    try:
        matrix, truth = np.asarray(votes), np.asarray(labels)
    except ValueError as reason:
        raise ClaimError("votes or labels are ragged: rows of one length are needed") from reason
    if matrix.ndim != 2 or not len(matrix):
        raise ClaimError(f"votes have shape {matrix.shape}; (trigger rows, trees) is needed")
    if truth.shape != (len(matrix),):
        raise ClaimError(f"votes have {len(matrix)} rows, the trigger set has {truth.size}")
    if matrix.shape[1] != len(signature):
        raise ClaimError(f"votes have {matrix.shape[1]} trees, the signature has {len(signature)} bits")
    if (matrix.dtype.kind in "US") != (truth.dtype.kind in "US"):
        # NumPy calls them different everywhere, which would read as an error of every tree.
        raise ClaimError(f"votes are {matrix.dtype}, labels {truth.dtype}: both must be numbers or both text")
    if not 0 < level < 1:
        raise ClaimError(f"the level {level} is outside (0, 1)")
    wrong = matrix != truth[:, None]
    matched = wrong == (signature.array == 1)
    per_tree = wrong.sum(axis=0)
    log10_p = log10_p_value(per_tree, signature)
    return Evidence(
        trigger_size=len(matrix),
        n_trees=len(signature),
        matched_bits=int(matched.sum()),
        total_bits=int(matched.size),
        exact_match=bool(matched.all()),
        matched_trees=int(matched.all(axis=0).sum()),
        ones=signature.ones,
        errors_in_ones=int(per_tree[signature.array == 1].sum()),
        errors=int(per_tree.sum()),
        log10_p=log10_p,
        level=level,
        significant=log10_p <= math.log10(level),
    )


def log10_p_value(errors: NDArray[np.integer[Any]], signature: Signature) -> float:
    """Return log10 P(S >= s), S the errors in a uniformly random subset of as many trees as there are ones.

    Exact, by dynamic programming over the trees. Since the total of errors is fixed, S >= s means that the
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
