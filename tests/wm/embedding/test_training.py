"""Training: forests as scikit-learn's, within limits that follow the paper's rule."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from wm.embedding.training import Caps, adjusted_caps, fit_trees, honest_forest
from wm.forest import Forest


@pytest.mark.parametrize("grid_depth", [5, None])
def test_adjusted_limits_are_mean_minus_deviation_cut_off(breast_cancer, grid_depth):
    model = RandomForestClassifier(n_estimators=15, max_depth=grid_depth, bootstrap=False, random_state=4)
    model.fit(breast_cancer.X_train, breast_cancer.y_train)
    depths = [tree.get_depth() for tree in model.estimators_]
    leaves = [tree.get_n_leaves() for tree in model.estimators_]
    standard = Forest.from_sklearn(model)
    leaves_cap = int(np.mean(leaves) - np.std(leaves))
    depth_cap = int(np.mean(depths) - np.std(depths))
    assert adjusted_caps(standard, grid_depth, "artifact") == Caps(grid_depth, leaves_cap)
    assert adjusted_caps(standard, grid_depth, "paper") == Caps(depth_cap, leaves_cap)
    assert 1 < depth_cap <= max(depths)
    assert 2 < leaves_cap < max(leaves)


def test_adjusted_limits_by_hand(chain_forest):
    # Depths 3, 3, 9: mean 5, deviation sqrt(8) = 2.83; leaves 4, 4, 10: mean 6, the same deviation.
    forest = chain_forest([3, 3, 9])
    assert forest.tree_depths.tolist() == [3, 3, 9]
    assert forest.tree_leaves.tolist() == [4, 4, 10]
    assert adjusted_caps(forest, 12, "paper") == Caps(2, 3)
    assert adjusted_caps(forest, 12, "artifact") == Caps(12, 3)
    # All alike: no deviation, nothing cut off.
    assert adjusted_caps(chain_forest([4, 4, 4]), 12, "paper") == Caps(4, 5)


@pytest.mark.parametrize("depths", [[0, 0], [1, 1], [0, 7]])
def test_adjusted_limits_always_leave_room_for_one_split(chain_forest, depths):
    # scikit-learn refuses a depth below 1 and fewer than 2 leaves.
    assert adjusted_caps(chain_forest(depths), 9, "paper") == Caps(1, 2)
    assert adjusted_caps(chain_forest(depths), 9, "artifact") == Caps(9, 2)


@pytest.mark.parametrize("caps", [Caps(4, None), Caps(None, 6), Caps(3, 6), Caps(1, 2)])
def test_an_honest_forest_is_scikit_learns_without_bootstrap(breast_cancer, caps):
    X, y = breast_cancer.X_train, breast_cancer.y_train
    forest = honest_forest(X, y, n_trees=6, caps=caps, seed=9)
    expected = RandomForestClassifier(
        n_estimators=6,
        max_depth=caps.max_depth,
        max_leaf_nodes=caps.max_leaf_nodes,
        bootstrap=False,
        random_state=9,
    ).fit(X, y)
    assert forest.content_hash == Forest.from_sklearn(expected).content_hash
    assert forest.n_trees == 6
    assert forest.tree_depths.max() <= (caps.max_depth or 99)
    assert forest.tree_leaves.max() <= (caps.max_leaf_nodes or 999)


def test_honest_forests_differ_by_seed_alone(breast_cancer):
    X, y = breast_cancer.X_train, breast_cancer.y_train
    hashes = [
        honest_forest(X, y, n_trees=4, caps=Caps(4, None), seed=seed).content_hash for seed in (1, 1, 2)
    ]
    assert hashes[0] == hashes[1] != hashes[2]


def test_weights_count_as_repeated_rows(breast_cancer):
    X, y = breast_cancer.X_train[:120], breast_cancer.y_train[:120]
    weight = np.where(np.arange(120) < 5, 4.0, 1.0)
    one_split = Caps(1, None)
    weighted = fit_trees(X, y, n_trees=3, caps=one_split, seed=2, sample_weight=weight)
    roots = {float(tree.tree_.weighted_n_node_samples[0]) for tree in weighted.estimators_}
    assert roots == {115.0 + 5 * 4.0}
