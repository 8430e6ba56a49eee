"""Which column of a claim's rows each feature of a suspect model is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from wm.forest import Forest

MAX_COMPARED = 5e7
"""Pairs of a suspect's threshold and a claim's column that are compared, a few seconds; beyond, none are."""

MAX_MATCHED = 4e6
"""Pairs of a suspect's feature and a claim's column of which the best are chosen, a few seconds."""

MAX_SORTED = 2e7
"""Values of a claim's rows that thresholds are compared with where nothing else asks for it, some seconds."""

_CLEARLY_FITS = 0.2
"""Gain in how well a feature's thresholds fit, and one threshold more, from which it is another column."""

_MAX_GAP = 64
"""Steps between the two values of a column that a threshold may lie halfway between."""


def columns_of(rows: NDArray[np.float32], columns: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return some columns, 0 for those that the rows lack; one column of 0 if none are wanted."""
    found = np.zeros((len(rows), max(1, len(columns))), dtype=np.float32)
    known = np.flatnonzero((columns >= 0) & (columns < rows.shape[1]))
    found[:, known] = rows[:, columns[known]]
    return found


def named_columns(
    names: Sequence[str], known: Sequence[str], used: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """Return the known columns that a model's used features are named after, unless they are in order anyway.

    Parameters
    ----------
    names, known
        Of the model's features, perhaps none, and of the columns.
    used : (f,)
        Numbers of features.

    Returns
    -------
    (f,), or None if a used feature has no known name.
    """
    place = {name: column for column, name in enumerate(known)}
    if len(names) <= used.max(initial=-1) or len(place) < len(known):
        return None
    found = np.array([place.get(names[feature], -1) for feature in used], dtype=np.int64)
    return None if (found < 0).any() or np.array_equal(found, used) else found


def equal_columns(rows: NDArray[np.floating]) -> Iterator[tuple[int, int]]:
    """Yield pairs of columns with the same set of values: thresholds do not tell which is which."""
    groups: dict[bytes, list[int]] = {}
    for column in range(rows.shape[1]):
        groups.setdefault(np.unique(rows[:, column]).tobytes(), []).append(column)
    for group in groups.values():
        yield from combinations(group, 2)


def matched_columns(
    forest: Forest, X: NDArray[np.float32], own: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Return for each used feature of the suspect the column whose values its thresholds lie between, or -1.

    Training puts a threshold halfway between two values of a column that are adjacent among the rows that
    reach the node, thus mostly close to each other in the whole column. Thresholds of a feature that are so,
    and spread like the values, give it away.

    Parameters
    ----------
    X : (n, d)
        Rows that the forest may have been trained on.
    own : (f,), optional
        The column that each used feature seems to be: another one must fit clearly better.
    """
    from scipy.optimize import linear_sum_assignment

    inner = ~forest.is_leaf
    used, place = np.unique(forest.feature[inner], return_inverse=True)
    counts = np.bincount(place)
    # Each value once: of whole numbers there are few. Ascending ones are found much faster than others.
    thresholds, number = np.unique(forest.threshold[inner].astype(np.float64), return_inverse=True)
    gaps = int(min(_MAX_GAP, MAX_COMPARED // max(1, len(thresholds) * X.shape[1])))
    fit = np.zeros((len(used), X.shape[1]))
    for column in range(X.shape[1]):
        values = np.unique(X[:, column]).astype(np.float64)
        fit[:, column] = np.bincount(place, weights=_closeness(thresholds, values, gaps)[number]) / counts
    if own is not None:
        fit *= counts[:, None]  # many thresholds outweigh few, which fit somewhere by chance
        known = np.flatnonzero(own < X.shape[1])
        fit[known, own[known]] += _CLEARLY_FITS * counts[known] + 1.0
    rows, columns = linear_sum_assignment(-fit)
    matched = np.full(len(used), -1, dtype=np.int64)  # more features than columns: some stay without
    matched[rows] = columns
    return matched


def _closeness(
    thresholds: NDArray[np.float64], values: NDArray[np.float64], gaps: int
) -> NDArray[np.float64]:
    """Return how well ascending thresholds fit a column of ascending values: 1 / gap if halfway between two.

    The gap is 1 for neighbours, 2 for the values next to a third, and so on.
    """
    is_inside = (thresholds > values[0]) & (thresholds < values[-1])
    found: NDArray[np.float64] = 0.1 * is_inside
    # Raw units are rounded to float32, whose steps may be wide beside the range.
    rounding = 1e-6 * (values[-1] - values[0]) + 1e-7 * float(np.abs(values).max())
    for gap in range(min(gaps, len(values) - 1), 0, -1):
        middles = (values[gap:] + values[:-gap]) / 2
        right = np.searchsorted(middles, thresholds)
        near = np.minimum(
            np.abs(middles[np.minimum(right, len(middles) - 1)] - thresholds),
            np.abs(middles[np.maximum(right - 1, 0)] - thresholds),
        )
        found[near <= rounding] = 0.1 + 1.0 / gap
    return found
