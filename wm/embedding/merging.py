"""A canonical form of training rows, independent of their order and of how they are repeated or weighted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class MergedRows:
    """Each distinct pair of row and class once, in lexicographic order."""

    X: NDArray[np.float32]
    """(n, d)."""
    codes: NDArray[np.int64]
    """(n,): class codes."""
    weight: NDArray[np.float64]
    """(n,): above 0; the sum over equal rows."""


def merged_rows(X: NDArray[np.float32], codes: NDArray[np.int64], weight: NDArray[np.float64]) -> MergedRows:
    """Merge rows of equal values and class, without rows of weight 0; -0.0 becomes 0.0."""
    keep = weight > 0
    X, codes, weight = X[keep] + np.float32(0.0), codes[keep], weight[keep]
    if not len(codes):
        return MergedRows(X, codes, weight)
    order = np.lexsort((codes, *X.T[::-1]))
    X, codes, weight = X[order], codes[order], weight[order]
    new = np.ones(len(codes), dtype=bool)
    new[1:] = (X[1:] != X[:-1]).any(axis=1) | (codes[1:] != codes[:-1])
    starts = np.flatnonzero(new)
    return MergedRows(X[starts], codes[starts], np.add.reduceat(weight, starts))
