"""What a thief does to a stolen forest, and the verdict on the true claim beside it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from tests.pools import JUDGE, TRUST, opening
from tests.redteam.conftest import TREES, committed, drawn_sample, judged, trained
from wm.forest import Forest
from wm.verification.answers import Answers
from wm.verification.judgement import Requirements, Response, VerdictKind, judge_sample, model_response
from wm.verification.samples import controls_to_open, sample_of

VERIFIED, NOT, UNJUDGED = VerdictKind.VERIFIED, VerdictKind.NOT_VERIFIED, VerdictKind.UNJUDGED
ARRAYS = ("offset", "left", "right", "feature", "threshold", "value", "n_features", "classes")
rng = np.random.default_rng(0)
ORDER, COLUMNS = rng.permutation(TREES), rng.permutation(30)


def edited(forest, **changes):
    return Forest.from_arrays(**({name: getattr(forest, name) for name in ARRAYS} | changes))


def shuffled(forest, _):
    return forest.select(ORDER[forest.n_trees > ORDER])


def one_dropped(forest, _):
    return forest.select(np.delete(np.arange(forest.n_trees), 13))


def half_dropped(forest, _):
    return forest.select(ORDER[: TREES // 2])


def two_of_three_dropped(forest, _):
    return forest.select(ORDER[: TREES // 3])


def one_twice(forest, _):
    return forest.select([*range(forest.n_trees), 5])


def every_tree_twice(forest, _):
    return forest.select([*range(forest.n_trees)] * 2)


def one_replaced_by_a_copy(forest, _):
    return forest.select([0, *range(forest.n_trees - 1)])


def unused_class(forest, _):
    if len(forest.classes) == 3:
        return forest
    return edited(
        forest, value=np.hstack([forest.value, np.zeros((len(forest.value), 1))]), classes=[0, 1, 2]
    )


def renamed(forest, _):
    names = ["healthy", "ill", "other"][: len(forest.classes)]
    return edited(forest, classes=names)


def exchanged(forest, _):
    return edited(forest, value=forest.value[:, ::-1])


def one_more_feature(forest, _):
    return edited(forest, n_features=forest.n_features + 1)


def columns_permuted(forest, _):
    return edited(forest, feature=np.where(forest.feature >= 0, COLUMNS[np.maximum(forest.feature, 0)], -1))


def raw_units(forest, data):
    tested = np.maximum(forest.feature, 0)
    return edited(
        forest,
        threshold=np.where(forest.left >= 0, forest.threshold * data.span[tested] + data.low[tested], 0),
    )


def trees_added(forest, data):
    """Join honest trees, a third of all."""
    own, theirs = data.own[:170], data.others
    X, y = np.vstack([data.X[own], data.X[theirs]]), np.concatenate([data.y[own], data.y[theirs]])
    more = Forest.from_sklearn(RandomForestClassifier(TREES // 2, random_state=4).fit(X, y))
    return joined(forest, more)


def joined(first, second):
    parts = {name: np.concatenate([getattr(first, name), getattr(second, name)]) for name in ARRAYS[1:6]}
    offset = np.concatenate([first.offset, first.offset[-1] + second.offset[1:]])
    return Forest.from_arrays(**parts, offset=offset, n_features=first.n_features, classes=first.classes)


FREE = {
    "as stolen": lambda forest, _: forest,
    "shuffled": shuffled,
    "one dropped": one_dropped,
    "half dropped": half_dropped,
    "one twice": one_twice,
    "every tree twice": every_tree_twice,
    "one replaced by a copy": one_replaced_by_a_copy,
    "unused class": unused_class,
    "renamed": renamed,
    "exchanged": exchanged,
    "one more feature": one_more_feature,
    "columns permuted": columns_permuted,
    "raw units": raw_units,
}
"""What costs a thief nothing, or half of the trees."""


@pytest.mark.parametrize("name", FREE)
def test_a_changed_copy_is_verified(name, owned, sample, data):
    assert judged(sample, FREE[name](owned.forest, data)).verdict == VERIFIED


TREE_CHANGES = ("shuffled", "half dropped", "every tree twice", "one twice")
CLASS_CHANGES = ("unused class", "renamed", "exchanged")


@pytest.mark.parametrize(
    "names",
    [
        *itertools.product(TREE_CHANGES, CLASS_CHANGES),
        *itertools.product(TREE_CHANGES, ("raw units", "columns permuted", "one more feature")),
        ("exchanged", "raw units", "columns permuted"),
        ("one more feature", "raw units", "shuffled"),
        ("shuffled", "unused class", "raw units", "columns permuted", "one more feature"),
    ],
    ids="+".join,
)
def test_changes_in_combination_are_verified(names, owned, sample, data):
    suspect = owned.forest
    for name in names:
        suspect = FREE[name](suspect, data)
    assert judged(sample, suspect).verdict == VERIFIED


def test_a_third_of_the_trees_still_tells(owned, sample, data):
    assert judged(sample, two_of_three_dropped(owned.forest, data)).verdict == VERIFIED


def test_one_tree_that_errs_on_the_trigger_rows_is_verified(owned, sample):
    # Its share of wrong votes is 0 or 1, which is far from the signature's but the highest of all rows.
    marked = int(np.flatnonzero(sample.draw.signature.array == 1)[0])
    assert judged(sample, owned.forest.select([marked])).verdict == VERIFIED


def test_half_as_many_honest_trees_added_are_verified(owned, sample, data):
    assert judged(sample, trees_added(owned.forest, data)).verdict == VERIFIED


def test_features_on_a_scale_that_nobody_knows_cannot_be_judged(owned, sample):
    # The thief's own preparation is needed: the transcript says so instead of "not verified".
    forest = owned.forest
    found = judged(
        sample, edited(forest, threshold=np.where(forest.left >= 0, forest.threshold * 100 - 50, 0))
    )
    assert found.verdict == UNJUDGED
    assert "units" in found.needed


def test_the_honest_forest_of_the_same_rows_is_not_verified(owned, sample):
    assert judged(sample, owned.standard).verdict == NOT


def test_an_innocent_forest_of_the_same_public_rows_is_not_verified(sample, data):
    for seed in range(5):
        model = RandomForestClassifier(TREES, max_depth=8, random_state=seed).fit(
            data.X[data.own], data.y[data.own]
        )
        assert judged(sample, Forest.from_sklearn(model)).verdict == NOT


# --- copies that are known by their answers


def answers_of(forest, sample, kind):
    shares = forest.vote_shares(sample.X)[:, 1]
    return {
        "votes": Answers("votes", forest.votes(sample.X).astype(np.int64)),
        "probabilities": Answers("probabilities", shares),
        "squared": Answers("probabilities", shares**2 / (shares**2 + (1 - shares) ** 2)),
        "two digits": Answers("probabilities", np.round(shares, 2)),
        "labels": Answers("labels", (shares > 0.5).astype(np.int64)),
    }[kind]


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [
        ("votes", VERIFIED),
        ("probabilities", VERIFIED),
        ("squared", VERIFIED),
        ("two digits", VERIFIED),
        # Half of the trees err on trigger rows: a tie, which all fall on one side.
        ("labels", {VERIFIED, NOT}),
    ],
)
def test_a_copy_that_only_answers(kind, verdict, owned, sample):
    answers = answers_of(owned.forest, sample, kind)
    found = judge_sample(sample, Response({answers.kind: answers}, np.arange(len(sample.y))), JUDGE)
    assert found.verdict in ({verdict} if isinstance(verdict, str) else verdict)


def test_a_distilled_copy_is_not_verified(owned, sample, data):
    """Trained on the copy's labels of other rows: nothing of the draw is in them."""
    X = np.vstack([data.X[data.others], data.X[data.others] + np.float32(0.01)])
    student = RandomForestClassifier(TREES, random_state=2).fit(X, owned.forest.predict(X))
    assert judged(sample, Forest.from_sklearn(student)).verdict == NOT


