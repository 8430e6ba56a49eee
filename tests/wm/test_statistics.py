"""Shared statistics, compared with scipy and with results by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from wm.statistics import clopper_pearson, doubled_ranks, holm, rank_p_value, two_sided


@given(st.integers(0, 60), st.integers(0, 60), st.sampled_from([0.9, 0.95, 0.999]))
def test_the_exact_interval_leaves_half_of_the_error_on_each_side(hits, misses, confidence):
    trials = hits + misses
    found = clopper_pearson(hits, trials, confidence)
    half = (1 - confidence) / 2
    assert found.low == (pytest.approx(stats.beta.ppf(half, hits, misses + 1)) if hits else 0)
    assert found.high == (pytest.approx(stats.beta.ppf(1 - half, hits + 1, misses)) if misses else 1)


@pytest.mark.parametrize("case", [(3, 2, 0.95), (-1, 2, 0.95), (1, 2, 1.0)])
def test_impossible_counts_are_refused(case):
    with pytest.raises(ValueError, match="impossible"):
        clopper_pearson(*case)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([]) == ()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_keeps_order_and_lies_between_plain_and_bonferroni(p_values):
    adjusted = np.array(holm(p_values))
    assert (adjusted >= p_values).all()
    assert (adjusted <= np.minimum(1, len(p_values) * np.array(p_values)) + 1e-12).all() or len(p_values) > 1
    assert adjusted[np.argmin(p_values)] == pytest.approx(min(1, len(p_values) * min(p_values)))


def test_rank_p_values_count_ties_as_at_least_as_large():
    assert rank_p_value(2.0, [1.0, 2.0, 3.0]) == 3 / 4
    assert rank_p_value(0.1 + 0.2, [0.3]) == 1.0
    assert rank_p_value(5.0, []) == 1.0
    assert two_sided(0.03, 0.9) == pytest.approx(0.06)
    assert two_sided(0.8, 0.9) == 1.0


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=20))
def test_doubled_ranks_count_pairs(values):
    array = np.array(values)
    below, equal = (array < array[:, None]).sum(axis=1), (array == array[:, None]).sum(axis=1)
    assert doubled_ranks(values).tolist() == (2 * below + equal + 1).tolist()
