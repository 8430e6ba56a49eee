"""Unusual leaves: the distance to the nearest ordinary row, against a plain double loop."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wm.attacks.suppression.scores import unusual_leaves


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(0, 8))
def test_the_score_is_the_share_of_trees_that_differ_from_the_nearest_row(seed, queries, ordinary):
    rng = np.random.default_rng(seed)
    leaves, reference = rng.integers(0, 3, (queries, 5)), rng.integers(0, 3, (ordinary, 5))
    by_hand = [
        min([sum(a != b for a, b in zip(one, other, strict=True)) / 5 for other in reference], default=1.0)
        for one in leaves
    ]
    np.testing.assert_allclose(unusual_leaves(leaves, reference), by_hand)


def test_no_row_is_compared_with_itself():
    leaves = np.array([[1, 2], [1, 3], [4, 5]])
    assert unusual_leaves(leaves, leaves, is_same=True).tolist() == [0.5, 0.5, 1.0]
    assert unusual_leaves(leaves, leaves).tolist() == [0.0, 0.0, 0.0]
