"""Two scores of how a query's votes divide the trees; higher = more suspicious."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def majority(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the commonest class column of each query, the first on a tie: (n, m) -> (n,)."""
    commonest: NDArray[np.int64] = _counts(codes).argmax(axis=1)
    return commonest


def disagreement(codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of trees outvoted on each query: (n, m) class columns -> (n,)."""
    outvoted: NDArray[np.float64] = 1.0 - _counts(codes).max(axis=1) / codes.shape[1]
    return outvoted


def repeats(codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return (other queries divided alike) x disagreement for each query: (n, m) -> (n,)."""
    division = codes != codes[:, :1]
    _, inverse, count = np.unique(division, axis=0, return_inverse=True, return_counts=True)
    return (count[inverse.reshape(-1)] - 1) * disagreement(codes)


def _counts(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many trees vote for each class: (n, c)."""
    return np.stack([(codes == code).sum(axis=1) for code in range(int(codes.max(initial=0)) + 1)], axis=1)
