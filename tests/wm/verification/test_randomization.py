"""Every test of the list, compared with all draws on small cases: exact, or above, ties included."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from tests.examples import examples
from wm.signature import Signature
from wm.statistics import holm
from wm.verification.answers import Answers
from wm.verification.randomization import RowTruth, bit_floor, row_floor, run_tests

codes = st.integers(0, 3)
few = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.5, 0.75, 0.9, 1.0])  # so that there are ties


MOST_CLASSES = 4


@st.composite
def truths(draw, most_classes=MOST_CLASSES):
    size, trees = draw(st.integers(2, 8)), draw(st.integers(1, 7))
    classes = draw(st.integers(2, most_classes))
    labels = draw(st.lists(st.integers(0, classes - 1), min_size=size, max_size=size))
    triggers = draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=size - 1))
    bits = draw(st.lists(st.integers(0, 1), min_size=trees, max_size=trees))
    return RowTruth(np.array(labels), np.isin(np.arange(size), sorted(triggers)), Signature.of(bits))


def all_rows(truth):
    """Yield the truth of every draw of rows."""
    size = len(truth.labels)
    for chosen in itertools.combinations(range(size), int(truth.is_trigger.sum())):
        yield RowTruth(truth.labels, np.isin(np.arange(size), chosen), truth.signature)


def all_bits(truth):
    """Yield the truth of every draw of bits."""
    trees = len(truth.signature)
    for chosen in itertools.combinations(range(trees), truth.signature.ones):
        bits = Signature.of([int(tree in chosen) for tree in range(trees)])
        yield RowTruth(truth.labels, truth.is_trigger, bits)


def share(statistic, truth, draws):
    """Return log10 of the share of draws whose statistic is at least that of the truth."""
    found = [statistic(each) >= statistic(truth) - 1e-9 for each in draws]
    return math.log10(sum(found) / len(found))


def given_classes(labels, wrong, data):
    """Return a class for each label, another one where it is wrong; (n,) or (n, m) as `wrong`."""
    steps = data.draw(st.lists(st.integers(1, MOST_CLASSES - 1), min_size=wrong.size, max_size=wrong.size))
    off = np.array(steps, dtype=np.int64).reshape(wrong.shape)
    return (labels.reshape(-1, *[1] * (wrong.ndim - 1)) + wrong * off) % MOST_CLASSES


def with_classes(of_label, labels):
    """Return probabilities of each class, (n, c), of which those of the labels are given."""
    rest = np.repeat((1 - of_label)[:, None] / (MOST_CLASSES - 1), MOST_CLASSES, axis=1)
    rest[np.arange(len(labels)), labels] = of_label
    return rest


def p_of(answers, truth):
    return {test.name: test.log10_p for test in run_tests({answers.kind: answers}, truth)}


def closeness(shares):
    """Return the sum of the trigger rows' ranks, which row lies nearer to the share of ones being higher."""

    def statistic(truth):
        distance = np.round(np.abs(shares - truth.signature.ones / len(truth.signature)), 9)
        return rankdata(-distance)[truth.is_trigger].sum()

    return statistic


def rank_within_label(of_wrong):
    """Return the sum of the trigger rows' ranks from the top of their label's rows."""

    def statistic(truth):
        total = 0.0
        for label in range(MOST_CLASSES):
            rows = truth.labels == label
            if rows.any():
                ranks = rankdata(of_wrong[rows]) - rows.sum()
                total += ranks[truth.is_trigger[rows]].sum()
        return total

    return statistic


# --- each against all draws


@given(truths(), st.data())
@examples(100)
def test_votes_against_all_draws(truth, data):
    shape = (len(truth.labels), len(truth.signature))
    wrong = np.array(
        data.draw(st.lists(st.integers(0, 1), min_size=math.prod(shape), max_size=math.prod(shape)))
    )
    wrong = wrong.reshape(shape)
    found = p_of(Answers("votes", given_classes(truth.labels, wrong, data)), truth)

    def bits(each):
        return wrong[each.is_trigger][:, each.signature.array == 1].sum()

    assert found["bits"] == pytest.approx(share(bits, truth, all_bits(truth)), abs=1e-9)
    shares = wrong.mean(axis=1)
    best = min(share(each(shares), truth, all_rows(truth)) for each in (closeness, rank_within_label))
    assert found["rows by votes"] == pytest.approx(min(0.0, best + math.log10(2)), abs=1e-9)


@given(truths(), st.data(), st.booleans())
@examples(100)
def test_probabilities_against_all_draws(truth, data, of_one_class):
    values = np.array(data.draw(st.lists(few, min_size=len(truth.labels), max_size=len(truth.labels))))
    of_wrong = np.where(truth.labels == 1, 1 - values, values)
    if truth.labels.max() > 1 or not of_one_class:
        values = with_classes(1 - of_wrong, truth.labels)
    found = p_of(Answers("probabilities", values), truth)
    for name, statistic in (
        ("rows by probabilities", closeness(of_wrong)),
        ("rows by rank", rank_within_label(of_wrong)),
    ):
        assert found[name] == pytest.approx(share(statistic, truth, all_rows(truth)), abs=1e-9)


@given(truths(), st.data())
@examples(100)
def test_labels_against_all_draws(truth, data):
    size = len(truth.labels)
    wrong = np.array(data.draw(st.lists(st.integers(0, 1), min_size=size, max_size=size)))
    found = p_of(Answers("labels", given_classes(truth.labels, wrong, data)), truth)
    expected = share(lambda each: wrong[each.is_trigger].sum(), truth, all_rows(truth))
    assert found["rows by labels"] == pytest.approx(expected, abs=1e-9)


