"""Calibration: valid p-values raise no alarm, an invalid one does, and the counts are counts."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError
from scipy import stats
from scipy.stats import binom

from wm.attacks.calibration.attack import Options
from wm.attacks.calibration.p_values import (
    CONFIDENCE,
    LEVELS,
    VERIFICATION,
    all_p_values,
    by_votes,
    calibrate,
    detection_p_values,
    gather,
    presence_p_values,
)
from wm.attacks.detection.presence import presence_statistics
from wm.attacks.populations import Case, false_case, honest_forests, other_owners_forests
from wm.embedding.training import Caps
from wm.errors import ModelError
from wm.signature import Signature, random_signature
from wm.verification.evidence import verify

CAPS = Caps(8, 19)


@pytest.fixture(scope="module")
def honest(breast_cancer):
    data = breast_cancer
    return list(honest_forests(data.X_train, data.y_train, n_trees=24, caps=CAPS, count=12, seed=3))


def cases(forests, data, repeats, *, seed=0, trigger_size=7, ones_share=0.5):
    rng = np.random.default_rng(seed)
    for forest in forests:
        for _ in range(repeats):
            yield false_case(
                forest, data.X_test, data.y_test, trigger_size=trigger_size, ones_share=ones_share, rng=rng
            )


def test_populations_are_independent_and_repeatable(breast_cancer, honest):
    data = breast_cancer
    assert len({forest.content_hash for forest in honest}) == 12
    again = list(honest_forests(data.X_train, data.y_train, n_trees=24, caps=CAPS, count=2, seed=3))
    assert [forest.content_hash for forest in again] == [forest.content_hash for forest in honest[:2]]
    owners = list(
        other_owners_forests(
            data.X_train, data.y_train, n_trees=12, caps=CAPS, trigger_size=5, count=2, seed=3
        )
    )
    assert len({forest.content_hash for forest in owners}) == 2
    assert all(forest.n_trees == 12 for forest in owners)


def test_every_p_value_is_one_and_raises_no_alarm(breast_cancer, honest):
    found = gather(cases(honest, breast_cancer, 3), seed=1)
    assert {f"verify: {name}" for name in VERIFICATION} <= set(found)
    assert {"detect: depth B", "detect: leaf-volume", "detect: spectrum split"} <= set(found)
    assert all(len(values) == 36 and min(values) > 0 and max(values) <= 1 for values in found.values())
    rows = calibrate({"honest": found})
    assert len(rows) == len(LEVELS) * len(found)
    assert not any(row.anti_conservative for row in rows)


def test_no_coin_stands_for_bits_of_which_a_quarter_are_ones(breast_cancer, honest):
    """As of scheme codebook: who guesses 0 more often than 1 has more bits right than fair coins have."""
    found = gather(cases(honest, breast_cancer, 8, ones_share=0.25), seed=1)
    assert {"detect: depth A exact", "detect: leaves B exact"} <= set(found)
    assert not {"detect: depth A", "detect: leaves A", "detect: depth B", "detect: leaves B"} & set(found)
    assert not any(row.anti_conservative for row in calibrate({"honest": found}))


def by_pooled_binomial(case: Case) -> float:
    """Return a p-value that treats all k x m bits as fair coins: not valid, and here to show it."""
    evidence = verify(case.forest.votes(case.X_trigger), case.y_trigger, case.signature)
    return float(binom.sf(evidence.matched_bits - 1, evidence.total_bits, 0.5))


def test_a_pooled_binomial_raises_an_alarm(owner):
    """Where all rows divide the trees alike, one coincidence counts k times: on another owner's own rows."""
    rng = np.random.default_rng(2)
    data = owner.data
    pooled, exact = [], []
    for _ in range(300):
        signature = random_signature(70, 0.5, rng)
        case = Case(owner.watermarked, signature, owner.trigger_X, owner.trigger_y, data.X_test, data.y_test)
        pooled.append(by_pooled_binomial(case))
        exact.append(by_votes(case, rng))
    bad, good = calibrate({"other owners": {"pooled": pooled, "exact": exact}}, levels=(0.05,))
    assert bad.anti_conservative
    assert bad.rate > 0.2
    assert not good.anti_conservative
    assert good.rate < 0.09


