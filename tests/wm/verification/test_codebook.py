"""P-values of codebooks: against all codebooks, one by one, and over random ones."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from wm.verification import codebook
from wm.verification.codebook import (
    FIDELITIES,
    in_old_order,
    log10_aligned_floor,
    log10_floor,
    log10_in_order,
    log_matchings,
    log_matchings_in_order,
    log_ratios,
    match_columns,
    weights,
)

SHAPES = st.tuples(st.integers(1, 3), st.integers(1, 4))


def all_codebooks(shape):
    """Yield every codebook of a shape."""
    for bits in itertools.product((False, True), repeat=shape[0] * shape[1]):
        yield np.array(bits).reshape(shape)


def chance(bits, rho):
    return rho ** int(bits.sum()) * (1 - rho) ** int((~bits).sum())


def statistic(wrong, bits, rho, error):
    gain, cost = weights(float(wrong.mean()), rho, error)
    return gain * int((wrong & bits).sum()) - cost * int((~wrong & bits).sum())


@st.composite
def cases(draw):
    rows, trees = draw(SHAPES)
    matrix = st.lists(st.booleans(), min_size=rows * trees, max_size=rows * trees)
    wrong, bits = (np.array(draw(matrix)).reshape(rows, trees) for _ in range(2))
    return wrong, bits, draw(st.sampled_from([0.1, 0.25, 0.5, 0.8])), draw(st.sampled_from([0.01, 0.05, 0.4]))


@examples(40)
@given(cases())
def test_the_p_value_in_order_is_that_of_all_codebooks(case):
    wrong, bits, rho, error = case
    seen = statistic(wrong, bits, rho, error)
    exact = sum(
        chance(other, rho)
        for other in all_codebooks(bits.shape)
        if statistic(wrong, other, rho, error) >= seen
    )
    assert log10_in_order(wrong, bits, rho, error) == pytest.approx(math.log10(min(1.0, exact)), abs=1e-9)


@examples(25)
@given(cases())
def test_no_p_value_in_order_is_below_the_floor_and_a_perfect_copy_reaches_it(case):
    _, bits, rho, error = case
    floor = log10_floor(bits, rho)
    assert floor == pytest.approx(math.log10(chance(bits, rho)))
    assert log10_in_order(bits, bits, rho, error) == pytest.approx(floor, abs=1e-9)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 0.25, 0.5]), st.sampled_from(FIDELITIES))
def test_over_all_columns_an_e_value_is_one_in_the_mean(seed, rho, fidelity):
    rng = np.random.default_rng(seed)
    columns = np.array(list(itertools.product((False, True), repeat=4))).T
    wrong, errors = rng.random((4, 3)) < 0.3, rng.uniform(0.001, 0.5, size=3)
    chances = np.array([chance(column, rho) for column in columns.T])
    values = np.exp(log_ratios(wrong, columns, rho, errors, fidelity))
    assert values @ chances == pytest.approx([1.0, 1.0, 1.0])


@pytest.mark.parametrize(("trees", "columns"), [*itertools.product(range(1, 5), repeat=2)])
def test_the_numbers_of_matchings_are_those_counted(trees, columns):
    counted = np.zeros((2, min(trees, columns)))
    for size in range(1, min(trees, columns) + 1):
        for some in itertools.combinations(range(trees), size):
            for places in itertools.permutations(range(columns), size):
                counted[:, size - 1] += 1, some and list(places) == sorted(places)
    assert np.exp(log_matchings(trees, columns)) == pytest.approx(counted[0])
    assert np.exp(log_matchings_in_order(trees, columns)) == pytest.approx(counted[1])


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 4))
def test_the_best_matching_in_order_is_the_best_of_all(seed, trees, columns):
    scores = np.random.default_rng(seed).normal(size=(trees, columns))
    best = max(
        sum(scores[tree, column] for tree, column in zip(some, places, strict=True))
        for size in range(min(trees, columns) + 1)
        for some in itertools.combinations(range(trees), size)
        for places in itertools.combinations(range(columns), size)
    )
    found = in_old_order(scores)
    assert scores[found].sum() == pytest.approx(best)
    assert all((np.diff(side) > 0).all() for side in found)


def matchings(trees, columns):
    """Yield every matching as pairs, and whether it keeps the order."""
    for size in range(1, min(trees, columns) + 1):
        for some in itertools.combinations(range(trees), size):
            for places in itertools.permutations(range(columns), size):
                yield some, places, list(places) == sorted(places)


@examples(30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 4))
def test_no_matching_is_worth_more_than_its_e_values_over_their_number(seed, trees, columns):
    # The bound by brute force: the number of matchings of that many trees, over the product of the e-values.
    rng = np.random.default_rng(seed)
    bits, errors = rng.random((30, columns)) < 0.25, np.full(trees, 0.05)
    wrong = np.where(rng.random((30, trees)) < 0.7, bits[:, rng.integers(columns, size=trees)], False)
    best = 0.0
    for fidelity in FIDELITIES:
        scores = log_ratios(wrong, bits, 0.25, errors, fidelity)
        for some, places, in_order in matchings(trees, columns):
            kinds = [log_matchings, log_matchings_in_order] if in_order else [log_matchings]
            for count in kinds:
                bound = count(trees, columns)[len(some) - 1] + math.log(min(trees, columns))
                best = min(best, bound - float(scores[some, places].sum()))
    corrected = best / math.log(10) + math.log10(2 * len(FIDELITIES))
    found = match_columns(wrong, bits, 0.25, errors)
    assert found.log10_p >= min(0.0, corrected) - 1e-9


@pytest.mark.parametrize("suspect_trees", [2, 3])
def test_matchings_of_strangers_are_seldom_significant(suspect_trees):
    # A codebook of few trees and many rows, where the price of a matching is low: 1,500 of them.
    rng = np.random.default_rng(suspect_trees)
    wrong, errors = rng.random((40, suspect_trees)) < 0.2, np.full(suspect_trees, 0.05)
    found = np.array(
        [match_columns(wrong, rng.random((40, 3)) < 0.25, 0.25, errors).log10_p for _ in range(1500)]
    )
    for level in (0.5, 0.1):
        assert (10**found <= level).mean() <= level + 4 * math.sqrt(level * (1 - level) / len(found))


def large(seed=0, rows=20, trees=40, rho=0.25):
    rng = np.random.default_rng(seed)
    return rng.random((rows, trees)) < rho, rng


@pytest.mark.parametrize("error", [0.02, 0.1, 0.3])
def test_p_values_of_strangers_are_not_too_small(error):
    # Simulation: 2,000 codebooks against votes that have nothing to do with them.
    rng = np.random.default_rng(7)
    wrong = rng.random((6, 15)) < error
    found = np.array(
        [10 ** log10_in_order(wrong, rng.random((6, 15)) < 0.25, 0.25, 0.05) for _ in range(2000)]
    )
    for level in (0.5, 0.1, 0.01):
        # Four standard deviations above the level.
        assert (found <= level).mean() <= level + 4 * math.sqrt(level * (1 - level) / len(found))


def test_where_and_how_trees_are_lost_a_matching_finds_them():
    bits, rng = large()
    stranger = rng.random((20, 20)) < 0.05
    suspects = {
        "shuffled": bits[:, rng.permutation(40)],
        "half, shuffled": bits[:, rng.permutation(40)[:20]],
        "half, in order": bits[:, 1::2],
        "half replaced": np.hstack([bits[:, :20], stranger])[:, rng.permutation(40)],
        "merged": np.hstack([stranger, bits])[:, rng.permutation(60)],
        "twice": np.hstack([bits, bits]),
    }
    found = {
        name: match_columns(wrong, bits, 0.25, np.full(wrong.shape[1], 0.05))
        for name, wrong in suspects.items()
    }
    assert all(each.log10_p < -20 for each in found.values()), found
    # Trees that kept their order have fewer places to be matched with.
    assert found["half, in order"].log10_p < found["half, shuffled"].log10_p - 10
    assert found["shuffled"].bits == found["half, in order"].bits == 1.0
    assert found["half replaced"].trees <= 21
    for name, wrong in suspects.items():
        assert found[name].log10_p >= log10_aligned_floor(bits, wrong.shape[1], 0.25)


def test_trees_of_a_stranger_are_not_matched():
    bits, rng = large(1)
    for error in (0.02, 0.25):
        wrong = rng.random((20, 40)) < error
        assert match_columns(wrong, bits, 0.25, np.full(40, 0.05)).log10_p > -2


def test_of_too_many_trees_those_most_alike_are_matched_and_all_are_paid_for(monkeypatch):
    bits, rng = large()
    wrong = np.hstack([rng.random((20, 160)) < 0.05, bits])[:, rng.permutation(200)]
    errors = np.full(200, 0.05)
    whole = match_columns(wrong, bits, 0.25, errors).log10_p
    monkeypatch.setattr(codebook, "MAX_PAIRS", 1600)  # the tree most like each of the 40 columns
    assert whole <= match_columns(wrong, bits, 0.25, errors).log10_p < -20


def test_choosing_the_trees_most_alike_makes_no_p_value_too_small(monkeypatch):
    monkeypatch.setattr(codebook, "MAX_PAIRS", 16)
    rng = np.random.default_rng(3)
    wrong = rng.random((8, 30)) < 0.3
    found = np.array(
        [match_columns(wrong, rng.random((8, 4)) < 0.25, 0.25, np.full(30, 0.3)).log10_p for _ in range(400)]
    )
    for level in (0.3, 0.1):
        assert (found <= math.log10(level)).mean() <= level


def test_a_copy_that_errs_seldom_is_seen_by_its_wrong_votes():
    # A pruned copy: a tenth of the ones is left, and nothing else. Counting matched bits would not see it.
    bits, rng = large(2, rows=30, trees=60)
    wrong = bits & (rng.random(bits.shape) < 0.1)
    assert log10_in_order(wrong, bits, 0.25, 0.02) < -20


def test_p_values_far_below_a_double_are_finite():
    bits, _ = large(3, rows=200, trees=90)
    found = log10_in_order(bits, bits, 0.25, 0.05)
    assert found == pytest.approx(log10_floor(bits, 0.25))
    assert -6000 < found < -3000
