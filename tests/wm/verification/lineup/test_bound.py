"""The bound on a line-up's p-value, against all possible places, and far below the range of a double."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wm.verification.lineup.bound import (
    log10_bound,
    log10_e,
    log10_floor,
    log10_floor_of_rounds,
    log10_rounds,
    standardised,
)


@st.composite
def lineups(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Return resemblances, (m, N), with ties, and places."""
    positions, candidates = draw(st.integers(1, 5)), draw(st.integers(2, 5))
    cells = st.integers(-3, 3)
    count = positions * candidates
    values = draw(st.lists(cells, min_size=count, max_size=count))
    places = draw(st.lists(st.integers(0, candidates - 1), min_size=positions, max_size=positions))
    return np.array(values, dtype=np.float64).reshape(positions, candidates), np.array(places)


def exact(scores: np.ndarray, places: np.ndarray) -> float:
    """Return P(T >= t) by counting all places."""
    total = scores[np.arange(len(places)), places].sum()
    sums = [sum(row) for row in itertools.product(*scores)]
    return float(np.mean(np.array(sums) >= total - 1e-9))


@given(lineups())
def test_the_bound_is_never_below_the_exact_tail_of_the_better_statistic_doubled(lineup):
    resemblance, places = lineup
    scores = standardised(resemblance)
    tails = [exact(scores, places), exact(np.exp(scores), places)]
    assert log10_bound(resemblance, places) >= min(0.0, math.log10(2 * min(tails))) - 1e-6


@given(lineups())
def test_the_bound_is_valid_whatever_the_resemblances_are(lineup):
    resemblance, _ = lineup
    every = itertools.product(range(resemblance.shape[1]), repeat=len(resemblance))
    found = np.sort([log10_bound(resemblance, np.array(places)) for places in every])
    counts = np.searchsorted(found, found + 1e-9, side="right")
    assert (np.log10(counts / len(found)) <= found + 1e-6).all()


@pytest.mark.parametrize(("candidates", "expected"), [(20, -6.5), (200, -12.0)])
def test_a_tenth_of_the_trees_is_found_among_strangers(candidates, expected):
    rng = np.random.default_rng(5)
    resemblance = rng.normal(0.5, 0.05, size=(80, candidates))
    places = rng.integers(candidates, size=80)
    resemblance[np.arange(8), places[:8]] = 1.0
    assert log10_bound(resemblance, places) < expected
    others = np.roll(places, 40)
    assert log10_bound(resemblance, others) > -2


@given(lineups(), st.floats(0.1, 50), st.floats(-5, 5))
def test_units_of_a_resemblance_do_not_matter(lineup, factor, shift):
    resemblance, places = lineup
    assert log10_bound(factor * resemblance + shift, places) == pytest.approx(
        log10_bound(resemblance, places), abs=1e-4
    )


@given(lineups(), st.randoms(use_true_random=False))
def test_the_order_of_candidates_does_not_matter(lineup, random):
    resemblance, places = lineup
    order = list(range(resemblance.shape[1]))
    random.shuffle(order)
    moved = np.array([order.index(place) for place in places])
    assert log10_bound(resemblance[:, order], moved) == pytest.approx(
        log10_bound(resemblance, places), abs=1e-6
    )


def test_a_perfect_line_up_reaches_the_floor_far_below_a_double():
    rng = np.random.default_rng(1)
    resemblance = rng.uniform(0, 0.5, size=(300, 50))
    resemblance[:, 7] = 1.0
    found = log10_bound(resemblance, np.full(300, 7))
    assert found == pytest.approx(log10_floor(np.full(300, 1 / 50)), abs=0.01)
    assert found < -500


def test_positions_whose_candidates_are_alike_say_nothing():
    rng = np.random.default_rng(2)
    resemblance = rng.normal(size=(6, 4))
    places = resemblance.argmax(axis=1)
    found = log10_bound(resemblance, places)
    # The flat rows hold rounding errors, whose largest is at the owner's place.
    flat = 1 + 1e-16 * rng.normal(size=(3, 4))
    both = np.concatenate([resemblance, flat])
    assert log10_bound(both, np.concatenate([places, flat.argmax(axis=1)])) == pytest.approx(found, abs=1e-9)


def test_owners_places_that_are_the_least_alike_give_one():
    resemblance = np.random.default_rng(3).normal(size=(9, 5))
    assert log10_bound(resemblance, resemblance.argmin(axis=1)) == 0.0


def test_under_the_null_small_values_are_rare():
    rng = np.random.default_rng(4)
    resemblance = rng.normal(size=(12, 10)) ** 3
    found = np.array([log10_bound(resemblance, rng.integers(10, size=12)) for _ in range(2000)])
    for level in (0.3, 0.1, 0.05, 0.01):
        # Four standard errors above the level would be one in 30,000.
        assert (found <= math.log10(level)).mean() <= level + 4 * math.sqrt(level / 2000)
    assert (found <= math.log10(0.3)).any()


@given(
    st.integers(1, 4),
    st.integers(2, 4),
    st.integers(0, 2**32 - 1),
    st.integers(1, 4),
    st.sampled_from([0, 1, 10**8]),
)
def test_the_e_value_of_rounds_has_mean_one_if_each_round_depends_on_the_places_before(
    rounds, count, seed, values, offset
):
    def resemblance(places: tuple[int, ...]) -> np.ndarray:
        rows = []
        for number in range(rounds):
            rng = np.random.default_rng([seed, *places[:number]])
            rows.append(10.0 ** rng.integers(-12, 13) * (offset + rng.integers(values, size=count)))
        return np.array(rows, dtype=np.float64)

    every = itertools.product(range(count), repeat=rounds)
    found = [log10_e(resemblance(places), np.array(places)) for places in every]
    assert np.mean(10.0 ** np.array(found)) == pytest.approx(1)


def test_a_later_round_does_not_decide_whether_an_earlier_one_counts():
    """A claimant whose last round has no choice, and is as large as it pays, must not win."""

    def play(rng: np.random.Generator, rounds: int = 60, count: int = 20) -> float:
        low, high, rows, places = -4.0, 4.0, [], []
        for _ in range(rounds):
            size = low + (high - low) / count
            rows.append(10.0**size * (np.arange(count) == 0))
            places.append(int(rng.integers(count)))
            low, high = (low, size) if places[-1] == 0 else (size, high)
        # One more size among the others', where a common yardstick would have erased all smaller ones.
        rows.append(np.full(count, 10.0 ** ((low + high) / 2) * np.sqrt(count - 1) / count / 1e-9))
        return log10_rounds(np.array(rows), np.array([*places, 0]))

    rng = np.random.default_rng(0)
    assert sum(play(rng) <= -2 for _ in range(200)) <= 8  # 2 are expected at most


def test_rounds_whose_owner_stands_out_reach_the_smallest_p():
    resemblance = np.zeros((60, 20))
    resemblance[:, 7] = 1.0
    smallest = log10_floor_of_rounds(np.full(60, 1 / 20))
    assert smallest == pytest.approx(-60 * math.log10(20))
    assert smallest <= log10_rounds(resemblance, np.full(60, 7)) < smallest + 1
    assert log10_rounds(resemblance, np.full(60, 6)) == 0.0
