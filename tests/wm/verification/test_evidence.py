"""Verification by votes: compared with brute force; valid, unlike a pooled binomial test."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from wm.errors import ClaimError
from wm.signature import Signature, random_signature
from wm.verification import tails
from wm.verification.evidence import DEFAULT_LEVEL, verify
from wm.verification.tails import log10_p_value

PLAIN, LOGARITHMIC = 290.0, -1.0
"""Values of the threshold that choose plain or logarithmic sums."""


@st.composite
def error_counts(draw, max_trees=10, max_errors=12):
    """Draw errors of each tree, and a signature of the same length."""
    trees = draw(st.integers(1, max_trees))
    counts = draw(st.lists(st.integers(0, max_errors), min_size=trees, max_size=trees))
    bits = draw(st.lists(st.integers(0, 1), min_size=trees, max_size=trees))
    return np.array(counts), Signature.of(bits)


@st.composite
def cases(draw):
    """Draw votes, labels and a signature that fit one another."""
    rows, trees = draw(st.integers(1, 6)), draw(st.integers(1, 9))
    bit = st.integers(0, 1)
    votes = draw(st.lists(st.lists(bit, min_size=trees, max_size=trees), min_size=rows, max_size=rows))
    labels = draw(st.lists(bit, min_size=rows, max_size=rows))
    return (
        np.array(votes),
        np.array(labels),
        Signature.of(draw(st.lists(bit, min_size=trees, max_size=trees))),
    )


def brute_force_p_value(counts, signature):
    """Return the share of subsets of as many trees with at least the errors of the signature's ones."""
    observed = counts[signature.array == 1].sum()
    subsets = list(itertools.combinations(range(len(counts)), signature.ones))
    return sum(counts[list(subset)].sum() >= observed for subset in subsets) / len(subsets)


def perfect_votes(signature, labels):
    """Return votes that match the signature in every bit."""
    return np.where(signature.array == 1, 1 - labels[:, None], labels[:, None])


# --- the p-value


@pytest.mark.parametrize("switch", [PLAIN, LOGARITHMIC])
@given(case=error_counts())
def test_the_p_value_equals_brute_force_over_all_subsets(switch, case):
    counts, signature = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tails, "_SAFE_LOG10", switch)
        found = log10_p_value(counts, signature)
    assert found <= 0
    assert 10**found == pytest.approx(brute_force_p_value(counts, signature), rel=1e-9)


@given(case=error_counts(max_trees=40, max_errors=30))
def test_both_ways_to_sum_agree_on_larger_forests(case):
    with pytest.MonkeyPatch.context() as patch:
        plain = log10_p_value(*case)
        patch.setattr(tails, "_SAFE_LOG10", LOGARITHMIC)
        assert log10_p_value(*case) == pytest.approx(plain, rel=1e-9, abs=1e-12)


@given(case=error_counts(), factor=st.integers(2, 50), order=st.randoms(use_true_random=False))
def test_repeated_rows_and_the_order_of_trees_do_not_change_the_p_value(case, factor, order):
    counts, signature = case
    trees = list(range(len(counts)))
    order.shuffle(trees)
    shuffled = Signature.of([signature.bits[tree] for tree in trees])
    assert log10_p_value(counts[trees] * factor, shuffled) == pytest.approx(
        log10_p_value(counts, signature), abs=1e-12
    )


@given(
    trees=st.integers(1, 120),
    share=st.floats(0, 1),
    rows=st.integers(1, 30),
    switch=st.sampled_from([PLAIN, LOGARITHMIC]),
)
def test_the_p_value_of_a_perfect_claim_is_one_over_the_number_of_signatures(trees, share, rows, switch):
    signature = random_signature(trees, share, np.random.default_rng(trees))
    labels = np.arange(rows) % 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tails, "_SAFE_LOG10", switch)
        evidence = verify(perfect_votes(signature, labels), labels, signature)
    assert evidence.exact_match
    wanted = -math.log10(math.comb(trees, signature.ones))
    assert evidence.log10_p == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("ones", [200, 250])  # 1 in 10^281, summed plainly, and 1 in 10^326, below all floats
def test_a_perfect_claim_of_2000_trees_does_not_underflow(ones):
    signature = random_signature(2000, ones / 2000, np.random.default_rng(ones))
    labels = np.array([0, 1, 1])
    evidence = verify(perfect_votes(signature, labels), labels, signature)
    assert evidence.log10_p == pytest.approx(-math.log10(math.comb(2000, ones)), rel=1e-9)
    assert evidence.significant
    assert (evidence.p_value == 0.0) == (ones == 250)


@pytest.mark.parametrize("bits", ["0000", "1111"])
def test_a_constant_signature_proves_nothing(bits):
    signature, labels = Signature.of(bits), np.array([0, 1, 0])
    evidence = verify(perfect_votes(signature, labels), labels, signature)
    assert evidence.exact_match
    assert evidence.log10_p == pytest.approx(0.0, abs=1e-12)
    assert not evidence.significant


# --- evidence


@given(cases())
def test_the_counts_equal_those_of_plain_loops(case):
    votes, labels, signature = case
    trees, rows = range(len(signature)), range(len(labels))
    wrong = [[votes[row][tree] != labels[row] for tree in trees] for row in rows]
    matched = [[wrong[row][tree] == bool(signature.bits[tree]) for tree in trees] for row in rows]
    evidence = verify(votes, labels, signature)
    assert (evidence.trigger_size, evidence.n_trees) == votes.shape
    assert evidence.total_bits == votes.size
    assert evidence.matched_bits == sum(map(sum, matched))
    assert evidence.exact_match == all(map(all, matched))
    assert evidence.ones == sum(signature.bits)
    assert evidence.errors == sum(map(sum, wrong))
    assert evidence.level == DEFAULT_LEVEL
    assert evidence.p_value == pytest.approx(brute_force_p_value(np.sum(wrong, axis=0), signature), rel=1e-9)