@given(truths(), st.data(), st.sampled_from(["votes", "probabilities", "labels"]))
@examples(60)
def test_over_all_draws_no_p_value_is_small_too_often(truth, data, kind):
    size, trees = len(truth.labels), len(truth.signature)
    values = {
        "votes": st.lists(st.lists(codes, min_size=trees, max_size=trees), min_size=size, max_size=size),
        "probabilities": st.lists(few, min_size=size, max_size=size),
        "labels": st.lists(codes, min_size=size, max_size=size),
    }[kind]
    drawn = np.array(data.draw(values))
    answers = Answers(kind, with_classes(drawn, truth.labels) if kind == "probabilities" else drawn)
    draws = [each for rows in all_rows(truth) for each in all_bits(rows)][:400]
    if len(draws) == 400:
        return
    found = [run_tests({kind: answers}, each) for each in draws]
    for tests in zip(*found, strict=True):
        p = np.sort(10.0 ** np.array([test.log10_p for test in tests]))
        # The share of draws with p at most that value, against the value.
        assert (np.arange(1, len(p) + 1) / len(p) <= p + 1e-9)[np.append(p[1:] > p[:-1] + 1e-12, True)].all()
    smallest = np.sort([10.0 ** min(test.log10_adjusted for test in tests) for tests in found])
    ends = np.append(smallest[1:] > smallest[:-1] + 1e-12, True)
    assert (np.arange(1, len(smallest) + 1) / len(smallest) <= smallest + 1e-9)[ends].all()


# --- invariances


@given(truths(), st.data())
def test_a_monotone_recalibration_changes_nothing_by_rank(truth, data):
    values = np.array(data.draw(st.lists(few, min_size=len(truth.labels), max_size=len(truth.labels))))
    for changed in (values**3, values / 2 + 0.1, np.sqrt(values)):
        first, second = (p_of(Answers("probabilities", each), truth) for each in (values, changed))
        assert first["rows by rank"] == second["rows by rank"]


@given(truths(), st.data())
def test_the_order_of_trees_and_every_tree_twice_change_nothing_by_rows(truth, data):
    shape = (len(truth.labels), len(truth.signature))
    votes = np.array(
        data.draw(st.lists(st.integers(0, 1), min_size=math.prod(shape), max_size=math.prod(shape)))
    )
    votes = votes.reshape(shape)
    order = data.draw(st.permutations(range(shape[1])))
    expected = p_of(Answers("votes", votes), truth)["rows by votes"]
    for changed in (votes[:, order], np.hstack([votes, votes]), np.repeat(votes, 3, axis=1)):
        assert p_of(Answers("votes", changed), truth)["rows by votes"] == expected


@given(truths(), st.data())
def test_rows_in_another_order_change_nothing(truth, data):
    order = np.array(data.draw(st.permutations(range(len(truth.labels)))))
    values = np.array(data.draw(st.lists(few, min_size=len(order), max_size=len(order))))
    moved = RowTruth(truth.labels[order], truth.is_trigger[order], truth.signature)
    first, second = (
        p_of(Answers("probabilities", values), truth),
        p_of(Answers("probabilities", values[order]), moved),
    )
    assert first == pytest.approx(second, abs=1e-12)


def test_another_number_of_trees_has_no_test_of_bits():
    truth = RowTruth(np.array([0, 1, 0]), np.array([True, False, False]), Signature.of("0101"))
    assert set(p_of(Answers("votes", np.zeros((3, 5), dtype=int)), truth)) == {"rows by votes"}


# --- floors and correction


@given(st.integers(1, 12), st.data())
def test_floors_count_the_draws(count, data):
    size = data.draw(st.integers(0, count))
    assert row_floor(count, size) == pytest.approx(-math.log10(math.comb(count, size)), abs=1e-9)
    assert bit_floor(count, size) == row_floor(count, size)


@given(truths(), st.data())
def test_no_p_value_is_below_its_floor(truth, data):
    size, trees = len(truth.labels), len(truth.signature)
    votes = data.draw(
        st.lists(st.lists(st.integers(0, 1), min_size=trees, max_size=trees), min_size=size, max_size=size)
    )
    values = data.draw(st.lists(few, min_size=size, max_size=size))
    found = run_tests(
        {
            "votes": Answers("votes", np.array(votes)),
            "probabilities": Answers("probabilities", np.array(values)),
            "labels": Answers("labels", np.round(values).astype(int)),
        },
        truth,
    )
    assert len(found) == 5
    for test in found:
        assert test.log10_floor - 1e-9 <= test.log10_p <= test.log10_adjusted <= 0
    adjusted = holm([10.0**test.log10_p for test in found])
    assert [10.0**test.log10_adjusted for test in found] == pytest.approx(adjusted)


def test_p_values_far_below_the_range_of_a_double_are_adjusted():
    signature = Signature.of(np.arange(3000) % 2)
    labels = np.arange(400) % 2
    truth = RowTruth(labels, np.arange(400) < 40, signature)
    votes = labels[:, None] ^ (truth.is_trigger[:, None] * signature.array)
    bits, rows = run_tests({"votes": Answers("votes", votes)}, truth)
    assert bits.log10_p == pytest.approx(bits.log10_floor, abs=1e-6)
    assert bits.log10_adjusted == pytest.approx(bits.log10_floor + math.log10(2), abs=1e-6)
    assert bits.log10_p < -800
    assert rows.log10_adjusted == pytest.approx(row_floor(400, 40) + math.log10(2), abs=1e-6)
