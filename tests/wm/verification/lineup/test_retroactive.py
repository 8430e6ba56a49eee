"""Line-ups without a commitment: indications at best, and what looking for a seed gains."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from tests import lineups
from wm.claims.lineup_settings import TreeSettings
from wm.embedding.lineup.context import TrainingRows
from wm.errors import ClaimError
from wm.forest import Forest
from wm.verification.answers import Answers
from wm.verification.judgement import Response, VerdictKind
from wm.verification.lineup.bound import log10_bound
from wm.verification.lineup.retroactive import (
    is_common,
    judge_retroactive,
    retroactive_lineup,
    seeds_of_forest,
)

SEED = 3_141_592_653
TREES = 30
QUERIES = lineups.rows_of(9, 250)[0]


@pytest.fixture(scope="module", params=[TreeSettings(max_depth=5), TreeSettings(bootstrap=True)], ids=str)
def settings(request) -> TreeSettings:
    return request.param


def forest_of(settings, seed) -> Forest:
    """Return a forest as scikit-learn trains it, with no part of this project."""
    X, y = lineups.rows_of(0)
    model = RandomForestClassifier(
        TREES, max_depth=settings.max_depth, bootstrap=settings.bootstrap, random_state=seed
    )
    return Forest.from_sklearn(model.fit(X, y))


@pytest.fixture(scope="module")
def lineup(settings):
    return retroactive_lineup(
        TrainingRows(*lineups.rows_of(0)), settings, SEED, TREES, QUERIES, candidates=8, judge=lineups.JUDGE
    )


def judged(lineup, forest, **more):
    votes = Answers("votes", forest.votes(QUERIES))
    return judge_retroactive(lineup, Response({"votes": votes}, np.arange(len(QUERIES))), **more)


def test_the_seeds_own_forest_is_an_indication_and_another_is_not(settings, lineup):
    own = forest_of(settings, SEED)
    assert np.array_equal(lineup.votes[np.arange(TREES), lineup.places].T, own.votes(QUERIES))
    found = judged(lineup, own)
    assert (found.verdict, found.log10_p < -15) == (VerdictKind.INDICATION, True)
    assert found.open_questions == ("nobody committed to the seed before the suspect appeared",)
    assert judged(lineup, forest_of(settings, SEED + 1)).verdict is VerdictKind.NOT_VERIFIED


def test_seeds_settings_and_suspects_are_charged(settings, lineup):
    own = forest_of(settings, SEED)
    one, many = judged(lineup, own), judged(lineup, own, settings_tried=100, tried=10)
    assert one.log10_p == pytest.approx(min(t.log10_adjusted for t in one.tests) + 32 * math.log10(2))
    assert many.log10_p == pytest.approx(one.log10_p + 3)
    with pytest.raises(ClaimError, match="must be at least 1"):
        judged(lineup, own, settings_tried=0)


def test_looking_through_seeds_gains_no_more_than_their_number():
    """Many places stand for many seeds: the smallest of G p-values is above 1 / G times the level."""
    rng = np.random.default_rng(5)
    resemblance = rng.normal(size=(20, 10))
    for tried in (5, 30):
        smallest = [
            min(log10_bound(resemblance, rng.integers(10, size=20)) for _ in range(tried)) for _ in range(40)
        ]
        # Under the union bound one in 10 is below; 12 of 40 or more would be one in 1,000 tries.
        assert sum(value + math.log10(tried) <= -1 for value in smallest) < 12


@pytest.mark.parametrize(
    "seed",
    [0, 42, 1234, 9999, 12345, 123456789, 987654321, 20240131, 77777, 424242, 2**20, 2**31 - 1, 2**32 - 1],
)
def test_common_seeds_are_refused(seed):
    assert is_common(seed)
    with pytest.raises(ClaimError, match="many people use"):
        retroactive_lineup(
            TrainingRows(*lineups.rows_of(0)),
            TreeSettings(),
            seed,
            2,
            QUERIES,
            candidates=2,
            judge=lineups.JUDGE,
        )


def test_most_seeds_are_not_common():
    drawn = np.random.default_rng(6).integers(2**32, size=2000).tolist()
    assert sum(map(is_common, drawn)) < 5


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_what_is_no_seed_is_refused(seed):
    with pytest.raises(ClaimError, match="no random_state"):
        retroactive_lineup(
            TrainingRows(*lineups.rows_of(0)),
            TreeSettings(),
            seed,
            2,
            QUERIES,
            candidates=2,
            judge=lineups.JUDGE,
        )


def test_seeds_are_those_of_scikit_learn():
    model = RandomForestClassifier(5, random_state=SEED).fit(*lineups.rows_of(0))
    assert seeds_of_forest(SEED, 5) == [tree.random_state for tree in model.estimators_]


def test_moved_places_say_nothing(settings, lineup):
    moved = replace(lineup, places=(lineup.places + 1) % 8)
    assert judged(moved, forest_of(settings, SEED)).log10_p == 0