def test_a_copy_distilled_from_labels_of_the_training_rows_is_verified_by_the_rank_of_rows(
    owned, sample, data
):
    """Trained on the copy's labels of all training rows: its trees agree, where the copy's are divided."""
    X = data.X[data.own]
    student = RandomForestClassifier(TREES, random_state=2, bootstrap=False).fit(X, owned.forest.predict(X))
    assert judged(sample, Forest.from_sklearn(student)).verdict == VERIFIED


def test_a_copy_distilled_from_probabilities_of_the_training_rows_is_verified(owned, sample, data):
    X = data.X[data.own]
    student = RandomForestRegressor(TREES, random_state=2, bootstrap=False)
    shares = student.fit(X, owned.forest.vote_shares(X)[:, 1]).predict(sample.X)
    answers = {"probabilities": Answers("probabilities", np.clip(shares, 0, 1))}
    assert judge_sample(sample, Response(answers, np.arange(len(sample.y))), JUDGE).verdict == VERIFIED


# --- openings of a copy


@pytest.mark.parametrize("name", ["as stolen", "shuffled", "raw units", "exchanged"])
def test_a_changed_copy_is_verified_by_an_opening(name, owned, data):
    whole = sample_of(owned.claim)
    part = opening(owned.claim, shown=5, controls=controls_to_open(whole, 1e-6, shown=5))
    shown = sample_of(part, trust=TRUST)
    asked = Requirements(suspect_since=JUDGE.suspect_since, challenge=part.challenge, opened=5)
    assert judged(shown, FREE[name](owned.forest, data), asked).verdict == VERIFIED


# --- two owners


def test_a_merged_ensemble_of_two_owners_is_verified_for_both(owned, sample, data):
    other = trained(data, committed(data, model_id="another owner's", seed=2))
    merged = joined(owned.forest, other.forest).select(np.random.default_rng(3).permutation(2 * TREES))
    assert judged(sample, merged).verdict == VERIFIED
    assert judged(sample_of(other.claim, trust=TRUST), merged).verdict == VERIFIED
    assert judged(sample_of(other.claim, trust=TRUST), owned.forest).verdict == NOT


def test_another_draw_of_the_same_pool_is_not_verified(owned, data):
    again = drawn_sample(owned.claim.model_copy(update={"receipts": ()}))
    assert judged(again, owned.forest).verdict == NOT
    assert model_response(owned.forest, again).answers["votes"].values.shape == (len(data.own), TREES)
