"""Both scores on votes made by hand, all metrics against plain loops, and real forests."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import auc

from wm.attacks.divisions import disagreement, repeats
from wm.attacks.suppression import METHODS
from wm.attacks.suppression.scores import evaluate, threshold_at_limit

# Four queries divided alike (up to exchanging the classes), one of its own, three unanimous.
VOTES = np.array(
    [
        [0, 0, 1, 1],
        [1, 1, 0, 0],
        [0, 0, 1, 1],
        [1, 1, 0, 0],
        [0, 1, 1, 1],
        [0, 0, 0, 0],
        [1, 1, 1, 1],
        [0, 0, 0, 0],
    ]
)

vote_tables = st.tuples(st.integers(1, 8), st.integers(1, 7)).flatmap(
    lambda shape: st.lists(
        st.lists(st.integers(0, 1), min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    ).map(np.array)
)

# Few values, so that ties are common; at least one query of each kind.
scored_streams = st.tuples(
    st.lists(st.integers(0, 5), min_size=1, max_size=12),
    st.lists(st.integers(0, 5), min_size=1, max_size=250),
).map(
    lambda kinds: (
        np.array([*kinds[0], *kinds[1]], dtype=float),
        np.arange(len(kinds[0]) + len(kinds[1])) < len(kinds[0]),
    )
)


def stream(triggers, ordinary):
    """Scores of trigger and of ordinary queries, as `evaluate` takes them."""
    scores = np.array([*triggers, *ordinary], dtype=float)
    return scores, np.arange(len(scores)) < len(triggers)


def by_every_method(codes, is_trigger):
    """Evaluate every method on a stream's votes."""
    return [evaluate(name, score(codes), is_trigger) for name, score in METHODS.items()]


def naive_auc(scores, is_trigger):
    """Chance that a trigger query scores above an ordinary one, half a point for a tie."""
    points = [
        float(trigger > ordinary) + 0.5 * float(trigger == ordinary)
        for trigger in scores[is_trigger]
        for ordinary in scores[~is_trigger]
    ]
    return sum(points) / len(points)


def naive_tpr(scores, is_trigger):
    """Largest share of triggers spotted by any threshold that suspects at most 1% of the ordinary ones."""
    triggers, ordinary = scores[is_trigger], scores[~is_trigger]
    shares = [
        sum(triggers >= threshold) / len(triggers)
        for threshold in [*np.unique(scores), np.inf]
        if 100 * sum(ordinary >= threshold) <= len(ordinary)
    ]
    return max(shares)


# --- scores


def test_disagreement_by_hand():
    assert disagreement(VOTES).tolist() == [0.5, 0.5, 0.5, 0.5, 0.25, 0.0, 0.0, 0.0]
    assert disagreement(np.array([[0, 1, 2, 2]])).tolist() == [0.5]


def test_repeats_ignores_unanimity_and_treats_complements_alike():
    assert repeats(VOTES).tolist() == [1.5, 1.5, 1.5, 1.5, 0.0, 0.0, 0.0, 0.0]


@given(vote_tables)
def test_both_scores_are_those_of_plain_loops(votes):
    def division(row):
        return {tuple(row), tuple(1 - row)}

    for index, row in enumerate(votes):
        outvoted = min(row.sum(), len(row) - row.sum()) / len(row)
        alike = sum(division(row) == division(other) for other in votes) - 1
        assert disagreement(votes)[index] == pytest.approx(outvoted)
        assert repeats(votes)[index] == pytest.approx(alike * outvoted)


@given(vote_tables, st.data())
def test_exchanging_the_classes_of_a_query_or_reordering_trees_changes_no_score(votes, data):
    flip = np.array(data.draw(st.lists(st.booleans(), min_size=len(votes), max_size=len(votes))))
    order = data.draw(st.permutations(range(votes.shape[1])))
    changed = np.where(flip[:, None], 1 - votes, votes)[:, order]
    for score in METHODS.values():
        np.testing.assert_allclose(score(changed), score(votes))


# --- metrics


