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

    @property
    def uneven(self) -> NDArray[np.float64] | None:
        """The weights; None if all are 1."""
        return None if (self.weight == 1).all() else self.weight


def merged_rows(X: NDArray[np.float32], codes: NDArray[np.int64], weight: NDArray[np.float64]) -> MergedRows:
    """Merge rows of equal values and class, without rows of weight 0; -0.0 becomes 0.0."""
    keep = weight > 0
    if not keep.all():
        X, codes, weight = X[keep], codes[keep], weight[keep]
    order, new = row_order(X, codes)
    starts = np.flatnonzero(new)
    weight = np.add.reduceat(weight[order], starts) if len(starts) else weight
    X, codes = X[order[starts]], codes[order[starts]]
    X += np.float32(0.0)
    return MergedRows(X, codes, weight)


def row_order(X: NDArray[np.float32], codes: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the order of rows by their values, the first feature first, then by class code.

    As `numpy.lexsort`, but a column orders only the rows that are equal so far.

    Parameters
    ----------
    X : (n, d), without missing values
    codes : (n,)

    Returns
    -------
    order : (n,)
        Indexes of the rows; equal rows stay in order.
    is_new : (n,)
        Whether, in this order, a row differs from the one before it.
    """
    order, is_new = np.arange(len(codes)), np.zeros(len(codes), dtype=np.bool_)
    is_new[:1] = True
    places = np.arange(len(codes))  # where rows are that equal a neighbour so far
    for key in (*X.T, codes):
        rows = order[places]
        values, group = key[rows], np.cumsum(is_new[places])
        by = np.lexsort((values, group))
        order[places], values = rows[by], values[by]
        is_new[places[1:]] |= values[1:] != values[:-1]
        starts = is_new[places]
        places = places[~starts | ~np.append(starts[1:], True)]
        if not len(places):
            break
    return order, is_new