def test_significance_depends_on_the_level():
    signature, labels = Signature.of("110000"), np.array([1, 0])
    votes = perfect_votes(signature, labels)  # p = 1/15
    assert verify(votes, labels, signature, level=1 / 14).significant
    assert not verify(votes, labels, signature, level=1 / 16).significant


def test_labels_may_be_text():
    evidence = verify([["cat", "dog", "cat"], ["dog", "cat", "dog"]], ["cat", "dog"], Signature.of("010"))
    assert evidence.exact_match
    assert evidence.p_value == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("votes", "labels", "reason"),
    [
        ([0, 1, 0], [0], r"shape \(3,\)"),
        ([[[0, 1, 0]]], [0], r"shape \(1, 1, 3\)"),
        (np.empty((0, 3)), [], r"shape \(0, 3\)"),
        ([[0, 1, 0]], [0, 1], "1 rows, the trigger set has 2"),
        ([[0, 1, 0]], [[0]], "1 rows, the trigger set has 1"),
        ([[0, 1, 0]], 0, "1 rows"),
        ([[0, 1]], [0], "2 trees, the signature has 3 bits"),
        ([[0, 1, 0, 0]], [0], "4 trees, the signature has 3 bits"),
        ([[0, 1, 0], [0]], [0, 1], "ragged"),
        ([["0", "1", "0"]], [0], "numbers or both text"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(votes, labels, reason):
    with pytest.raises(ClaimError, match=reason):
        verify(votes, labels, Signature.of("010"))


@pytest.mark.parametrize("level", [0, 1, -0.1, float("nan")])
def test_an_impossible_level_is_refused(level):
    with pytest.raises(ClaimError, match="outside"):
        verify([[0, 1]], [0], Signature.of("01"), level=level)


# --- real forests


@pytest.mark.parametrize("which", ["owner", "published_owner"])
def test_a_watermarked_forest_matches_all_its_bits(which, request):
    model = request.getfixturevalue(which)
    evidence = verify(model.watermarked.votes(model.trigger_X), model.trigger_y, model.signature)
    assert (evidence.matched_bits, evidence.total_bits) == (490, 490)
    assert evidence.exact_match
    assert (evidence.ones, evidence.errors) == (35, 245)
    assert evidence.log10_p == pytest.approx(-20.0499, abs=1e-4)
    assert evidence.significant


@pytest.mark.parametrize("which", ["owner", "published_owner"])
def test_a_forest_without_the_watermark_does_not_match(which, request):
    model = request.getfixturevalue(which)
    evidence = verify(model.honest.votes(model.trigger_X), model.trigger_y, model.signature)
    assert not evidence.exact_match
    assert evidence.p_value == pytest.approx(1.0)
    assert not evidence.significant


def test_the_wrong_signature_does_not_match(owner):
    other = random_signature(70, 0.5, np.random.default_rng(99))
    evidence = verify(owner.watermarked.votes(owner.trigger_X), owner.trigger_y, other)
    assert not evidence.exact_match
    assert evidence.p_value > 0.01


# --- validity under the null

SIMULATIONS, LEVEL = 400, 0.05


def honest_errors(rng):
    """Draw errors of an honest forest on 20 rows: as with real trees, some err on most rows."""
    rate_of_tree = rng.beta(0.3, 0.3, size=40)
    return rng.random((20, 40)) < rate_of_tree


def pooled_binomial_p_value(wrong, signature):
    """Return the p-value of the invalid test that treats k x m matches as independent."""
    matched = int((wrong == (signature.array == 1)).sum())
    return stats.binom.sf(matched - 1, wrong.size, 0.5)


def rejections_interval(p_values):
    """Return the Clopper-Pearson interval of the rejection rate."""
    rejections = int(np.sum(np.asarray(p_values) <= LEVEL))
    return stats.binomtest(rejections, len(p_values)).proportion_ci(method="exact")


def test_the_false_positive_rate_keeps_the_level_and_a_pooled_binomial_exceeds_it():
    exact, pooled = [], []
    for number in range(SIMULATIONS):
        rng = np.random.default_rng([2, number])
        wrong = honest_errors(rng)
        signature = random_signature(40, 0.5, rng)
        exact.append(verify(wrong.astype(int), np.zeros(20, dtype=int), signature, level=LEVEL).p_value)
        pooled.append(pooled_binomial_p_value(wrong, signature))
    interval = rejections_interval(exact)
    assert interval.low <= LEVEL <= interval.high
    assert rejections_interval(pooled).low > 2 * LEVEL
    # Beyond one level: the p-values as a whole are uniform, but for their steps.
    assert stats.kstest(exact, "uniform").pvalue > 0.001


def test_a_claim_too_large_for_the_exact_sum_gets_an_upper_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    signature = random_signature(40, 0.5, rng)
    counts = rng.binomial(25, np.where(signature.array == 1, 0.6, 0.3))
    exact = log10_p_value(counts, signature)
    monkeypatch.setattr(tails, "_MAX_STEPS", 1.0)
    assert exact <= log10_p_value(counts, signature) < 0.5 * exact


def test_three_thousand_trees_and_rows_are_judged() -> None:
    rng = np.random.default_rng(5)
    signature = random_signature(3000, 0.5, rng)
    found = log10_p_value(rng.binomial(3000, 0.4, size=3000), signature)
    assert -6 < found <= 0
