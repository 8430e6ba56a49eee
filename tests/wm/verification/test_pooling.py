"""Pooling: the exact p-value of several claims, compared with brute force."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.examples import examples
from wm.claims.claim import Claim, make_claim
from wm.errors import ClaimError
from wm.signature import Signature, random_signature
from wm.verification.evidence import verify
from wm.verification.pooling import verify_together


@dataclass(frozen=True, eq=False)
class Case:
    """A claim and a suspect's votes on its trigger rows."""

    claim: Claim
    votes: NDArray[np.int64]


def case_of(errors, bits, rows):
    """Return a case in which each tree errs on as many first rows as `errors` says."""
    claim = make_claim(
        scheme="paper",
        signature=Signature.of(bits),
        X=np.arange(rows, dtype=np.float32)[:, None],
        y=np.zeros(rows, dtype=np.int64),
        model_hash="",
        model_id="",
        class_names=("a", "b"),
    )
    return Case(claim, (np.arange(rows)[:, None] < np.array(errors)).astype(np.int64))


def pooled_evidence(cases, **options):
    return verify_together([one.claim for one in cases], [one.votes for one in cases], **options)


def brute_force(cases):
    """Return P over all pairs of signatures with as many ones."""
    observed, choices = 0, []
    for case in cases:
        errors = case.votes.sum(axis=0)
        observed += int(errors[case.claim.bits.array == 1].sum())
        subsets = itertools.combinations(errors.tolist(), case.claim.bits.ones)
        choices.append([sum(subset) for subset in subsets])
    sums = [sum(pair) for pair in itertools.product(*choices)]
    return np.mean(np.array(sums) >= observed)


@st.composite
def claims(draw):
    cases = []
    for _ in range(draw(st.integers(1, 3))):
        trees, rows = draw(st.integers(1, 5)), draw(st.integers(1, 4))
        bits = draw(st.lists(st.integers(0, 1), min_size=trees, max_size=trees))
        errors = draw(st.lists(st.integers(0, rows), min_size=trees, max_size=trees))
        cases.append(case_of(errors, bits, rows))
    assume(len({one.claim.signature for one in cases}) == len(cases))
    return cases


@examples(150)
@given(claims())
def test_the_p_value_is_exact(cases):
    pooled = pooled_evidence(cases)
    assert 10**pooled.log10_p == pytest.approx(brute_force(cases), rel=1e-9)
    assert pooled.parts == tuple(verify(one.votes, one.claim.trigger_set.y, one.claim.bits) for one in cases)
    assert pooled.exact_match == all(part.exact_match for part in pooled.parts)
    assert pooled.significant == (pooled.log10_p <= -6)


@given(claims().filter(lambda cases: len(cases) == 1))
def test_the_pooled_p_value_of_one_claim_is_its_own(cases):
    pooled = pooled_evidence(cases)
    assert pooled.log10_p == pytest.approx(pooled.parts[0].log10_p, abs=1e-9)


@pytest.mark.parametrize("classes", [2, 10, 40])
def test_p_values_of_perfect_claims_multiply_without_underflow(classes):
    rng = np.random.default_rng(classes)
    cases = []
    for _ in range(classes):
        signature = random_signature(90, 0.5, rng)
        cases.append(case_of(signature.array * 20, signature.bits, 20))
    pooled = pooled_evidence(cases)
    assert pooled.exact_match
    assert pooled.log10_p == pytest.approx(-classes * math.log10(math.comb(90, 45)), rel=1e-9)
    assert pooled.log10_p == pytest.approx(sum(part.log10_p for part in pooled.parts), rel=1e-9)


def test_the_level_holds_for_suspects_with_equal_classes():
    """Equal forests and trigger sets in every class: only the signatures need be independent."""
    rng = np.random.default_rng(5)
    hits, trials = 0, 700
    for _ in range(trials):
        errors = rng.integers(0, 8, 12)
        signatures = [random_signature(12, 0.5, rng) for _ in range(3)]
        if len(set(map(str, signatures))) < 3:
            continue
        pooled = pooled_evidence([case_of(errors, one.bits, 8) for one in signatures], level=0.05)
        hits += pooled.significant
    # 5% of 700 is 35; four standard deviations above are 58.
    assert hits < 58


def test_weak_claims_are_significant_together():
    bits = ["000111", "001011", "011100", "110001"]
    cases = [case_of([3 * int(bit) for bit in text], text, 3) for text in bits]
    pooled = pooled_evidence(cases, level=1e-4)
    assert not any(part.significant for part in pooled.parts)
    assert pooled.significant


def test_claims_that_cannot_be_pooled_are_refused():
    with pytest.raises(ClaimError, match="no claim"):
        pooled_evidence([])
    one = case_of([1, 0], "10", 1)
    with pytest.raises(ClaimError, match="same signature"):
        pooled_evidence([one, one])
    with pytest.raises(ClaimError, match="3 bits"):
        pooled_evidence([Case(case_of([1, 0, 0], "101", 1).claim, one.votes)])
