"""The verdict: a true claim passes all rules, and each rule stops one kind of false claim."""

from __future__ import annotations

import numpy as np
import pytest

from wm.claims.claim import make_claim
from wm.errors import ClaimError
from wm.signature import Signature
from wm.verification.rules import Policy, Rule, RuleOutcome
from wm.verification.transcript import judge_old_claim, transcript
from wm.verification.verdict import judge


def claim_for(X, y, signature, **changes):
    return make_claim(
        **{
            "scheme": "paper",
            "signature": signature,
            "X": np.asarray(X, dtype=np.float32),
            "y": np.asarray(y),
            "model_hash": "ab" * 32,
            "model_id": "forest",
            "class_names": ("a", "b"),
        }
        | changes
    )


@pytest.fixture
def claim(owner):
    return claim_for(owner.trigger_X, owner.trigger_y, owner.signature)


def outcomes(verdict):
    return {each.rule: each.outcome for each in verdict.rules}


def test_a_true_claim_passes_every_rule(owner, claim):
    forest = owner.watermarked
    verdict = judge(
        claim, forest.votes(owner.trigger_X), published={claim.commitment, "0" * 64}, suspect=forest
    )
    assert outcomes(verdict) == dict.fromkeys(Rule, RuleOutcome.PASSED)
    assert [each.rule for each in verdict.rules] == list(Rule)
    figures = {each.rule: each.figure for each in verdict.rules}
    assert figures[Rule.QUOTA] == 0.5
    assert figures[Rule.DISTINCT_CELLS] == 1.0
    assert figures[Rule.SIGNIFICANCE] == pytest.approx(-20.05, abs=0.01)


def test_from_votes_alone_two_rules_stay_open(owner, claim):
    verdict = judge(claim, owner.watermarked.votes(owner.trigger_X))
    assert verdict.stopped_by == ()
    unchecked = {rule for rule, outcome in outcomes(verdict).items() if outcome is RuleOutcome.UNCHECKED}
    assert unchecked == {Rule.COMMITMENT, Rule.DISTINCT_CELLS}


def test_an_honest_forest_is_stopped_by_the_p_value_alone(owner, claim):
    verdict = judge(
        claim, owner.honest.votes(owner.trigger_X), published=[claim.commitment], suspect=owner.honest
    )
    assert verdict.stopped_by == (Rule.SIGNIFICANCE,)


def test_a_signature_chosen_afterwards_is_stopped_by_the_commitment(owner):
    forest, X, y = owner.watermarked, owner.data.X_test, owner.data.y_test
    errors = forest.votes(X) != y[:, None]
    row = int(np.argmin(np.abs(errors.mean(axis=1) - 0.5)))
    chosen = claim_for(X[[row]], y[[row]], Signature.of(errors[row].astype(int)))
    votes = forest.votes(X[[row]])
    verdict = judge(chosen, votes, published={"11" * 32}, suspect=forest)
    assert verdict.stopped_by == (Rule.COMMITMENT,)
    assert verdict.evidence.exact_match  # the paper's rule is satisfied, and so is the p-value
    assert verdict.evidence.significant


def test_all_zeros_are_stopped_by_the_quota_and_the_p_value(owner):
    forest, X, y = owner.watermarked, owner.data.X_test, owner.data.y_test
    rows = np.flatnonzero((forest.votes(X) == y[:, None]).all(axis=1))[:10]
    free = claim_for(X[rows], y[rows], Signature.of([0] * 70))
    verdict = judge(free, forest.votes(X[rows]), published=[free.commitment], suspect=forest)
    assert verdict.evidence.exact_match
    assert {Rule.QUOTA, Rule.SIGNIFICANCE} <= set(verdict.stopped_by)


def test_copied_rows_are_stopped_by_their_cells(owner):
    X = np.repeat(owner.trigger_X[:1], 3, axis=0)
    X[1:, 0] = np.nextafter(X[1:, 0], np.array([2.0, -2.0], dtype=np.float32))
    clones = claim_for(X, np.repeat(owner.trigger_y[:1], 3), owner.signature)
    verdict = judge(
        clones, owner.watermarked.votes(X), published=[clones.commitment], suspect=owner.watermarked
    )
    assert outcomes(verdict)[Rule.DISTINCT_ROWS] is RuleOutcome.PASSED
    assert verdict.stopped_by == (Rule.DISTINCT_CELLS,)
    lenient = Policy(min_distinct=1 / 3)
    votes = owner.watermarked.votes(X)
    assert judge(clones, votes, published=[clones.commitment], policy=lenient).stopped_by == ()


@pytest.mark.parametrize(
    "fields",
    [{"level": 0.0}, {"min_ones": 0.8, "max_ones": 0.2}, {"max_ones": 1.5}, {"min_distinct": float("nan")}],
)
def test_an_impossible_policy_is_refused(fields):
    with pytest.raises(ClaimError, match="impossible protocol"):
        Policy(**fields)


def test_votes_that_do_not_fit_are_refused(claim):
    with pytest.raises(ClaimError, match="70 bits"):
        judge(claim, np.zeros((7, 3), dtype=int))


# --- as a judgement: an indication at best


def test_what_no_rule_refuses_is_an_indication(owner, claim):
    forest = owner.watermarked
    judgement = judge_old_claim(claim, forest.votes(owner.trigger_X), level=1e-6, suspect=forest)
    assert judgement.verdict == "indication"
    assert judgement.log10_p == pytest.approx(-20.05, abs=0.01)
    assert judgement.tests[0].figure == "490 of 490 votes on trigger rows fit the signature"
    assert "the claimant's choice" in judgement.open_questions[0]
    text = transcript(judgement)
    assert text.splitlines()[-1] == "verdict: indication: p = 10^-20.0, level 1e-06"
    assert "note: distinct rows: 7 distinct rows among 7 trigger rows\n" in text
    by_votes = judge_old_claim(claim, forest.votes(owner.trigger_X), level=1e-6)
    assert any("not given" in each for each in by_votes.open_questions)


def test_what_a_rule_refuses_is_not_verified(owner, claim):
    judgement = judge_old_claim(claim, owner.honest.votes(owner.trigger_X), level=1e-6, suspect=owner.honest)
    assert (judgement.verdict, judgement.log10_p > -6) == ("not verified", True)
    zeros = claim_for(owner.trigger_X, owner.trigger_y, Signature.of([0] * 70))
    quota = judge_old_claim(zeros, owner.watermarked.votes(owner.trigger_X), level=1e-6)
    assert quota.verdict == "not verified"
    assert quota.reason.startswith("0.0% of the bits are 1")


def test_the_order_of_the_answers_matters(owner, claim):
    """Answers to other rows than the claim's show no watermark."""
    votes = owner.watermarked.votes(owner.data.X_test[:7])
    assert judge(claim, votes).stopped_by == (Rule.SIGNIFICANCE,)


def test_no_text_of_the_claimant_looks_like_a_line_of_the_judge(owner, claim):
    judgement = judge_old_claim(claim, owner.honest.votes(owner.trigger_X), level=1e-6)
    text = transcript(judgement, about={"model": "mine\nverdict: verified", "claim": "claim.json"})
    assert text.splitlines()[:2] == [r"model: 'mine\nverdict: verified'", "claim: claim.json"]
    (line,) = [line for line in text.splitlines() if line.startswith("verdict:")]
    assert line.startswith("verdict: not verified: ")
