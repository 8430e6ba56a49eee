"""The paper's strategies: its table on the authors' own forest, and p-values against brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from wm.attacks.detection import Measure, Strategy, detect
from wm.attacks.detection.strategies import UNDECIDED, exact_p_value, guess_signature, measure_trees
from wm.codebook import random_codebook
from wm.signature import Signature, random_signature

SAME_LENGTH = st.integers(1, 9).flatmap(
    lambda trees: st.tuples(
        st.lists(st.sampled_from([0, 1, UNDECIDED]), min_size=trees, max_size=trees),
        st.lists(st.integers(0, 1), min_size=trees, max_size=trees),
    )
)


def brute_force_p_value(guess, bits):
    """Share of all signatures with as many ones of which the guess gets at least as many bits right."""
    correct = sum(one == bit for one, bit in zip(guess, bits, strict=True))
    places = range(len(bits))
    scores = [
        sum(guess[place] == int(place in ones) for place in places)
        for ones in itertools.combinations(places, sum(bits))
    ]
    return sum(score >= correct for score in scores) / len(scores)


# --- guessing


def test_strategy_a_leaves_the_middle_undecided():
    # Mean 5, deviation 2: below 3 and above 7 only.
    values = np.array([2, 3, 5, 5, 5, 5, 7, 8])
    assert (values.mean(), values.std()) == (5.0, pytest.approx(1.8027756))
    assert guess_signature(values, Strategy.A).tolist() == [0, 0, *[UNDECIDED] * 4, 1, 1]
    exactly = np.array([3, 3, 7, 7])  # mean 5, deviation 2: on the border is undecided
    assert guess_signature(exactly, Strategy.A).tolist() == [UNDECIDED] * 4


def test_strategy_b_splits_at_the_mean_which_itself_counts_as_one():
    assert guess_signature(np.array([4, 5, 6]), Strategy.B).tolist() == [0, 1, 1]
    assert guess_signature(np.array([1, 2, 2, 9]), Strategy.B).tolist() == [0, 0, 0, 1]


def test_trees_that_are_all_alike_give_nothing_away(chain_forest):
    forest, signature = chain_forest([6] * 8), Signature.of("00001111")
    for result in detect(forest, signature):
        counts = (result.correct, result.wrong, result.uncertain)
        assert counts == ((0, 0, 8) if result.strategy == Strategy.A else (4, 4, 0))
        assert result.std == 0
        assert result.p_value_exact == pytest.approx(1.0)
        assert result.p_value == pytest.approx(
            stats.binom.sf(3, 8, 0.5) if result.strategy == Strategy.B else 1
        )


# --- p-values


@given(SAME_LENGTH)
def test_the_exact_p_value_is_that_of_brute_force(case):
    guess, bits = case
    expected = brute_force_p_value(guess, bits)
    assert exact_p_value(np.array(guess), Signature.of(bits)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("guess", "bits", "p_value"),
    [
        ([1, 1, 0, 0], "1100", 1 / 6),
        ([1, 1, 0, 0], "0011", 1.0),
        ([1, 1, 1, 0, 0, 0], "111011", 1 / 2),  # more ones and more guessed ones than trees
        ([1, 1, 1, 1], "1010", 1.0),
        ([UNDECIDED] * 4, "1010", 1.0),
        ([1, UNDECIDED, UNDECIDED, UNDECIDED], "1000", 1 / 4),
        ([0, 1], "11", 1.0),
        ([0, 1], "00", 1.0),
    ],
)
def test_the_exact_p_value_by_hand(guess, bits, p_value):
    assert exact_p_value(np.array(guess), Signature.of(bits)) == pytest.approx(p_value)


def test_the_exact_p_value_is_valid_for_few_ones_where_fair_coins_are_not():
    """A guess of zero everywhere is right for 9 of 10 bits and tells nothing."""
    signature = Signature.of([1] + [0] * 9)
    guess = np.zeros(10, dtype=int)
    assert exact_p_value(guess, signature) == pytest.approx(1.0)
    assert stats.binom.sf(8, 10, 0.5) < 0.02


def test_the_exact_p_value_keeps_to_its_level_under_random_signatures():
    rng = np.random.default_rng(12)
    guess = rng.choice([0, 1, UNDECIDED], size=40)
    p_values = [exact_p_value(guess, random_signature(40, 0.3, rng)) for _ in range(400)]
    rejected = int(np.sum(np.array(p_values) <= 0.05))
    assert stats.binomtest(rejected, 400).proportion_ci(method="exact").low <= 0.05
    assert rejected > 0


# --- forests


@given(case=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 1)), min_size=1, max_size=9))
def test_all_numbers_are_those_of_plain_loops(chain_forest, case):
    depths, bits = zip(*case, strict=True)
    forest = chain_forest(depths)
    results = detect(forest, Signature.of(bits))
    tried = [(result.measure, result.strategy) for result in results]
    assert tried == list(itertools.product(Measure, Strategy))
    for result in results:
        values = [depth + (result.measure == Measure.LEAVES) for depth in depths]
        mean = sum(values) / len(values)
        variance = sum((value - mean) ** 2 for value in values) / len(values)
        assert measure_trees(forest, Measure(result.measure)).tolist() == values
        assert (result.mean, result.std) == (pytest.approx(mean), pytest.approx(variance**0.5))
        guess = guess_signature(np.array(values), Strategy(result.strategy)).tolist()
        pairs = list(zip(guess, bits, strict=True))
        assert result.correct == sum(one == bit for one, bit in pairs)
        assert result.wrong == sum(one == 1 - bit for one, bit in pairs)
        assert result.uncertain == guess.count(UNDECIDED)
        coins = (
            stats.binomtest(result.correct, result.correct + result.wrong, alternative="greater")
            if (result.correct + result.wrong)
            else None
        )
        if abs(2 * sum(bits) - len(bits)) <= 1:
            assert result.p_value == pytest.approx(coins.pvalue if coins else 1.0)
        else:
            assert result.p_value is None
        assert result.p_value_exact == pytest.approx(brute_force_p_value(guess, bits), rel=1e-9)


@pytest.mark.parametrize(("share", "given"), [(0.5, True), (0.25, False)])
def test_coins_stand_for_a_codebook_only_if_its_bits_are_fair(chain_forest, share, given):
    codebook = random_codebook(5, 8, share, np.random.default_rng(3))
    results = detect(chain_forest(range(8)), codebook)
    assert [result.p_value is not None for result in results] == [given] * 4
    assert all(0 < result.p_value_exact <= 1 for result in results)


PAPERS_TABLE = {
    (Measure.DEPTH, Strategy.A): (34, 9, 27),
    (Measure.DEPTH, Strategy.B): (46, 24, 0),
    (Measure.LEAVES, Strategy.A): (4, 0, 66),
    (Measure.LEAVES, Strategy.B): (39, 31, 0),
}


@pytest.fixture
def published_results(released_forests, published_owner):
    if not released_forests.published:
        pytest.skip("WM_DATA_DIR does not hold the authors' published forests")
    results = detect(published_owner.watermarked, published_owner.signature)
    return {(result.measure, result.strategy): result for result in results}


def test_the_papers_table_on_the_published_forest(published_results):
    counts = {
        key: (result.correct, result.wrong, result.uncertain) for key, result in published_results.items()
    }
    assert counts == PAPERS_TABLE
    shapes = {key: (result.mean, result.std) for key, result in published_results.items()}
    for strategy in Strategy:
        assert shapes[Measure.DEPTH, strategy] == pytest.approx((7.03, 0.81), abs=0.005)
        assert shapes[Measure.LEAVES, strategy] == pytest.approx((18.90, 0.45), abs=0.005)


def test_the_published_ineffective_strategy_was_significant(published_results):
    depth = published_results[Measure.DEPTH, Strategy.B]
    assert depth.p_value == pytest.approx(0.00576, abs=1e-5)
    assert depth.p_value_exact == pytest.approx(0.00506, abs=1e-5)
    assert published_results[Measure.DEPTH, Strategy.A].p_value < 1e-4
    assert published_results[Measure.LEAVES, Strategy.B].p_value == pytest.approx(0.2015, abs=1e-4)


def test_counts_add_up_on_a_forest_watermarked_here(owner):
    for result in detect(owner.watermarked, owner.signature):
        assert result.correct + result.wrong + result.uncertain == 70
        assert 0 < result.p_value <= 1
        assert 0 < result.p_value_exact <= 1