@pytest.mark.parametrize(
    ("triggers", "ordinary", "area", "tpr"),
    [
        ([3, 4], [0, 1, 2], 1.0, 1.0),
        ([0, 1], [2, 3, 4], 0.0, 0.0),
        ([1, 1], [1, 1, 1], 0.5, 0.0),
        ([1, 3], [2, 2], 0.5, 0.5),
        ([2, 1], [1, 0], 0.875, 0.5),
        # One ordinary query in a hundred may be suspected, two may not.
        ([5, 3], [4, *[0] * 99], 0.995, 1.0),
        ([5, 3], [4, *[0] * 98], (2 * 98 + 1) / (2 * 99), 0.5),
        # A point in the middle of a straight stretch of the curve.
        ([3, 2, 1], [3, 2, 1, *[0] * 197], (199.5 + 198.5 + 197.5) / 600, 2 / 3),
    ],
)
def test_metrics_by_hand(triggers, ordinary, area, tpr):
    result = evaluate("by hand", *stream(triggers, ordinary))
    assert result.method == "by hand"
    assert (result.triggers, result.ordinary) == (len(triggers), len(ordinary))
    assert result.auc == pytest.approx(area)
    assert result.tpr_at_1pct_fpr == pytest.approx(tpr)


@given(scored_streams)
def test_metrics_are_those_of_plain_loops(case):
    result = evaluate("scores", *case)
    assert result.auc == pytest.approx(naive_auc(*case))
    assert result.tpr_at_1pct_fpr == pytest.approx(naive_tpr(*case))


@given(scored_streams)
def test_the_curve_is_ascending_and_encloses_the_auc(case):
    result = evaluate("scores", *case)
    false_positive, true_positive = np.array(result.false_positive_rate), np.array(result.true_positive_rate)
    assert (false_positive[0], true_positive[0]) == (0, 0)
    assert (false_positive[-1], true_positive[-1]) == (1, 1)
    assert (np.diff(false_positive) >= 0).all()
    assert (np.diff(true_positive) >= 0).all()
    assert auc(false_positive, true_positive) == pytest.approx(result.auc)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.sampled_from([0.0, 0.01, 0.1, 0.5, 1.0]))
def test_the_threshold_is_the_least_allowed(scores, limit):
    ordinary = np.array(scores, dtype=float)
    threshold = threshold_at_limit(ordinary, limit)
    assert (ordinary >= threshold).mean() <= limit
    smaller = ordinary[ordinary < threshold]
    assert not len(smaller) or (ordinary >= smaller.max()).mean() > limit


def test_every_method_spots_repeated_divisions():
    is_trigger = np.arange(8) < 4
    results = by_every_method(VOTES, is_trigger)
    assert [result.method for result in results] == ["disagreement", "repeats"]
    assert [result.auc for result in results] == [1.0, 1.0]
    assert [result.tpr_at_1pct_fpr for result in results] == [1.0, 1.0]


# --- real forests


@pytest.mark.parametrize("which", ["owner", "published_owner"])
def test_repeats_finds_all_triggers_of_a_watermarked_forest(which, request):
    model = request.getfixturevalue(which)
    queries = np.concatenate([model.trigger_X, model.data.X_test])
    is_trigger = np.arange(len(queries)) < len(model.trigger_X)
    by_disagreement, by_repeats = by_every_method(model.watermarked.vote_codes(queries), is_trigger)
    assert by_repeats.auc == 1.0
    assert by_repeats.tpr_at_1pct_fpr == 1.0
    assert by_disagreement.auc > 0.98
    assert (by_repeats.triggers, by_repeats.ordinary) == (7, 171)


def test_an_honest_forest_does_not_divide_on_the_triggers(owner):
    queries = np.concatenate([owner.trigger_X, owner.data.X_test])
    is_trigger = np.arange(len(queries)) < len(owner.trigger_X)
    for result in by_every_method(owner.honest.vote_codes(queries), is_trigger):
        assert result.auc < 0.7
        assert result.tpr_at_1pct_fpr == 0.0
