"""Rows on which honest forests are divided, as a pool for scheme `codebook`.

On an ordinary row honest trees are nearly unanimous: wrong votes stand out, and pruning by other rows takes
them back. On a row where about as many honest trees err as the codebook wants, a division is nothing unusual,
and a pruned tree often still errs. The null of a verdict is the draw from the pool, so any rows may be in it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wm.embedding.common import rows_to_draw
from wm.embedding.training import Caps, honest_forest

DIVIDED_POOL = 3
"""Rows of a pool for each trigger row: more would be less divided."""

_ROUNDS = 2
"""Times that the rows are halved, each half judged by trees of the other."""

_TREES = 50


def wrong_shares(
    X: NDArray[np.float32], y: NDArray[np.int64], *, caps: Caps, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the share of honest trees, trained on other rows, that err on each row: (n, d), (n,) -> (n,)."""
    found = np.zeros(len(y))
    for _ in range(_ROUNDS):
        halves = np.array_split(rng.permutation(len(y)), 2)
        for inside, outside in (halves, halves[::-1]):
            if len(np.unique(y[inside])) < 2:  # such trees answer that class
                found[outside] += y[outside] != y[inside][0]
                continue
            seed = int(rng.integers(2**31 - 1))
            forest = honest_forest(X[inside], y[inside], n_trees=_TREES, caps=caps, seed=seed)
            found[outside] += (forest.votes(X[outside]) != y[outside][:, None]).mean(axis=1)
    return found / _ROUNDS


def divided_rows(
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    rows: NDArray[np.int64],
    count: int,
    share: float,
    *,
    caps: Caps,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return those of some rows on which about a share of honest trees errs.

    Parameters
    ----------
    X : (n, d), y : (n,)
        Training rows, and their labels, 0 or 1.
    rows
        Indexes to choose from.
    count
        Number of rows to return, at most `len(rows)`.
    caps
        Limits on the honest trees.

    Returns
    -------
    `count` indexes, ascending; ties are broken at random.
    """
    distance = np.abs(wrong_shares(X, y, caps=caps, rng=rng)[rows] - share)
    order = np.lexsort((rng.random(len(rows)), distance))
    return np.sort(rows[order[:count]])


def draw_divided_rows(
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    size: int,
    share: float,
    *,
    caps: Caps,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Draw `size` trigger rows from a pool of divided ones, as a beacon draws them from an owner's.

    Parameters
    ----------
    X, y, share, caps
        As in `divided_rows`.

    Returns
    -------
    Indexes of rows that occur only once, ascending.

    Raises
    ------
    EmbeddingError
        Fewer than `size` rows occur only once.
    """
    single = rows_to_draw(X, size)
    pool = divided_rows(X, y, single, min(len(single), DIVIDED_POOL * size), share, caps=caps, rng=rng)
    return np.sort(rng.choice(pool, size=size, replace=False))
