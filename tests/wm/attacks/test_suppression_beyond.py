"""Suppression beyond a score: the signature recovered, the filter, the budget, and shadow models."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wm.attacks.divisions import majority
from wm.attacks.suppression import (
    ShadowPlan,
    budget_curve,
    disagreement,
    evaluate,
    filter_and_verify,
    filtered_codes,
    recover_signature,
    repeats,
    spot_by_votes,
    threshold_at_limit,
    train_spotter,
)
from wm.attacks.suppression.shadow import FEATURES, query_features
from wm.embedding.training import Caps
from wm.errors import EmbeddingError, SignatureError
from wm.signature import Signature, random_signature


def planted(seed, trees=30, triggers=5, ordinary=60, ones_share=0.5):
    """Votes of a stream whose trigger queries are divided as one signature says."""
    rng = np.random.default_rng(seed)
    signature = random_signature(trees, ones_share, rng)
    labels = rng.integers(0, 2, triggers)
    marked = labels[:, None] ^ signature.array
    plain = rng.integers(0, 2, (ordinary, 1)) ^ (rng.random((ordinary, trees)) < 0.05)
    codes = np.concatenate([marked, plain]).astype(np.int64)
    return codes, np.arange(len(codes)) < triggers, labels, signature


def stream_of(owner):
    queries = np.concatenate([owner.trigger_X, owner.data.X_test])
    return queries, owner.watermarked.vote_codes(queries), np.arange(len(queries)) < len(owner.trigger_X)


# --- recovery


@given(st.integers(0, 2**32), st.sampled_from([0.1, 0.3, 0.5, 0.8]), st.integers(1, 5))
def test_spotted_trigger_queries_are_the_signature(seed, ones_share, count):
    codes, _, _, signature = planted(seed, ones_share=ones_share)
    found = recover_signature(codes[:count])
    assert max((found == signature.array).mean(), (found != signature.array).mean()) == 1.0


@given(st.integers(0, 2**32))
def test_triggers_outvote_as_many_ordinary_queries(seed):
    codes, _, _, signature = planted(seed, triggers=6)
    found = recover_signature(codes[:12])
    assert max((found == signature.array).mean(), (found != signature.array).mean()) > 0.9


def test_nothing_is_recovered_from_nothing():
    assert recover_signature(np.zeros((0, 4), dtype=np.int64)) is None
    assert recover_signature(np.ones((3, 4), dtype=np.int64)) is None


# --- budget


def test_the_budget_curve_of_a_watermark_is_short():
    codes, is_trigger, _, signature = planted(1)
    spot = spot_by_votes(codes, repeats, 0.0)
    points = budget_curve(codes, is_trigger, spot, signature, np.random.default_rng(0), orders=5)
    assert [point.trigger_queries for point in points] == [1, 2, 3, 4, 5]
    # One of a kind repeats nothing; the second is the end of the secret.
    assert points[0].bits < 0.7
    assert all(point.bits == point.low == point.high == 1.0 for point in points[1:])
    assert all(point.null_bits < 0.65 for point in points)
    first = budget_curve(codes, is_trigger, spot, signature, np.random.default_rng(0), orders=5, most=2)
    assert first == points[:2]


def test_spotting_nothing_leaves_the_bits_unknown():
    codes, is_trigger, _, signature = planted(2)
    spot = spot_by_votes(codes, disagreement, 1.0)
    points = budget_curve(codes, is_trigger, spot, signature, np.random.default_rng(0), orders=2)
    assert {(point.bits, point.spotted) for point in points} == {(0.5, 0.0)}


def test_a_signature_of_another_length_is_refused():
    codes, is_trigger, _, _ = planted(2)
    with pytest.raises(SignatureError, match="30 trees"):
        budget_curve(
            codes, is_trigger, spot_by_votes(codes, repeats, 0), Signature.of("01"), np.random.default_rng(0)
        )


# --- filter


@given(st.integers(0, 2**32), st.data())
def test_the_filter_answers_with_the_majority_and_touches_nothing_else(seed, data):
    codes, _, _, _ = planted(seed, ordinary=10)
    spotted = np.array(data.draw(st.lists(st.booleans(), min_size=15, max_size=15)))
    after = filtered_codes(codes, spotted)
    assert np.array_equal(after[~spotted], codes[~spotted])
    assert (disagreement(after[spotted]) == 0).all()
    assert np.array_equal(majority(after), majority(codes))  # no user of the majority notices


def test_after_the_filter_nothing_is_left_of_a_claim():
    codes, is_trigger, labels, signature = planted(3)
    result = filter_and_verify("repeats", codes, is_trigger, repeats(codes) > 0, labels, signature)
    assert result.evidence_before.exact_match
    assert (result.triggers_spotted, result.evidence.log10_p) == (1.0, pytest.approx(0.0))
    assert not result.evidence.exact_match
    nothing = filter_and_verify("none", codes, is_trigger, is_trigger & False, labels, signature)
    assert nothing.evidence == nothing.evidence_before
    assert (nothing.ordinary_touched, nothing.ordinary_votes_changed) == (0.0, 0.0)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.sampled_from([0.0, 0.01, 0.1, 0.5, 1.0]))
def test_the_threshold_is_the_least_allowed(scores, limit):
    ordinary = np.array(scores, dtype=float)
    threshold = threshold_at_limit(ordinary, limit)
    assert (ordinary >= threshold).mean() <= limit
    smaller = ordinary[ordinary < threshold]
    assert not len(smaller) or (ordinary >= smaller.max()).mean() > limit


def test_the_filter_on_a_real_forest(published_owner):
    """The plainest threshold touches between 5% and 20% of ordinary queries."""
    _, codes, is_trigger = stream_of(published_owner)
    result = filter_and_verify(
        "disagreement",
        codes,
        is_trigger,
        disagreement(codes) >= 0.3,
        published_owner.trigger_y,
        published_owner.signature,
    )
    assert result.triggers_spotted == 1.0
    assert 0.05 < result.ordinary_touched < 0.2
    assert result.ordinary_votes_changed < 0.1
    assert result.evidence_before.log10_p < -20
    assert result.evidence.log10_p > -0.01


# --- shadow models

PLAN = ShadowPlan(n_trees=20, caps=Caps(8, 19), trigger_rows=5, shadows=2)


def test_a_classifier_trained_on_shadows_spots_an_unseen_owner(owner):
    """The attacker has 85 test rows; the owner's trigger rows hide among the others."""
    data = owner.data
    spotter = train_spotter(data.X_test[:85], data.y_test[:85], PLAN)
    queries = np.concatenate([owner.trigger_X, data.X_test[85:]])
    is_trigger = np.arange(len(queries)) < len(owner.trigger_X)
    codes = owner.watermarked.vote_codes(queries)
    scores = spotter.scores(queries, codes)
    assert ((scores >= 0) & (scores <= 1)).all()
    result = evaluate("shadow", scores, is_trigger)
    assert result.auc > 0.99
    assert result.tpr_at_1pct_fpr > 0.8
    suspected = scores >= spotter.threshold
    assert suspected[is_trigger].mean() > 0.8
    assert suspected[~is_trigger].mean() < 0.15
    again = train_spotter(data.X_test[:85], data.y_test[:85], PLAN)
    assert np.array_equal(again.scores(queries, codes), scores)


