"""A classifier trained on shadow models spots the trigger queries of an unseen owner."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from wm.attacks.suppression.scores import evaluate
from wm.attacks.suppression.shadow import FEATURES, ShadowPlan, query_features, train_spotter
from wm.embedding.training import Caps
from wm.errors import EmbeddingError


def stream_of(owner):
    queries = np.concatenate([owner.trigger_X, owner.data.X_test])
    return queries, owner.watermarked.vote_codes(queries), np.arange(len(queries)) < len(owner.trigger_X)


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


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_class_that_the_reference_has_not_seen_has_no_share(missing):
    class Reference:
        classes = np.delete(np.arange(3), missing)

        def vote_shares(self, X):
            return np.tile([0.75, 0.25], (len(X), 1))

    codes = np.repeat(np.arange(3), 4).reshape(3, 4)  # unanimous, for each class once
    expected = np.insert([0.75, 0.25], missing, 0.0)
    found = query_features(np.zeros((3, 2)), codes, Reference())
    assert found[:, FEATURES.index("surprise")] == pytest.approx(1 - expected)
    assert found[:, FEATURES.index("doubt")] == pytest.approx(0.25)


def test_shadows_of_rows_with_a_rare_class_are_trained(owner):
    """Some parts of the rows lack the class of the two last rows."""
    X = owner.data.X_test
    y = owner.data.y_test.copy()
    y[-2:] = 2
    plan = ShadowPlan(n_trees=8, caps=Caps(8, None), trigger_rows=3, shadows=4)
    spotter = train_spotter(X, y, plan)
    scores = spotter.scores(X, np.tile(y[:, None], 8))
    assert ((scores >= 0) & (scores <= 1)).all()


@examples(5)
@given(st.integers(1, 4))
def test_unanimous_votes_have_finite_features(count):
    class Unanimous:
        classes = np.array([0, 1])

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
