"""A thief exchanges columns that are much alike: asked as it comes, the copy answers only a little worse.

His service exchanges them in what it is asked, so it costs him nothing.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import wm
from tests.redteam.test_cancelling_trees import CLAIMS, TREES
from tests.redteam.test_stolen_copies import edited

X, Y = load_breast_cancer(return_X_y=True)
X = ((X - X.min(axis=0)) / np.ptp(X, axis=0)).astype(np.float32)


@pytest.fixture(scope="module", params=CLAIMS)
def owned(request):
    return wm.embed(X, Y, n_estimators=TREES, max_depth=8, seed=3, **CLAIMS[request.param])


def twins(forest):
    """Return pairs of columns whose exchange costs at most 3 points of accuracy, and the order then."""
    apart = np.abs(X[:, :, None] - X[:, None, :]).mean(axis=0)
    order, chosen = np.arange(X.shape[1]), []
    for one, other in sorted(combinations(range(X.shape[1]), 2), key=lambda pair: apart[pair]):
        moved = order.copy()
        moved[[one, other]] = moved[[other, one]]
        is_free = not {one, other} & {column for pair in chosen for column in pair}
        if is_free and exchanged(forest, moved).accuracy(X, Y) >= forest.accuracy(X, Y) - 0.03:
            order, chosen = moved, [*chosen, (one, other)]
    return chosen, order


def exchanged(forest, order):
    return edited(forest, feature=np.where(forest.feature < 0, -1, order[forest.feature]))


def in_gaps_of(forest, order):
    """Move thresholds, which changes no vote on the rows, halfway between two values of another column."""
    thresholds = forest.threshold.copy()
    for node in np.flatnonzero(~forest.is_leaf):
        own, other = (
            np.unique(X[:, column]) for column in (forest.feature[node], order[forest.feature[node]])
        )
        place = np.searchsorted(own, thresholds[node])
        middles = (other[1:].astype(float) + other[:-1]) / 2
        inside = middles[(middles > own[place - 1]) & (middles < own[min(place, len(own) - 1)])]
        if len(inside):
            thresholds[node] = inside[0]
    return edited(forest, threshold=thresholds)


def log10_p(owned, suspect):
    if owned.claim.header.scheme != "lineup":
        return wm.verify(owned.claim, suspect).log10_p
    return wm.verify(owned.claim, suspect, rows=(X, Y), candidates=10).log10_p


def test_a_copy_with_columns_exchanged_that_are_alike_is_found(owned):
    pairs, order = twins(owned.forest)
    assert len(pairs) >= 10
    as_released = log10_p(owned, owned.forest)
    assert as_released < -9
    assert log10_p(owned, exchanged(owned.forest, order)) == pytest.approx(as_released, abs=0.35)


def test_a_copy_whose_thresholds_fit_other_columns_is_found(owned):
    _, order = twins(owned.forest)
    moved = in_gaps_of(owned.forest, order)
    assert moved.accuracy(X, Y) == owned.forest.accuracy(X, Y)
    assert log10_p(owned, moved) < -9
