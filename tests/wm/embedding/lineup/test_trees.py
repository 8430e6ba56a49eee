"""Honest trees of keyed seeds, against scikit-learn's own forests."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from tests import lineups
from wm.claims.lineup_settings import TreeSettings
from wm.embedding import growing
from wm.embedding.lineup.claimed import trained_forest
from wm.embedding.lineup.context import canonical_rows
from wm.embedding.lineup.trees import forest_of_seeds, train_trees, votes_of_seeds
from wm.embedding.training import forest_of
from wm.forest import Forest


@pytest.fixture(scope="module")
def rows():
    return canonical_rows(*lineups.rows_of(2))


@pytest.mark.parametrize(
    "settings", [TreeSettings(max_depth=4), TreeSettings(bootstrap=True, max_features=0.5)]
)
def test_trees_are_those_of_a_random_forest(rows, settings):
    """A forest of scikit-learn with the same settings, whose trees' seeds are given again one by one."""
    model = RandomForestClassifier(
        7,
        max_depth=settings.max_depth,
        max_features=settings.max_features,
        bootstrap=settings.bootstrap,
        random_state=5,
    ).fit(rows.X, rows.y)
    ours = trained_forest(rows, settings, [tree.random_state for tree in model.estimators_])
    X, _ = lineups.rows_of(8)
    assert np.array_equal(ours.votes(X), Forest.from_sklearn(model).votes(X))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    "settings",
    [
        lineups.SETTINGS,
        TreeSettings(bootstrap=True),
        TreeSettings(max_depth=4, bootstrap=True, max_features=0.5),
        TreeSettings(min_samples_leaf=3, max_features="log2"),
        TreeSettings(max_leaf_nodes=6),
        TreeSettings(min_samples_leaf=2, bootstrap=True),
    ],
)
@pytest.mark.parametrize("by_scikit_learn", [False, True])
def test_votes_are_those_of_the_forest(rows, monkeypatch, settings, n_jobs, by_scikit_learn):
    monkeypatch.setattr(growing, "_LEAST_WORK", 10**12 if by_scikit_learn else 0)
    seeds, X = list(range(70)), lineups.rows_of(8)[0]
    votes = votes_of_seeds(rows, settings, seeds, X, n_jobs=n_jobs)
    assert votes.dtype == np.uint8
    assert np.array_equal(votes.T, forest_of(list(train_trees(rows, settings, seeds))).votes(X))
    grown = forest_of_seeds(rows, settings, seeds, n_jobs=n_jobs)
    assert grown.content_hash == forest_of(list(train_trees(rows, settings, seeds))).content_hash


@pytest.mark.parametrize("least_work", [0, 10**12])
def test_a_tie_goes_to_the_first_class_as_in_a_forest(rows, monkeypatch, least_work):
    monkeypatch.setattr(growing, "_LEAST_WORK", least_work)
    X = np.concatenate([rows.X, rows.X])
    both = canonical_rows(X, np.concatenate([rows.y, 1 - rows.y]))  # every leaf is tied
    assert not votes_of_seeds(both, lineups.SETTINGS, [3, 4], rows.X).any()
