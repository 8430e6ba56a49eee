"""Verdicts: what a small p-value needs to be proof, and what a large one is worth."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.pools import (
    CHALLENGE,
    DRAWN,
    JUDGE,
    NOTARY,
    SEEN,
    STRANGER,
    TRUST,
    opening,
    own_receipt,
    pledge,
    receipt_of,
    rows_of,
    witnessed,
)
from wm.claims.beacons.base import Trust
from wm.claims.keys import public_hex
from wm.errors import ClaimError
from wm.verification.answers import Answers, checked_answers
from wm.verification.judgement import Requirements, Response, VerdictKind, judge_sample
from wm.verification.samples import controls_to_open, ordered_receipts, sample_of

SIZE, K, TREES = 200, 8, 20
y = np.arange(SIZE) % 2
CLAIM = pledge(rows_of(SIZE), y, trees=TREES, ones=10, trigger_size=K)
DRAWN_CLAIM = witnessed(CLAIM)
SAMPLE = sample_of(DRAWN_CLAIM, trust=TRUST)
BOTH = Trust(notaries=(public_hex(NOTARY), public_hex(STRANGER)))


def stolen(sample):
    """Return the votes of a perfect copy."""
    wrong = sample.is_trigger[:, None] * sample.draw.signature.array
    return Response({"votes": Answers("votes", sample.y[:, None] ^ wrong)}, np.arange(len(sample.y)))


def honest(sample, error=0.1, seed=0):
    """Return the votes of trees that err at random."""
    wrong = np.random.default_rng(seed).random((len(sample.y), TREES)) < error
    return Response({"votes": Answers("votes", sample.y[:, None] ^ wrong)}, np.arange(len(sample.y)))


def judged(claim, requirements=JUDGE, trust=TRUST, log=(), response=stolen):
    sample = sample_of(claim, trust=trust, log=log)
    return judge_sample(sample, response(sample), requirements)


# --- a perfect copy


def test_a_copy_is_verified():
    found = judged(DRAWN_CLAIM)
    assert found.verdict == VerdictKind.VERIFIED
    assert (found.multiplicity, found.open_questions, found.needed) == (1, (), "")
    assert {each.name for each in found.tests} == {"bits", "rows by votes"}
    assert found.log10_p == min(each.log10_adjusted for each in found.tests) <= -10


OPEN = {
    "no trusted beacon": ({}, {"trust": None}, "no beacon that you trust"),
    "another notary": ({}, {"trust": Trust(notaries=("ab" * 32,))}, "no beacon that you trust"),
    "the suspect's age unknown": ({"suspect_since": None}, {}, "not given"),
    "the suspect as old as the draw": ({"suspect_since": DRAWN}, {}, "not older"),
    "the suspect older": ({"suspect_since": DRAWN - timedelta(days=1)}, {}, "not older"),
}


@pytest.mark.parametrize(("asked", "given", "message"), OPEN.values(), ids=OPEN)
def test_something_open_leaves_an_indication(asked, given, message):
    found = judged(DRAWN_CLAIM, Requirements(**({"suspect_since": SEEN} | asked)), **given)
    assert found.verdict == VerdictKind.INDICATION
    assert any(message in each for each in found.open_questions)
    assert message in found.reason or "trusted time" in found.reason


def test_the_owners_own_value_after_a_trusted_one_leaves_an_indication():
    # With the trusted value in hand the owner tries values of its own until the draw suits.
    for other in (own_receipt(), receipt_of(CLAIM, notary=STRANGER)):
        claim = witnessed(CLAIM, *ordered_receipts(CLAIM, [receipt_of(CLAIM), other]))
        found = judged(claim)
        assert found.verdict == VerdictKind.INDICATION
        assert "a beacon that you do not trust took part" in found.reason


def test_two_receipts_of_the_only_trusted_beacon_leave_an_indication():
    claim = witnessed(CLAIM, *ordered_receipts(CLAIM, [receipt_of(CLAIM), receipt_of(CLAIM)]))
    found = judged(claim)
    assert found.verdict == VerdictKind.INDICATION
    assert "2 receipts are combined" in found.reason


@pytest.mark.parametrize("count", [1, 2])
def test_the_choice_among_trusted_beacons_is_counted(count):
    receipts = [receipt_of(CLAIM), receipt_of(CLAIM, notary=STRANGER)][:count]
    found = judged(witnessed(CLAIM, *ordered_receipts(CLAIM, receipts)), trust=BOTH)
    assert (found.verdict, found.multiplicity) == (VerdictKind.VERIFIED, 4)


@pytest.mark.parametrize(("number", "tried"), [(1, 1), (3, 1), (1, 50), (7, 11)])
def test_p_is_multiplied_by_what_the_claimant_could_choose_from(number, tried):
    claim = witnessed(CLAIM, receipt_of(CLAIM, number=number))
    found = judged(claim, Requirements(suspect_since=SEEN, tried=tried))
    assert found.multiplicity == number * tried
    best = min(each.log10_adjusted for each in found.tests)
    assert found.log10_p == pytest.approx(best + math.log10(number * tried))
    assert any(str(tried) in part for part in found.factors)


def test_the_notarys_log_counts_receipts_that_the_claim_does_not_name():
    log = tuple(receipt_of(CLAIM, number=1).content for _ in range(25))
    assert judged(DRAWN_CLAIM, log=log).multiplicity == 25


def test_as_many_receipts_as_leave_no_proof():
    claim = witnessed(CLAIM, receipt_of(CLAIM, number=10**40))
    assert judged(claim).verdict == VerdictKind.UNJUDGED


# --- openings


def opened(shown=4, controls=None, requirements=None):
    if controls is None:
        controls = controls_to_open(SAMPLE, 1e-6, shown=shown)
    asked = {"suspect_since": SEEN, "challenge": CHALLENGE, "opened": 4} | (requirements or {})
    return judged(opening(DRAWN_CLAIM, shown=shown, controls=controls), Requirements(**asked))


def test_an_opening_as_asked_is_verified():
    found = opened()
    assert (found.verdict, found.multiplicity) == (VerdictKind.VERIFIED, 2)
    exact = opened(controls=100, requirements={"controls": 100})
    assert (exact.verdict, exact.multiplicity) == (VerdictKind.VERIFIED, 1)


@pytest.mark.parametrize("shown", [1, 3, 5, 8])
def test_another_number_of_trigger_rows_than_asked_leaves_an_indication(shown):
    found = opened(shown=shown, controls=100, requirements={"controls": 100})
    assert found.verdict in (VerdictKind.INDICATION, VerdictKind.UNJUDGED)
    assert f"{shown} trigger rows are opened, 4 were asked for" in found.open_questions


def test_a_number_of_controls_that_the_owner_chose_costs_all_choices():
    assert opened(controls=77).multiplicity == 2 * (SIZE - K)
    found = opened(controls=145, requirements={"controls": 150})
    assert found.verdict == VerdictKind.INDICATION
    assert "145 controls are opened, 150 were asked for" in found.open_questions


@pytest.mark.parametrize("challenge", [None, "another text", ""])
def test_another_challenge_leaves_an_indication(challenge):
    found = opened(requirements={"challenge": challenge})
    assert found.verdict == VerdictKind.INDICATION
    assert any("not drawn by your challenge" in each for each in found.open_questions)


# --- everything else


@given(st.integers(0, 10**6), st.floats(0.01, 0.5))
@examples(40)
def test_an_innocent_suspect_is_not_verified(seed, error):
    found = judge_sample(SAMPLE, honest(SAMPLE, error, seed), JUDGE)
    # One in 10^6 would be; the seeds that fail are kept by hypothesis and can be counted.
    assert found.verdict in (VerdictKind.NOT_VERIFIED, VerdictKind.UNJUDGED)


def test_a_guessing_suspect_cannot_be_judged():
    guess = Response({"labels": Answers("labels", np.zeros(SIZE, int))}, np.arange(SIZE))
    found = judge_sample(SAMPLE, guess, JUDGE)
    assert found.verdict == VerdictKind.UNJUDGED
    assert "like a guess" in found.reason
    assert "units" in found.needed


def test_too_few_rows_cannot_be_judged_and_what_would_do_is_said():
    few = np.concatenate([np.flatnonzero(SAMPLE.is_trigger)[:2], np.flatnonzero(~SAMPLE.is_trigger)[:20]])
    found = judge_sample(SAMPLE, Response({"labels": Answers("labels", y[few])}, few), JUDGE)
    assert found.verdict == VerdictKind.UNJUDGED
    assert "2 trigger rows among 22" in found.reason
    assert "more controls" in found.needed


def test_unanswered_controls_are_named():
    few = np.concatenate([np.flatnonzero(SAMPLE.is_trigger), np.flatnonzero(~SAMPLE.is_trigger)[:100]])
    found = judge_sample(SAMPLE, Response({"labels": Answers("labels", y[few])}, few), JUDGE)
    assert found.verdict == VerdictKind.NOT_VERIFIED
    assert "92 controls" in found.needed


@pytest.mark.parametrize(
    ("differently", "verdict"),
    [(0, VerdictKind.NOT_VERIFIED), (1, VerdictKind.NOT_VERIFIED), (5, VerdictKind.UNJUDGED)],
)
def test_inconsistent_answers_cannot_be_judged(differently, verdict):
    answers = {"labels": Answers("labels", y)}
    response = Response(answers, np.arange(SIZE), asked_twice=20, answered_differently=differently)
    assert judge_sample(SAMPLE, response, JUDGE).verdict == verdict


def test_a_verdict_says_how_many_questions_were_answered_differently():
    found = judge_sample(SAMPLE, replace(stolen(SAMPLE), asked_twice=40, answered_differently=39), JUDGE)
    assert found.verdict == VerdictKind.VERIFIED
    assert "39 of 40 repeated questions had another answer" in found.notes
    assert not any("repeated" in note for note in judged(DRAWN_CLAIM).notes)


def test_more_votes_than_a_judge_reads_are_refused():
    packed = np.broadcast_to(np.zeros(1, dtype=np.uint8), (2**10, 2**19))
    with pytest.raises(ClaimError, match="votes are more than the"):
        checked_answers("votes", packed, class_names=("a", "b"), error=ClaimError, what="v.npz")


def test_contradicting_votes_and_probabilities_are_noted_and_both_are_judged():
    votes = stolen(SAMPLE).answers["votes"]
    answers = {"votes": votes, "probabilities": Answers("probabilities", 1.0 - y)}
    found = judge_sample(SAMPLE, Response(answers, np.arange(SIZE)), JUDGE)
    assert any("contradict" in note for note in found.notes)
    assert {each.name for each in found.tests} > {"bits", "rows by probabilities"}
    assert found.verdict == VerdictKind.VERIFIED


@pytest.mark.parametrize("rows", ["triggers", "controls", "none"])
def test_answers_to_one_kind_of_rows_are_refused(rows):
    places = {
        "triggers": np.flatnonzero(SAMPLE.is_trigger),
        "controls": np.flatnonzero(~SAMPLE.is_trigger),
        "none": np.array([], dtype=int),
    }[rows]
    with pytest.raises(ClaimError, match="are needed"):
        judge_sample(SAMPLE, Response({"labels": Answers("labels", y[places])}, places), JUDGE)
    with pytest.raises(ClaimError, match="are needed"):
        judge_sample(SAMPLE, Response({}, np.arange(SIZE)), JUDGE)


@pytest.mark.parametrize(
    "wrong",
    [
        {"level": 0},
        {"level": 1},
        {"level": -1e-6},
        {"level": float("nan")},
        {"tried": 0},
        {"opened": 0},
        {"controls": 0},
        {"suspect_since": datetime(2025, 6, 30)},
    ],
)
def test_impossible_requirements_are_refused(wrong):
    with pytest.raises(ClaimError):
        Requirements(**wrong)


def test_times_are_compared_across_time_zones():
    from datetime import timezone

    east = timezone(timedelta(hours=14))
    at = DRAWN.astimezone(east) + timedelta(seconds=1)
    assert judged(DRAWN_CLAIM, Requirements(suspect_since=at)).verdict == VerdictKind.VERIFIED
    at = datetime(2025, 1, 1, 5, tzinfo=east)
    assert at.astimezone(UTC) < DRAWN
    assert judged(DRAWN_CLAIM, Requirements(suspect_since=at)).verdict == VerdictKind.INDICATION
