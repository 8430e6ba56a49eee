"""Shapes of trees against plain loops and random points."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from wm.attacks.detection.guesses import score_guess, score_values
from wm.attacks.detection.rows import RANKING, SPLIT
from wm.attacks.detection.shapes import Shape, detect_by_shape, measure_shape
from wm.engines.encoding import leaf_bounds


def test_depth_and_share_are_those_of_plain_loops(owner):
    """A trained forest has no leaf that nothing reaches."""
    forest = owner.watermarked
    depth = measure_shape(forest, Shape.MEAN_LEAF_DEPTH)
    share = measure_shape(forest, Shape.POSITIVE_LEAF_SHARE)
    for tree in range(0, forest.n_trees, 7):
        leaves = [node for node in range(*forest.offset[tree : tree + 2]) if forest.is_leaf[node]]
        assert depth[tree] == pytest.approx(sum(forest.node_depth[leaves]) / len(leaves))
        assert share[tree] == pytest.approx(sum(forest.node_class[leaves] == 1) / len(leaves))


def test_leaves_that_nothing_reaches_are_not_measured(chain_forest):
    """On the right of x <= 0 the chain asks x <= -1, which is then always false."""
    assert measure_shape(chain_forest([1, 3]), Shape.MEAN_LEAF_DEPTH).tolist() == [1.0, 2.0]


def test_volumes_are_shares_of_random_points(owner):
    forest = owner.watermarked.select(range(6))
    X = np.random.default_rng(0).random((40_000, forest.n_features), dtype=np.float32)
    votes = forest.vote_codes(X)
    assert measure_shape(forest, Shape.POSITIVE_VOLUME) == pytest.approx(votes.mean(axis=0), abs=0.015)
    bounds = leaf_bounds(forest)
    volume = measure_shape(forest, Shape.LEAF_VOLUME, bounds)
    for tree in range(forest.n_trees):
        widths = [
            sum(
                np.log2(min(1.0, float(bounds.upper[row])) - max(0.0, float(bounds.lower[row])))
                for row in range(bounds.start[leaf], bounds.start[leaf + 1])
            )
            for leaf in np.flatnonzero(bounds.tree == tree)
        ]
        assert volume[tree] == pytest.approx(np.mean(widths))
        assert np.exp2(widths).sum() == pytest.approx(1.0, abs=1e-4)


def test_shapes_give_a_published_forest_away(released_forests, published_owner):
    if not released_forests.published:
        pytest.skip("WM_DATA_DIR does not hold the authors' published forests")
    rows = detect_by_shape(published_owner.watermarked, published_owner.signature)
    found = {(row.measure, row.strategy): row for row in rows}
    assert found[Shape.MEAN_LEAF_DEPTH, RANKING].auc == pytest.approx(0.837, abs=0.005)
    assert found[Shape.LEAF_VOLUME, RANKING].auc == pytest.approx(0.883, abs=0.005)
    assert found[Shape.LEAF_VOLUME, RANKING].p_value < 1e-7
    assert found[Shape.LEAF_VOLUME, SPLIT].bits > found[Shape.LEAF_VOLUME, SPLIT].null_bits + 0.2


def test_each_shape_is_scored_as_a_ranking_and_as_a_guess(owner):
    rows = detect_by_shape(owner.watermarked, owner.signature)
    assert [(row.measure, row.strategy) for row in rows] == list(itertools.product(Shape, [RANKING, SPLIT]))
    for ranking, split in zip(rows[::2], rows[1::2], strict=True):
        values = measure_shape(owner.watermarked, Shape(ranking.measure))
        guess, order = (
            score_guess(values > np.median(values), owner.signature),
            score_values(values, owner.signature),
        )
        assert (ranking.mean, ranking.std) == (split.mean, split.std) == (values.mean(), values.std())
        assert (ranking.auc, ranking.p_value, ranking.uncertain) == (order.auc, order.p_value, 70)
        assert (split.correct, split.wrong) == (round(70 * guess.bits), round(70 * (1 - guess.bits)))
        assert (split.p_value, split.null_bits) == (guess.p_value, guess.null_bits)
