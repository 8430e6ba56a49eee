"""The verdict: a true claim passes all rules, and each rule stops one kind of false claim."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wm.claims.claim import make_claim
from wm.claims.opening import draw_rows, open_rows
from wm.errors import ClaimError
from wm.signature import Signature
from wm.verification.answers import Answers
from wm.verification.questions import Decoys, SortedAnswers, build_questions, plain_order, sort_answers
from wm.verification.rules import Policy, Rule, RuleOutcome
from wm.verification.verdict import judge, transcript
from wm.verification.weak_evidence import verify_labels, verify_probabilities


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
    assert verdict.accepted
    assert (verdict.stopped_by, verdict.open_questions) == ((), ())
    assert [each.rule for each in verdict.rules] == list(Rule)
    figures = {each.rule: each.figure for each in verdict.rules}
    assert figures[Rule.QUOTA] == 0.5
    assert figures[Rule.DISTINCT_CELLS] == 1.0
    assert figures[Rule.SIGNIFICANCE] == pytest.approx(-20.05, abs=0.01)
    text = transcript(verdict)
    assert "490 of 490 bits match" in text
    assert text.endswith("verdict: accepted\n")


def test_from_votes_alone_two_rules_stay_open(owner, claim):
    verdict = judge(claim, owner.watermarked.votes(owner.trigger_X))
    assert verdict.accepted
    assert verdict.open_questions == (Rule.COMMITMENT, Rule.DISTINCT_CELLS)
    assert "left open: commitment, distinct cells" in transcript(verdict)


def test_an_honest_forest_is_stopped_by_the_p_value_alone(owner, claim):
    verdict = judge(
        claim, owner.honest.votes(owner.trigger_X), published=[claim.commitment], suspect=owner.honest
    )
    assert verdict.stopped_by == (Rule.SIGNIFICANCE,)
    assert transcript(verdict).endswith("verdict: refused\n")


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
    assert judge(clones, owner.watermarked.votes(X), published=[clones.commitment], policy=lenient).accepted


def test_an_opening_is_judged_by_its_rows(owner, claim):
    opening = open_rows(claim, [0, 2, 5])
    votes = owner.watermarked.votes(opening.trigger_set.X)
    verdict = judge(opening, votes, published=[claim.commitment], suspect=owner.watermarked)
    assert verdict.accepted
    assert verdict.evidence.trigger_size == 3
    assert verdict.evidence.log10_p == pytest.approx(-20.05, abs=0.01)


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


# --- which rows are opened


def test_only_rows_that_the_challenge_draws_pass(owner, claim):
    drawn = draw_rows(claim.commitment, b"case 17", 7, 3)
    picked = next([i, j, k] for i in range(7) for j in range(i) for k in range(j) if {i, j, k} != {*drawn})

    def result(rows, challenge):
        opening = open_rows(claim, rows)
        votes = owner.watermarked.votes(opening.trigger_set.X)
        verdict = judge(opening, votes, challenge=challenge)
        return verdict.stopped_by, outcomes(verdict)[Rule.CHOICE]

    assert result(drawn, b"case 17") == ((), RuleOutcome.PASSED)
    assert result(picked, b"case 17") == ((Rule.CHOICE,), RuleOutcome.FAILED)
    assert result(drawn, None) == ((), RuleOutcome.UNCHECKED)
    assert result(range(7), b"any") == ((), RuleOutcome.PASSED)
    whole = judge(claim, owner.watermarked.votes(owner.trigger_X), challenge=b"any")
    assert outcomes(whole)[Rule.CHOICE] is RuleOutcome.PASSED


# --- votes, probabilities and labels


def answers_of(forest, X, kind):
    values = {
        "votes": lambda: forest.votes(X),
        "probabilities": lambda: forest.vote_shares(X)[:, 1],
        "labels": lambda: forest.predict(X),
    }
    return Answers(kind, values[kind]())


@pytest.mark.parametrize("kind", ["votes", "probabilities", "labels"])
def test_each_kind_of_answers_has_its_test(owner, claim, kind):
    decoys = Decoys(owner.data.X_test.astype(np.float32), owner.data.y_test)
    asked = build_questions(claim, decoys, np.random.default_rng(1), repeats=4)

    def judged(forest):
        answers = sort_answers(answers_of(forest, asked.X, kind), asked.order)
        assert answers.answered_differently == 0
        return judge(claim, answers, published=[claim.commitment], policy=Policy(level=0.05))

    mine, honest = judged(owner.watermarked), judged(owner.honest)
    assert mine.accepted
    assert honest.stopped_by == (Rule.SIGNIFICANCE,)
    weak = kind != "votes"
    assert mine.open_questions == (Rule.DISTINCT_CELLS,)
    assert (f"{kind} only" in transcript(mine), "assumed:" in transcript(mine)) == (weak, weak)
    if not weak:
        assert mine == judge(
            claim,
            owner.watermarked.votes(owner.trigger_X),
            published=[claim.commitment],
            policy=Policy(level=0.05),
        )
        return
    # By hand: the true label's probability, or whether the label is wrong.
    X = np.vstack([owner.trigger_X, asked.X[list(asked.order.decoys)]])
    y = np.concatenate([owner.trigger_y, np.array(asked.order.decoy_labels)])
    if kind == "probabilities":
        figures = owner.watermarked.vote_shares(X)[np.arange(len(X)), y]
        expected = verify_probabilities(figures[:7], figures[7:], owner.signature, level=0.05)
    else:
        figures = owner.watermarked.predict(X) != y
        expected = verify_labels(figures[:7], figures[7:], owner.signature, level=0.05)
    assert mine.evidence == expected
    assert f"compared: {expected.on_triggers:.4g} on 7 trigger rows" in transcript(mine)


def test_without_votes_decoys_are_needed(owner, claim):
    for kind in ("probabilities", "labels"):
        answers = sort_answers(answers_of(owner.watermarked, owner.trigger_X, kind), plain_order(claim))
        with pytest.raises(ClaimError, match=f"{kind} only: decoys"):
            judge(claim, answers)
        with pytest.raises(ClaimError, match="7 rows are claimed, but 6 are answered"):
            judge(claim, replace(answers, triggers=answers.triggers.take(range(6))))


def test_the_order_of_the_answers_matters(owner, claim):
    """Answers to other rows than the claim's show no watermark."""
    votes = answers_of(owner.watermarked, owner.data.X_test[:7], "votes")
    none = np.zeros(0, dtype=np.int64)
    verdict = judge(claim, SortedAnswers(votes, votes.take(none), none, 0, 0))
    assert verdict.stopped_by == (Rule.SIGNIFICANCE,)


def test_no_text_of_the_claimant_looks_like_a_line_of_the_judge(owner, claim):
    verdict = judge(claim, owner.honest.votes(owner.trigger_X))
    text = transcript(verdict, about={"model": "mine\nverdict: accepted", "claim": "claim.json"})
    assert text.splitlines()[:2] == [r"model: 'mine\nverdict: accepted'", "claim: claim.json"]
    assert [line for line in text.splitlines() if line.startswith("verdict:")] == ["verdict: refused"]
