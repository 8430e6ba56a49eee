"""Boosted line-ups from end to end, and what may count in a round."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from tests import lineups, witness
from wm.embedding.boosted.newton import model_of_steps
from wm.embedding.lineup.boosting import first_margins, train_rounds
from wm.embedding.lineup.claimed import trained_forest
from wm.errors import ClaimError, ModelError
from wm.formats.assembling import trees_of, with_trees
from wm.verification.answers import Answers
from wm.verification.judgement import Requirements, VerdictKind
from wm.verification.lineup import round_scores
from wm.verification.lineup.candidates import retrained_lineup
from wm.verification.lineup.evidence import round_tests
from wm.verification.lineup.judgement import judge_lineup, lineup_answers
from wm.verification.lineup.models import judge_model
from wm.verification.lineup.order import LineupAnswers
from wm.verification.lineup.rounds import RoundLineup, round_lineup

N = 12
LATER = Requirements(suspect_since=datetime(2025, 6, 30, tzinfo=UTC))


@pytest.fixture(scope="module")
def owner():
    return lineups.boosted_owner()


@pytest.fixture(scope="module")
def lineup(owner):
    return round_lineup(owner.claim, owner.rows, owner.queries.X, candidates=N, judge=lineups.JUDGE)


def other(owner, seed=5, rounds=lineups.TREES):
    """Return an honest model of the same rows and settings."""
    seeds = np.random.default_rng(seed).integers(2**31, size=rounds).tolist()
    steps = train_rounds(owner.rows, lineups.BOOSTING, seeds)
    start = first_margins(owner.rows)[:1]
    return model_of_steps(steps, start, n_features=owner.rows.X.shape[1], n_classes=2)


def judged(owner, lineup, suspect):
    given = lineup_answers(suspect, owner.claim.header, owner.queries, what="the suspect")
    return judge_lineup(owner.claim, lineup, owner.queries, given, LATER, trust=witness.TRUST)


def smallest(lineup, **answers):
    given = LineupAnswers({kind: Answers(kind, values) for kind, values in answers.items()})
    return min(each.log10_adjusted for each in round_tests(lineup, given))


def changed(model, change):
    """Return a model with other leaves."""
    trees = [replace(tree, value=change(tree.value)) for tree in trees_of(model)]
    return with_trees(model, trees, model.margins.column)


def test_the_owners_rounds_stand_in_the_line_up_at_their_places(owner, lineup):
    added = lineup.outputs[np.arange(lineups.TREES), lineup.places].sum(axis=0) + lineup.start
    assert owner.model.raw(owner.queries.X)[:, 0] == pytest.approx(added, abs=1e-5)
    assert len(set(lineup.places.tolist())) > 3


def test_threads_change_nothing(owner, lineup):
    again = round_lineup(
        owner.claim, owner.rows, owner.queries.X, candidates=N, judge=lineups.JUDGE, n_jobs=2
    )
    assert np.array_equal(again.outputs, lineup.outputs)
    assert np.array_equal(again.honest, lineup.honest)


def test_a_copy_is_verified_and_an_honest_model_is_not(owner, lineup):
    found = judged(owner, lineup, owner.model)
    assert (found.verdict, found.open_questions) == (VerdictKind.VERIFIED, ())
    assert found.log10_p < -8.5
    honest = judged(owner, lineup, other(owner))
    assert honest.verdict is VerdictKind.NOT_VERIFIED
    assert honest.log10_p > -2


def test_the_owner_of_another_model_of_the_same_rows_gets_nothing(owner):
    stranger = lineups.boosted_owner(seed=8)
    lineup = round_lineup(stranger.claim, owner.rows, owner.queries.X, candidates=N, judge=lineups.JUDGE)
    assert judged(stranger, lineup, owner.model).verdict is VerdictKind.NOT_VERIFIED


@pytest.mark.parametrize(
    ("change", "log10_p"),
    [
        (lambda model: changed(model, lambda value: 3 * value), -8.5),
        (lambda model: changed(model, lambda value: value / 100), -8.5),
        (lambda model: changed(model, lambda value: np.round(value, 1)), -6.0),
        (lambda model: replace(model, classes=np.array(["no", "yes"])), -8.5),
        (lambda model: with_trees(model, trees_of(model)[::-1], model.margins.column), -8.0),
        (lambda model: with_trees(model, trees_of(model)[2:], model.margins.column[2:]), -4.0),
        (lambda model: with_trees(model, trees_of(model) * 2, np.tile(model.margins.column, 2)), -8.0),
    ],
    ids=["larger", "smaller", "rounded leaves", "other class names", "reversed", "dropped", "doubled"],
)
def test_changed_copies_are_found(owner, lineup, change, log10_p):
    assert judged(owner, lineup, change(owner.model)).log10_p < log10_p


def test_a_copy_of_exchanged_classes_is_found(owner, lineup):
    margins = owner.model.margins
    turned = replace(changed(owner.model, lambda value: -value), margins=None)
    turned = replace(turned, margins=replace(margins, leaf=-margins.leaf, base=-margins.base))
    found = judged(owner, lineup, turned)
    assert found.log10_p < -8.5
    assert "classes exchanged" in found.notes


@pytest.mark.parametrize("digits", [12, 2])
def test_probabilities_alone_show_a_copy(owner, lineup, digits):
    copied, honest = (
        np.round(model.predict_proba(owner.queries.X)[:, 1], digits) for model in (owner.model, other(owner))
    )
    assert smallest(lineup, probabilities=copied) < -3
    assert smallest(lineup, probabilities=honest) > -1.5


def test_labels_alone_show_a_copy_of_many_rounds():
    found = lineups.boosted_owner()
    lineup = round_lineup(found.claim, found.rows, found.queries.X, candidates=40, judge=lineups.JUDGE)
    labels = (found.model.predict_proba(found.queries.X)[:, 1] > 0.5).astype(np.int64)
    honest = (other(found).predict_proba(found.queries.X)[:, 1] > 0.5).astype(np.int64)
    assert smallest(lineup, labels=labels) < -1.5
    assert smallest(lineup, labels=honest) > -1.5


def test_signs_of_trees_show_a_copy(owner, lineup):
    assert smallest(lineup, votes=owner.model.forest.vote_codes(owner.queries.X)) < -3


@pytest.mark.parametrize("score", ["in_order", "out_of_order", "by_margins", "by_labels"])
def test_no_later_round_counts_in_an_earlier_one(owner, lineup, score):
    suspect = other(owner)
    added = suspect.margins.leaf[suspect.forest.apply(owner.queries.X)]
    first = RoundLineup(lineup.outputs[:4], lineup.places[:4], lineup.start, lineup.honest)
    if score.startswith("by_"):
        share = suspect.predict_proba(owner.queries.X)[:, 1]
        added = share if score == "by_margins" else np.round(share)
    compare = getattr(round_scores, score)
    assert np.allclose(compare(lineup, added)[:4], compare(first, added))


def test_trees_in_order_may_be_fewer_or_more_than_rounds(owner, lineup):
    added = owner.model.margins.leaf[owner.model.forest.apply(owner.queries.X)]
    whole = round_scores.in_order(lineup, added)
    fewer = round_scores.in_order(lineup, added[:, :6])
    more = round_scores.in_order(lineup, np.concatenate([added, added], axis=1))
    assert np.array_equal(more, whole)
    assert np.array_equal(fewer[:6], whole[:6])
    assert not fewer[6:].any()


@pytest.mark.parametrize("score", ["in_order", "out_of_order", "by_margins", "by_labels"])
def test_a_round_is_compared_alike_wherever_the_owners_candidate_stands(owner, lineup, score):
    suspect = other(owner)
    added = suspect.margins.leaf[suspect.forest.apply(owner.queries.X)]
    if score.startswith("by_"):
        share = suspect.predict_proba(owner.queries.X)[:, 1]
        added = share if score == "by_margins" else np.round(share)
    compare, order = getattr(round_scores, score), np.random.default_rng(2).permutation(N)
    moved = RoundLineup(
        lineup.outputs[:, order],
        np.array([order.tolist().index(place) for place in lineup.places]),
        lineup.start,
        lineup.honest,
    )
    assert np.allclose(compare(moved, added), compare(lineup, added)[:, order], atol=1e-8)


def test_suspects_that_no_tree_of_theirs_tells_apart_are_no_evidence(owner, lineup):
    constant = np.full(len(owner.queries.y), 0.5)
    assert smallest(lineup, probabilities=constant) == 0.0


def test_a_forest_of_votes_can_be_judged_too(owner, lineup):
    forest = trained_forest(owner.rows, lineups.SETTINGS, list(range(lineups.TREES)))
    assert judged(owner, lineup, forest).verdict is VerdictKind.NOT_VERIFIED


def test_a_boosted_suspect_is_refused_for_the_claim_of_a_forest(owner):
    forest = lineups.owner()
    with pytest.raises(ModelError, match="do not vote"):
        lineup_answers(owner.model, forest.claim.header, forest.queries, what="the suspect")


def test_a_judge_who_has_the_rows_judges_in_one_call(owner):
    found = judge_model(
        owner.claim,
        owner.model,
        owner.rows,
        counts=lineups.COUNTS,
        candidates=N,
        judge=lineups.JUDGE,
        requirements=LATER,
        trust=witness.TRUST,
    )
    assert found.verdict is VerdictKind.VERIFIED
    assert any("for each of 10 rounds" in note for note in found.notes)


def test_line_ups_are_of_the_claims_kind(owner):
    with pytest.raises(ClaimError, match="one of rounds"):
        retrained_lineup(owner.claim, owner.rows, owner.queries.X, candidates=N, judge=lineups.JUDGE)
    with pytest.raises(ClaimError, match="of a forest"):
        round_lineup(lineups.owner().claim, owner.rows, owner.queries.X, candidates=N, judge=lineups.JUDGE)
    with pytest.raises(ClaimError, match="at least 2"):
        round_lineup(owner.claim, owner.rows, owner.queries.X, candidates=1, judge=lineups.JUDGE)


def test_numbers_that_overflow_hide_no_copy(owner, lineup):
    added = owner.model.margins.leaf[owner.model.forest.apply(owner.queries.X)]
    absurd = np.where(added[:, :1] > 0, np.inf, -np.inf)
    for trees in (1e200 * added, np.concatenate([added, absurd, np.full_like(absurd, np.nan)], axis=1)):
        given = LineupAnswers({}, outputs=trees)
        assert min(each.log10_adjusted for each in round_tests(lineup, given)) < -4
