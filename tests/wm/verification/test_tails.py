"""Tails of sums over random subsets, compared with all subsets; bounds are never below the exact tail."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from tests.examples import examples
from wm.signature import Signature
from wm.verification import tails
from wm.verification.tails import log10_p_value, log10_tail, sums

scores = st.lists(st.integers(0, 9), min_size=1, max_size=11)


def all_subsets(values, size, least):
    """Return log10 of the share of subsets of a size whose sum is at least `least`."""
    found = [sum(each) >= least for each in itertools.combinations(values, size)]
    return math.log10(sum(found) / len(found))


@st.composite
def subsets(draw, values=scores):
    found = draw(values)
    return np.array(found), draw(st.integers(1, len(found)))


@given(subsets())
@examples(300)
def test_the_exact_tail_is_that_of_all_subsets(case):
    values, size = case
    found, exact = log10_tail(values, size)
    assert exact
    assert found == pytest.approx(all_subsets(values.tolist(), size, values[:size].sum()), abs=1e-12)


@given(scores, st.data())
@examples(200)
def test_the_p_value_of_a_signature_is_that_of_all_signatures(errors, data):
    bits = data.draw(st.lists(st.integers(0, 1), min_size=len(errors), max_size=len(errors)))
    signature, counts = Signature.of(bits), np.array(errors)
    least = counts[signature.array == 1].sum()
    assert log10_p_value(counts, signature) == pytest.approx(
        all_subsets(errors, signature.ones, least), abs=1e-12
    )


@given(subsets(), st.integers(1, 5), st.integers(-7, 7))
def test_a_common_factor_or_shift_changes_nothing(case, factor, shift):
    values, size = case
    assert log10_tail(values * factor + shift, size) == pytest.approx(log10_tail(values, size), abs=1e-12)


@given(st.integers(1, 60), st.data())
def test_zeros_and_ones_are_hypergeometric(count, data):
    size, wrong = data.draw(st.integers(1, count)), data.draw(st.integers(0, count))
    among = data.draw(st.integers(max(0, size + wrong - count), min(size, wrong)))
    values = np.array(
        [1] * among + [0] * (size - among) + [1] * (wrong - among) + [0] * (count - size - wrong + among)
    )
    expected = hypergeom.sf(among - 1, count, wrong, size)
    assert log10_tail(values, size)[0] == pytest.approx(math.log10(expected), abs=1e-9)


@given(subsets(st.lists(st.integers(0, 5), min_size=1, max_size=9)))
def test_the_tables_of_sums_are_those_of_all_subsets(case):
    values, size = case
    limit = int(values.sum())
    totals = [sum(each) for each in itertools.combinations(values.tolist(), size)]
    expected = np.bincount(totals, minlength=limit + 1) / len(totals)
    assert sums(values, size, limit) == pytest.approx(expected, abs=1e-12)
    with np.errstate(divide="ignore"):
        assert np.exp(sums(values, size, limit, logs=True)) == pytest.approx(expected, abs=1e-12)


# --- bounds


@pytest.fixture
def only_bounds(monkeypatch):
    monkeypatch.setattr(tails, "_MAX_STEPS", 0)


@given(subsets(st.lists(st.integers(0, 30), min_size=1, max_size=40)))
@examples(300)
def test_the_bound_is_never_below_the_exact_tail(case):
    values, size = case
    exact, _ = log10_tail(values, size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tails, "_MAX_STEPS", 0)
        bound, is_exact = log10_tail(values, size)
    assert not is_exact
    assert exact - 1e-9 <= bound <= 0


@given(st.integers(1, 200), st.data())
@examples(200)
def test_the_bound_of_zeros_and_ones_is_never_below_the_hypergeometric_tail(count, data):
    size, wrong = data.draw(st.integers(1, count)), data.draw(st.integers(0, count))
    among = data.draw(st.integers(max(0, size + wrong - count), min(size, wrong)))
    values = np.array(
        [1] * among + [0] * (size - among) + [1] * (wrong - among) + [0] * (count - size - wrong + among)
    )
    exact = hypergeom.logsf(among - 1, count, wrong, size) / math.log(10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tails, "_MAX_STEPS", 0)
        bound, _ = log10_tail(values, size)
    assert bound >= exact - 1e-9


@given(subsets(st.lists(st.integers(0, 10**12), min_size=2, max_size=12)))
@examples(100)
def test_scores_of_any_size_are_bounded(case):
    values, size = case
    expected = all_subsets(values.tolist(), size, values[:size].sum())
    found, exact = log10_tail(values, size)
    assert found >= expected - 1e-6
    if exact:
        assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.usefixtures("only_bounds")
@pytest.mark.parametrize(("count", "size"), [(400, 7), (2000, 40), (3000, 1500)])
def test_the_bound_of_a_perfect_match_is_close_to_the_floor(count, size):
    values = np.concatenate([np.full(size, count), np.arange(count - size)])
    floor = -(math.lgamma(count + 1) - math.lgamma(size + 1) - math.lgamma(count - size + 1)) / math.log(10)
    found, _ = log10_tail(values, size)
    assert floor - 1e-6 <= found <= floor + 2


@pytest.mark.usefixtures("only_bounds")
def test_the_bound_of_everything_is_one():
    assert log10_tail(np.array([3, 1, 2]), 3) == (0.0, False)
    assert log10_tail(np.zeros(5, dtype=int), 2)[0] == 0.0


def test_the_least_floating_point_numbers_do_not_underflow():
    errors = np.array([1] * 1000 + [0] * 1000)
    signature = Signature.of([1] * 1000 + [0] * 1000)
    floor = (2 * math.lgamma(1001) - math.lgamma(2001)) / math.log(10)
    assert floor < -600
    assert log10_p_value(errors, signature) == pytest.approx(floor, abs=1e-6)


def test_claims_of_any_size_are_counted_or_bounded():
    rng = np.random.default_rng(0)
    signature = Signature.of(np.arange(3000) % 2)
    marked = rng.binomial(3000, np.where(signature.array == 1, 0.9, 0.2))
    unmarked = rng.binomial(3000, 0.4, size=3000)
    assert log10_p_value(marked, signature) < -600
    assert log10_p_value(unmarked, signature) > -3
