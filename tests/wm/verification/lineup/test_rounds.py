"""Boosted line-ups from end to end, and what may count in a round."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from tests import lineups, witness
from wm.embedding.boosted.newton import model_of_steps
from wm.embedding.lineup.boosting import first_margins, train_round, train_rounds
from wm.embedding.lineup.claimed import trained_forest
from wm.embedding.lineup.context import TrainingRows
from wm.errors import ClaimError
from wm.formats.assembling import Tree, margin_model, trees_of, with_trees
from wm.models import Link
from wm.verification.answers import Answers
from wm.verification.judgement import Requirements, Response, VerdictKind
from wm.verification.lineup import round_scores
from wm.verification.lineup.bound import log10_rounds
from wm.verification.lineup.candidates import retrained_lineup
from wm.verification.lineup.evidence import round_tests
from wm.verification.lineup.judgement import judge_lineup, lineup_answers
from wm.verification.lineup.models import judge_model
from wm.verification.lineup.rounds import RoundLineup, round_lineup

N = 12
SCORES = ["in_order", "out_of_order", "by_span", "by_margins", "by_labels"]
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
    given = {kind: Answers(kind, values) for kind, values in answers.items()}
    asked = np.arange(lineup.shape[2])
    return min(each.log10_adjusted for each in round_tests(lineup, Response(given, asked)))


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


def tiny_trees(owner, target, X):
    """Return trees on some rows that add next to nothing."""
    found = []
    for seed in range(3 * lineups.TREES):
        tree = DecisionTreeRegressor(max_depth=3, random_state=seed, splitter="random").fit(X, target).tree_
        found.append(
            Tree(
                left=tree.children_left,
                right=tree.children_right,
                feature=np.maximum(tree.feature, 0),
                threshold=tree.threshold,
                value=1e-6 * (tree.value[:, 0, 0] - 0.5),
            )
        )
    return found


def of_trees(model, trees, base=None, link=Link.LOGISTIC):
    """Return a model of trees in double precision, which takes no missing values."""
    start = model.margins.base if base is None else base
    return margin_model(
        "a thief's",
        [replace(tree, missing_left=None) for tree in trees],
        column=np.arange(len(trees)) % len(start),
        base=start,
        link=link,
        n_features=model.forest.n_features,
        classes=np.array([0, 1]),
        input_dtype="float32",
    )


def grown(model, trees):
    return of_trees(model, [*trees_of(model), *trees])


def shifted(model, by):
    """Return a model to whose trees constants are added that cancel."""
    trees = enumerate(trees_of(model))
    return of_trees(model, [replace(tree, value=tree.value + by * (-1) ** place) for place, tree in trees])


def split_up(model):
    """Return a model of twice as many trees, pairs of which add up to one; single ones are noise."""
    rng, found = np.random.default_rng(0), []
    for tree in trees_of(model):
        noise = rng.normal(scale=20, size=len(tree.value))
        found += [replace(tree, value=noise), replace(tree, value=tree.value - noise)]
    return of_trees(model, found)


def two_outputs(model):
    """Return a model with a margin for each of the two classes."""
    trees = [replace(tree, value=sign * tree.value / 2) for tree in trees_of(model) for sign in (-1, 1)]
    start = float(model.margins.base[0]) / 2
    return of_trees(model, trees, [-start, start], Link.SOFTMAX)


@pytest.mark.parametrize(
    "change",
    [
        lambda owner: grown(owner.model, tiny_trees(owner, 1.0 - owner.rows.y, owner.rows.X)),
        lambda owner: grown(owner.model, tiny_trees(owner, owner.rows.y, unit(owner.rows.X))),
        lambda owner: shifted(owner.model, 1e7),
        lambda owner: split_up(owner.model),
        lambda owner: two_outputs(owner.model),
    ],
    ids=["tiny wrong trees", "tiny trees of other units", "constants", "split trees", "two outputs"],
)
def test_no_change_that_keeps_all_answers_hides_a_copy(owner, lineup, change):
    thief, X = change(owner), owner.queries.X
    assert thief.predict_proba(X) == pytest.approx(owner.model.predict_proba(X), abs=1e-4)
    found = judged(owner, lineup, thief)
    assert found.verdict is VerdictKind.VERIFIED
    # Probabilities show it in any case; trees must, too, as small changes of the answers spoil these.
    assert min(each.log10_p for each in found.tests if "probabilities" not in each.name) < -8.5


@pytest.mark.parametrize("link", [Link.SOFTMAX, Link.ONE_AGAINST_ALL])
@pytest.mark.parametrize("leaves", [(-1e4, -1e4), (1e305, -1e305), (1e308, -1e308)])
def test_suspects_of_impossible_margins_get_a_verdict(owner, lineup, link, leaves):
    trees = [
        replace(tree, value=np.where(np.arange(len(tree.value)) % 2 == 0, *leaves))
        for tree in trees_of(owner.model)
    ]
    with np.errstate(all="ignore"):
        found = judged(owner, lineup, of_trees(owner.model, trees, [0.0, 0.0], link))
    assert found.verdict is not VerdictKind.VERIFIED


def test_many_copies_of_split_trees_are_found(owner, lineup):
    parts = split_up(owner.model)
    added = parts.margins.leaf[parts.forest.apply(owner.queries.X)]
    once = round_scores.by_span(lineup, added)
    many = round_scores.by_span(lineup, np.tile(added, 30))
    assert added.shape[1] * 30 > len(owner.queries.X)
    assert many == pytest.approx(once, abs=1e-6)
    noise = np.random.default_rng(0).normal(size=(len(added), 2 * len(added)))
    assert log10_rounds(round_scores.by_span(lineup, noise), lineup.places) == 0.0


def unit(X):
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / (high - low)


def test_the_classes_are_alike_in_training_and_in_labels():
    """What rounding takes from a margin of 40 it must take from one of -40."""
    rows = lineups.boosted_owner().rows
    turned = TrainingRows(rows.X, 1 - rows.y)
    margins = np.full(len(rows.y), 40.0)
    outputs = train_round(rows, lineups.BOOSTING, margins, 3).outputs(rows.X)
    assert train_round(turned, lineups.BOOSTING, -margins, 3).outputs(rows.X) == pytest.approx(-outputs)


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


@pytest.mark.parametrize("score", SCORES)
def test_no_later_round_counts_in_an_earlier_one(owner, lineup, score):
    suspect = other(owner)
    added = suspect.margins.leaf[suspect.forest.apply(owner.queries.X)]
    first = RoundLineup(lineup.outputs[:4], lineup.places[:4], lineup.start, lineup.honest)
    if score in ("by_margins", "by_labels"):
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


@pytest.mark.parametrize("score", SCORES)
def test_a_round_is_compared_alike_wherever_the_owners_candidate_stands(owner, lineup, score):
    suspect = other(owner)
    added = suspect.margins.leaf[suspect.forest.apply(owner.queries.X)]
    if score in ("by_margins", "by_labels"):
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


def test_a_boosted_suspect_is_judged_by_signs_and_probabilities_for_the_claim_of_a_forest(owner):
    forest = lineups.owner()
    found = lineup_answers(owner.model, forest.claim.header, forest.queries, what="the suspect")
    assert set(found.answers) == {"votes", "probabilities"}
    assert found.answers["votes"].values.shape == (len(forest.queries.y), owner.model.forest.n_trees)


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
        given = Response({}, np.arange(0), outputs=trees)
        assert min(each.log10_adjusted for each in round_tests(lineup, given)) < -4