def test_over_all_signatures_no_p_value_is_small_more_often_than_it_says(breast_cancer):
    """The null is the signature's draw alone: it holds for any forest, and for one that others marked too."""
    data = breast_cancer
    (forest,) = other_owners_forests(
        data.X_train, data.y_train, n_trees=10, caps=CAPS, trigger_size=5, count=1, seed=6
    )
    case = false_case(
        forest, data.X_test, data.y_test, trigger_size=5, ones_share=0.5, rng=np.random.default_rng(7)
    )
    found: dict[str, list[float]] = {}
    for ones in itertools.combinations(range(10), 5):
        claim = replace(case, signature=Signature.of(np.isin(np.arange(10), ones).astype(int)))
        named = {"votes": by_votes(claim, np.random.default_rng(0)), **detection_p_values(claim)}
        for name, p_value in named.items():
            found.setdefault(name, []).append(p_value)
    assert {"votes", "spectrum", "spectrum split", "mean-leaf-depth", "depth A exact"} <= set(found)
    # The paper's fair coins are an approximation, reported with the exact p-value.
    fair_coins = {name for name in found if f"{name} exact" in found}
    assert len(fair_coins) == 4
    for name in set(found) - fair_coins:
        p_values = np.sort(found[name])
        assert len(p_values) == 252
        # The share of signatures with a p-value of at most p, for each p that occurs.
        share = np.searchsorted(p_values, p_values * (1 + 1e-9), side="right") / len(p_values)
        assert (share <= p_values * (1 + 1e-9)).all(), name


def test_other_owners_marks_are_no_evidence(breast_cancer):
    data = breast_cancer
    owners = other_owners_forests(
        data.X_train, data.y_train, n_trees=20, caps=CAPS, trigger_size=5, count=3, seed=4
    )
    rng = np.random.default_rng(5)
    found = [
        by_votes(case, rng)
        for forest in owners
        for case in (
            false_case(forest, data.X_train, data.y_train, trigger_size=5, ones_share=0.5, rng=rng)
            for _ in range(60)
        )
    ]
    (row,) = calibrate({"other owners": {"votes": found}}, levels=(0.05,))
    assert not row.anti_conservative
    assert row.population == "other owners"


def test_rows_are_counts_with_exact_intervals():
    p_values = [0.0005, 0.001, 0.01, 0.03, 0.05, 0.2, 0.9, 1.0, 0.5, 0.4]
    rows = calibrate({"a": {"p": p_values}})
    assert [(row.level, row.hits, row.trials) for row in rows] == [
        (0.05, 5, 10),
        (0.01, 3, 10),
        (0.001, 2, 10),
    ]
    expected = stats.binomtest(5, 10).proportion_ci(CONFIDENCE, method="exact")
    assert (rows[0].low, rows[0].high) == pytest.approx((expected.low, expected.high))
    assert rows[0].anti_conservative
    assert rows[0].rate == 0.5


def test_alarms_are_rare_over_many_valid_p_values():
    rng = np.random.default_rng(7)
    alarms = [
        any(row.anti_conservative for row in calibrate({"u": {str(n): rng.random(200) for n in range(20)}}))
        for _ in range(40)
    ]
    assert sum(alarms) <= 6


def test_presence_among_honest_forests_raises_no_alarm(breast_cancer, honest):
    found = [
        presence_statistics(forest, np.random.default_rng(number)) for number, forest in enumerate(honest)
    ]
    named = presence_p_values(found[:8], found[8:])
    assert set(named) == {"presence: maximum", "presence: Holm"}
    assert all(len(values) == 4 and min(values) >= 1 / 9 for values in named.values())
    assert not any(row.anti_conservative for row in calibrate({"honest": named}))


def test_names_do_not_depend_on_the_case(breast_cancer, honest):
    made = list(cases(honest[:2], breast_cancer, 1))
    first, second = (all_p_values(case, np.random.default_rng(0)) for case in made)
    assert list(first) == list(second)


@pytest.mark.parametrize("size", [0, 171])
def test_too_many_trigger_rows_are_refused(breast_cancer, honest, size):
    with pytest.raises(ModelError, match="cannot be drawn"):
        list(cases(honest[:1], breast_cancer, 1, trigger_size=size))


def test_nothing_to_calibrate_is_refused():
    with pytest.raises(ValidationError, match="there is nothing to calibrate"):
        Options(honest=0, other_owners=0)
    assert len(list(Options(honest=0, other_owners=0, presence=1).parts())) == 1
