"""The tests of boosted models, compared with all draws on small cases."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from wm.codebook import Codebook
from wm.errors import ClaimError
from wm.signature import Signature
from wm.statistics import holm
from wm.verification import boosted
from wm.verification.answers import Answers
from wm.verification.boosted import boosted_tests, log10_signs, sum_test
from wm.verification.randomization import RowTruth

weights = st.lists(st.sampled_from([-3.0, -1.0, -0.4, 0.0, 0.25, 1.0, 1.0, 2.0]), min_size=1, max_size=8)


@examples(50)
@given(weights, st.data())
def test_the_share_of_all_signs_is_exact(found, data):
    chances = st.lists(st.sampled_from([-1, 0, 1]), min_size=len(found), max_size=len(found))
    signs = np.array(data.draw(chances))
    log10_p, floor = log10_signs(np.array(found), signs)
    whole = (
        np.rint(np.array(found) / max(map(abs, found), default=1) * 1000)
        if any(found)
        else np.zeros(len(found))
    )
    kept = (whole != 0) & (signs != 0)
    seen = (whole * signs)[kept].sum()
    sums = [np.dot(whole[kept], each) for each in itertools.product([-1, 1], repeat=int(kept.sum()))]
    assert log10_p == pytest.approx(math.log10(np.mean(np.array(sums) >= seen)), abs=1e-9)
    assert log10_p >= floor - 1e-9
    assert floor == pytest.approx(-kept.sum() * math.log10(2))


@examples(25)
@given(st.integers(0, 1000))
def test_the_bound_for_many_rows_is_above_the_exact_value(seed):
    rng = np.random.default_rng(seed)
    found = rng.normal(size=rng.integers(1, 60))
    signs = np.where(rng.random(len(found)) < 0.8, np.sign(found), -np.sign(found)).astype(int)
    exact, _ = log10_signs(found, signs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boosted, "MAX_ROWS", 0)
        bound, _ = log10_signs(found, signs)
    assert bound >= exact - 1e-6
    assert bound <= 0


def truth_of(labels, triggers, bits):
    is_trigger = np.isin(np.arange(len(labels)), triggers)
    return RowTruth(np.array(labels), is_trigger, Codebook.of(bits, len(bits[0]) // 2))


@examples(20)
@given(st.integers(0, 10_000))
def test_over_all_codebooks_the_test_of_sums_is_super_uniform(seed):
    """Whatever a suspect answers: all 2^(k m) codebooks are equally likely under the null hypothesis."""
    rng = np.random.default_rng(seed)
    k, m, n = 2, 4, 5
    labels, shares = rng.integers(2, size=n), np.round(rng.random(n), 1)
    draws = itertools.product([0, 1], repeat=k * m)
    logs = [
        sum_test(shares, truth_of(labels, np.arange(k), np.reshape(bits, (k, m)).tolist())).log10_p
        for bits in draws
    ]
    p = 10.0 ** np.array(logs)
    for level in np.unique(p):
        assert np.mean(p <= level + 1e-12) <= level + 1e-9


def test_all_tests_are_adjusted_together():
    rng = np.random.default_rng(1)
    votes, bits = rng.integers(2, size=(6, 4)), rng.integers(2, size=(3, 4)).tolist()
    truth = truth_of(rng.integers(2, size=6), np.arange(3), bits)
    answers = {
        "probabilities": Answers("probabilities", rng.random(6)),
        "votes": Answers("votes", votes),
    }
    found = boosted_tests(answers, truth)
    names = {
        "rows by probabilities",
        "rows by rank",
        "rows by sums",
        "bits",
        "bits, aligned",
        "rows by votes",
    }
    assert {each.name for each in found} == names
    adjusted = [10.0**each.log10_adjusted for each in found]
    assert adjusted == pytest.approx(holm([10.0**each.log10_p for each in found]))


def test_a_sum_that_follows_the_bits_reaches_the_floor():
    rng = np.random.default_rng(0)
    k, m = 10, 20
    bits = rng.integers(2, size=(k, m))
    labels = np.tile([0, 1], k)
    leaning = np.where(labels[:k] == 1, 1, -1) * (m - 2 * bits.sum(axis=1))
    margins = np.concatenate([0.3 * leaning, rng.normal(size=k)])
    margins[:k] += np.median(margins[:k])  # a shift of all changes nothing
    found = sum_test(1 / (1 + np.exp(-margins)), truth_of(labels, np.arange(k), bits.tolist()))
    assert found.log10_floor >= -k * math.log10(2)
    assert found.log10_p < found.log10_floor + 1.2
    against = sum_test(1 / (1 + np.exp(margins)), truth_of(labels, np.arange(k), bits.tolist()))
    assert against.log10_p > -0.1


def test_a_signature_or_biased_coins_are_refused():
    labels, triggers = np.array([0, 1, 1]), np.array([True, False, False])
    for marks in (Signature.of("01"), Codebook.of(["0111"], 1)):
        with pytest.raises(ClaimError, match="fair coins"):
            sum_test(np.full(3, 0.5), RowTruth(labels, triggers, marks))