def test_features_do_not_depend_on_the_order_of_trees_or_queries(owner):
    queries, codes, _ = stream_of(owner)
    rng = np.random.default_rng(0)
    found = query_features(queries, codes, owner.honest)
    assert found.shape == (len(queries), len(FEATURES))
    assert np.isfinite(found).all()
    order = rng.permutation(len(queries))
    mixed = query_features(queries[order], codes[order][:, rng.permutation(70)], owner.honest)
    assert mixed == pytest.approx(found[order], abs=1e-6)


@settings(max_examples=5)
@given(st.integers(1, 4))
def test_unanimous_votes_have_finite_features(count):
    class Unanimous:
        def vote_shares(self, X):
            return np.tile([1.0, 0.0], (len(X), 1))

    found = query_features(np.zeros((count, 2)), np.zeros((count, 3), dtype=np.int64), Unanimous())
    assert not found.any()


def test_a_plan_that_cannot_be_is_refused(owner):
    X, y = owner.data.X_test, owner.data.y_test
    with pytest.raises(EmbeddingError, match="too few: one trains"):
        train_spotter(X, y, ShadowPlan(n_trees=4, caps=Caps(8, 19), trigger_rows=5, shadows=1))
    with pytest.raises(EmbeddingError, match="20 rows are too few"):
        train_spotter(X[:20], y[:20], PLAN)
