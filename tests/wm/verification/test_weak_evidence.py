"""Verification without votes: compared with brute force, calibrated, and significant for a watermark."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from wm.errors import ClaimError
from wm.signature import Signature
from wm.verification import tails
from wm.verification.tails import log10_tail
from wm.verification.weak_evidence import log10_by_labels, log10_by_probabilities

HALF = Signature.of("0110")


@given(st.lists(st.integers(-3, 6), min_size=2, max_size=9), st.data())
def test_the_tail_equals_brute_force_over_all_subsets(scores, data):
    size = data.draw(st.integers(1, len(scores)))
    array = np.array(scores)
    sums = [sum(subset) for subset in itertools.combinations(scores, size)]
    expected = np.mean(np.array(sums) >= array[:size].sum())
    log10_p, exact = log10_tail(array, size)
    assert exact
    assert 10**log10_p == pytest.approx(expected)


@given(st.lists(st.integers(0, 6), min_size=4, max_size=30), st.data())
def test_the_bound_is_never_below_the_exact_tail(scores, data):
    array, size = np.array(scores), data.draw(st.integers(1, len(scores) - 1))
    exact, _ = log10_tail(array, size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tails, "_MAX_STEPS", -1)
        bound, is_exact = log10_tail(array, size)
    assert not is_exact
    assert exact - 1e-9 <= bound <= 0


def test_many_rows_are_bounded_quickly_and_usefully():
    rng = np.random.default_rng(0)
    plain = np.clip(1 - 0.1 * rng.random(20_000), 0, 1)
    assert log10_by_probabilities(0.5 + 0.02 * rng.normal(size=200), plain, HALF) < -50


@given(st.lists(st.booleans(), min_size=1, max_size=12), st.lists(st.booleans(), min_size=1, max_size=40))
def test_the_p_value_of_labels_is_that_of_fishers_test(triggers, decoys):
    table = [[sum(triggers), len(triggers) - sum(triggers)], [sum(decoys), len(decoys) - sum(decoys)]]
    expected = stats.fisher_exact(table, alternative="greater").pvalue
    assert 10 ** log10_by_labels(triggers, decoys) == pytest.approx(expected)


@pytest.mark.parametrize("share", [0.5, 0.3])
def test_p_values_keep_their_level_when_rows_are_exchangeable(share):
    rng = np.random.default_rng(3)
    by_share, by_label = [], []
    for _ in range(120):
        rows = np.clip(rng.choice([1.0, 0.9, 0.5, 0.1], p=[0.7, 0.2, 0.07, 0.03], size=60), 0, 1)
        by_share.append(log10_by_probabilities(rows[:7], rows[7:], HALF))
        wrong = rng.random(60) < share
        by_label.append(log10_by_labels(wrong[:7], wrong[7:]))
    for found in (by_share, by_label):
        hits = int((np.array(found) <= np.log10(0.05)).sum())
        assert stats.binomtest(hits, 120).proportion_ci(0.999).low <= 0.05


def test_a_watermark_shows_in_shares_and_the_honest_forest_does_not(owner):
    triggers, X, y = owner.trigger_X, owner.data.X_test, owner.data.y_test

    def shares(forest, rows, labels):
        return forest.vote_shares(rows)[np.arange(len(rows)), labels]

    marked, plain = (
        log10_by_probabilities(
            shares(forest, triggers, owner.trigger_y), shares(forest, X, y), owner.signature
        )
        for forest in (owner.watermarked, owner.honest)
    )
    assert marked < -8
    assert plain > -2
    by_label = log10_by_labels(
        owner.watermarked.predict(triggers) != owner.trigger_y, owner.watermarked.predict(X) != y
    )
    assert marked < by_label < np.log10(0.05)


def test_the_nearest_rows_are_those_at_the_share_of_zeros():
    quarter = Signature.of("0001")
    assert log10_by_probabilities([0.75], [1.0], quarter) == pytest.approx(np.log10(0.5))
    assert log10_by_probabilities([0.75], [1.0], Signature.of("0000")) == 0.0


@pytest.mark.parametrize("values", [[], [[0.5]], [1.5], [-0.1], [np.nan], ["a"], [[1], [1, 2]]])
def test_other_values_are_refused_with_one_line(values):
    for call, more in ((log10_by_probabilities, [HALF]), (log10_by_labels, [])):
        with pytest.raises(ClaimError, match="triggers"):
            call(values, [0.5], *more)
        with pytest.raises(ClaimError, match="decoys"):
            call([1.0], values, *more)


def test_labels_are_right_or_wrong():
    with pytest.raises(ClaimError, match="right or wrong"):
        log10_by_labels([0.5], [0])
