"""What scikit-learn's users pass for rows, as a dense matrix without gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import FitError

MAX_DENSE_BYTES = 2**33
"""Largest size (8 GiB) of a sparse matrix made dense: a forest's training needs its rows so."""


def dense(X: Any) -> NDArray[np.float32]:
    """Return a sparse matrix as an array, (n, d) float32; an array as it is.

    Raises
    ------
    FitError
        It would take more than `MAX_DENSE_BYTES`.
    """
    if not hasattr(X, "toarray"):
        array: NDArray[np.float32] = X
        return array
    rows, columns = X.shape
    if rows * columns * 4 > MAX_DENSE_BYTES:
        raise FitError(f"{rows} rows of {columns} features are more than {MAX_DENSE_BYTES} bytes when dense")
    return np.asarray(X.toarray(), dtype=np.float32)


def medians(X: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the median of each column's values, (d,); 0 for a column that has none."""
    empty = np.isnan(X).all(axis=0)
    found = np.zeros(X.shape[1], dtype=np.float32)
    found[~empty] = np.nanmedian(X[:, ~empty], axis=0)
    return found


def filled(X: NDArray[np.float32], fill: NDArray[np.float32] | None) -> NDArray[np.float32]:
    """Return rows, (n, d), with `fill`, (d,), for missing values; as they are with None."""
    gaps = np.isnan(X)
    return X if fill is None or not gaps.any() else np.where(gaps, fill, X)
