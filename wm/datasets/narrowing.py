"""Columns whose values trees cannot tell apart: they see float32, in which many numbers may become one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wm.datasets.model import Dataset
from wm.datasets.preparation import MinMax
from wm.datasets.splitting import Split
from wm.datasets.wording import Naming

_LEAST_LEFT = 0.1
"""Share of a column's distinct values; if fewer are left, the user is told."""

_MOST_LINES = 5


def narrowed_columns(dataset: Dataset, rows: Split, naming: Naming) -> list[str]:
    """Return a line for each column that keeps few of its distinct values in a split; for at most five.

    Parameters
    ----------
    dataset
        As it was read, in float64.
    rows
        Its split, perhaps scaled, in float32.
    """
    order = np.concatenate([rows.train_rows, rows.test_rows])
    lines = []
    for place, name in enumerate(dataset.feature_names):
        after = _distinct(np.concatenate([rows.X_train[:, place], rows.X_test[:, place]]))
        if after >= _LEAST_LEFT * len(order):
            continue
        raw = dataset.X[order, place]
        known = raw[~np.isnan(raw)]
        before = _distinct(known)
        if after < _LEAST_LEFT * before:
            drop = naming("drop", [name])
            scale = f"give {naming('scaling', 'train')} or {drop}"
            fix = scale if _helps_to_scale(known, before) else f"change its unit, or give {drop}"
            lines.append(f"column {name!r}: {before:,} values become {after:,} as float32: {fix}")
    more = len(lines) - _MOST_LINES
    return lines if more <= 0 else [*lines[:_MOST_LINES], f"so do the values of {more} more columns"]


def _distinct(values: NDArray[np.floating]) -> int:
    return len(np.unique(values))


def _helps_to_scale(known: NDArray[np.float64], before: int) -> bool:
    """Return whether a column, (n,), keeps more of its distinct values if it is scaled to [0, 1] before."""
    low = float(known.min())
    scaling = MinMax(low=(low,), span=(float(known.max()) - low,))
    with np.errstate(over="ignore"):
        return _distinct(scaling.scaled(known[:, None]).astype(np.float32)) >= _LEAST_LEFT * before
