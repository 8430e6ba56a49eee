"""Scores of guesses and rankings, with exact nulls against brute force."""

from __future__ import annotations

import itertools
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import roc_auc_score

from tests.examples import examples
from wm.attacks.detection.guesses import score_guess, score_values
from wm.errors import SignatureError
from wm.signature import Signature


def all_signatures(trees, ones):
    for places in itertools.combinations(range(trees), ones):
        yield np.isin(np.arange(trees), places).astype(int)


bits_pairs = st.integers(2, 8).flatmap(
    lambda trees: st.tuples(
        st.lists(st.integers(0, 1), min_size=trees, max_size=trees),
        st.lists(st.integers(0, 1), min_size=trees, max_size=trees),
    )
)


@given(bits_pairs)
def test_a_guess_is_scored_up_to_complement_as_by_brute_force(case):
    guess, bits = map(np.array, case)

    def right(signature):
        return max((guess == signature).mean(), (guess != signature).mean())

    null = [right(signature) for signature in all_signatures(len(bits), bits.sum())]
    result = score_guess(guess, Signature.of(bits))
    assert result.bits == pytest.approx(right(bits))
    assert result.null_bits == pytest.approx(np.mean(null))
    assert result.p_value == pytest.approx(np.mean(np.array(null) >= right(bits) - 1e-12))
    other = score_guess(1 - guess, Signature.of(bits))
    assert astuple(other) == pytest.approx(astuple(result))


@examples(30)
@given(bits_pairs.filter(lambda case: 0 < sum(case[1]) < len(case[1])), st.data())
def test_a_ranking_is_scored_as_by_brute_force(case, data):
    bits = np.array(case[1])
    values = np.array(data.draw(st.lists(st.integers(0, 4), min_size=len(bits), max_size=len(bits))))
    areas = np.array([roc_auc_score(each, values) for each in all_signatures(len(bits), bits.sum())])
    found = roc_auc_score(bits, values)
    tails = [(areas >= found - 1e-12).mean(), (areas <= found + 1e-12).mean()]
    result = score_values(values, Signature.of(bits))
    assert result.auc == pytest.approx(max(found, 1 - found))
    assert result.p_value == pytest.approx(min(1.0, 2 * min(tails)))


def test_the_ranking_p_value_is_mann_whitneys():
    rng = np.random.default_rng(4)
    bits = rng.permutation(np.arange(40) % 2)
    values = rng.normal(size=40) + 0.8 * bits
    expected = stats.mannwhitneyu(values[bits == 1], values[bits == 0], method="exact").pvalue
    assert score_values(values, Signature.of(bits)).p_value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("guess", [[0, 1], [0, 1, 2], [0.5, 1, 1]])
def test_a_guess_of_another_form_is_refused(guess):
    with pytest.raises(SignatureError, match="3 bits"):
        score_guess(guess, Signature.of("011"))


def test_values_need_both_bits_and_one_for_each_tree():
    with pytest.raises(SignatureError, match="alike"):
        score_values([1, 2, 3], Signature.of("111"))
    with pytest.raises(SignatureError, match="one number"):
        score_values([1, 2], Signature.of("011"))
