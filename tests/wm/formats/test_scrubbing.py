"""Scrubbing: votes and structure stay, nothing else does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wm.forest import Forest
from wm.formats.scrubbing import leaves_below, scrubbed


@st.composite
def forests(draw):
    """Small forests of random shape, with values that say more than the votes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_classes = draw(st.integers(1, 3))
    parts = [_random_tree(rng, draw(st.integers(0, 6))) for _ in range(draw(st.integers(1, 4)))]
    left, right = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
    leaf = left < 0
    return Forest.from_arrays(
        offset=np.cumsum([0, *(len(part[0]) for part in parts)]),
        left=left,
        right=right,
        feature=np.where(leaf, -1, rng.integers(0, 3, len(left))),
        threshold=np.where(leaf, 0.0, rng.normal(size=len(left))),
        value=rng.integers(1, 9, (len(left), n_classes)),
        n_features=3,
        classes=np.arange(n_classes) * 5,
    )


def _random_tree(rng, splits):
    """Split random leaves one after another, as best-first growth does."""
    left, right = [-1], [-1]
    for _ in range(splits):
        node = rng.choice([n for n, child in enumerate(left) if child < 0])
        left[node], right[node] = len(left), len(left) + 1
        left += [-1, -1]
        right += [-1, -1]
    return np.array(left), np.array(right)


@given(forests(), st.integers(0, 2**32))
def test_votes_and_structure_stay(forest, seed):
    X = np.random.default_rng(seed).normal(size=(60, 3))
    clean = scrubbed(forest)
    np.testing.assert_array_equal(clean.votes(X), forest.votes(X))
    np.testing.assert_array_equal(clean.predict(X), forest.predict(X))
    np.testing.assert_array_equal(clean.tree_depths, forest.tree_depths)
    np.testing.assert_array_equal(clean.tree_leaves, forest.tree_leaves)
    assert clean.classes.tolist() == forest.classes.tolist()


@given(forests(), st.integers(0, 2**32))
def test_nothing_else_stays(forest, seed):
    """Other values with the same votes, and the nodes of each tree in another order, give the same forest."""
    rng = np.random.default_rng(seed)
    value = rng.uniform(0.1, 1.0, forest.value.shape)
    rows = np.arange(len(value))
    value[rows, forest.node_class] = 2.0
    order, place = [], np.empty(len(value), dtype=np.int64)
    for start, end in zip(forest.offset[:-1], forest.offset[1:], strict=True):
        shuffled = np.concatenate([[start], start + 1 + rng.permutation(end - start - 1)])
        place[shuffled] = np.arange(end - start)
        order.append(shuffled)
    nodes = np.concatenate(order)
    base = forest.offset[:-1][forest.node_tree]

    def child(indexes):
        moved = np.where(forest.is_leaf, -1, place[np.where(forest.is_leaf, 0, base + indexes)])
        return moved[nodes]

    twin = Forest.from_arrays(
        offset=forest.offset,
        left=child(forest.left),
        right=child(forest.right),
        feature=forest.feature[nodes],
        threshold=forest.threshold[nodes],
        value=value[nodes],
        n_features=forest.n_features,
        classes=forest.classes,
    )
    assert scrubbed(twin).content_hash == scrubbed(forest).content_hash


@given(forests())
def test_a_scrubbed_forest_stays_as_it_is(forest):
    clean = scrubbed(forest)
    assert scrubbed(clean).content_hash == clean.content_hash


@given(forests())
def test_values_are_shares_of_the_leaves_below(forest):
    clean = scrubbed(forest)
    assert np.isin(clean.value[clean.is_leaf], (0.0, 1.0)).all()
    np.testing.assert_allclose(clean.value.sum(axis=1), 1.0)
    below = leaves_below(clean)
    np.testing.assert_array_equal(below[clean.offset[:-1]].sum(axis=1), clean.tree_leaves)
    np.testing.assert_allclose(clean.value, below / below.sum(axis=1, keepdims=True))
    # Depth first: a left child comes right after its parent.
    inner = ~clean.is_leaf
    own = np.arange(len(clean.left)) - clean.offset[:-1][clean.node_tree]
    assert (clean.left[inner] == own[inner] + 1).all()
    assert (clean.right[inner] > clean.left[inner]).all()


def test_the_mean_rule_is_the_majority_of_a_scrubbed_forest(owner):
    X, y = owner.data.X_test, owner.data.y_test
    clean = scrubbed(owner.watermarked)
    np.testing.assert_allclose(clean.predict_proba(X), clean.vote_shares(X))
    assert clean.accuracy_of_mean(X, y) == clean.accuracy(X, y) == owner.watermarked.accuracy(X, y)


def test_the_signature_is_in_the_values_before_and_not_after(owner):
    forest, bits = owner.watermarked, owner.signature.array
    roots = forest.offset[:-1]
    before, after = forest.value[roots, 0], scrubbed(forest).value[roots, 0]
    assert {len(set(before[bits == bit].round(9))) for bit in (0, 1)} == {1}
    assert before[bits == 0][0] != pytest.approx(before[bits == 1][0])
    assert len(set(after[bits == 0]) & set(after[bits == 1])) > 1
