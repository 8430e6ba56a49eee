"""Merged rows: one form for all ways to write the same weighted rows down."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wm.embedding.merging import merged_rows, row_order

pairs = st.tuples(st.sampled_from([-1.0, -0.0, 0.0, 2.5]), st.sampled_from([0.0, 1.0]))
rows_of_any_weight = st.lists(st.tuples(pairs, st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=20)


def arrays(rows):
    X = np.array([pair for pair, _, _ in rows], dtype=np.float32)
    codes, weight = (np.array([row[part] for row in rows]) for part in (1, 2))
    return X, codes.astype(np.int64), weight.astype(np.float64)


def as_counter(merged):
    keys = [(*row, code) for row, code in zip(merged.X.tolist(), merged.codes.tolist(), strict=True)]
    assert len(set(keys)) == len(keys)
    assert keys == sorted(keys)
    return dict(zip(keys, merged.weight.tolist(), strict=True))


@given(rows_of_any_weight)
def test_weights_of_equal_rows_are_added_up(rows):
    expected = Counter()
    for (first, second), code, weight in rows:
        expected[first + 0.0, second, code] += weight
    assert as_counter(merged_rows(*arrays(rows))) == {key: w for key, w in expected.items() if w}


@given(rows_of_any_weight, st.randoms())
def test_repeating_is_weighting_and_order_is_nothing(rows, random):
    repeated = [(pair, code, 1) for pair, code, weight in rows for _ in range(weight)]
    random.shuffle(repeated)
    if not repeated:
        assert not as_counter(merged_rows(*arrays(rows)))
        return
    assert as_counter(merged_rows(*arrays(repeated))) == as_counter(merged_rows(*arrays(rows)))


@given(st.integers(0, 2**31 - 1), st.integers(0, 60), st.integers(1, 5), st.integers(1, 6))
def test_the_order_is_that_of_a_sort_by_all_columns(seed, n, d, values):
    rng = np.random.default_rng(seed)
    X = rng.choice([-0.0, 0.0, *rng.standard_normal(values)], (n, d)).astype(np.float32)
    codes = rng.integers(0, 2, n)
    order, is_new = row_order(X, codes)
    assert order.tolist() == np.lexsort((codes, *X.T[::-1])).tolist()
    whole = np.column_stack([X, codes])[order]
    assert is_new.tolist() == [
        place == 0 or bool((whole[place] != whole[place - 1]).any()) for place in range(n)
    ]
