"""Tournaments: winners are honest, p-values are valid; both counted over all coins of small cases."""

from __future__ import annotations

import hmac
import itertools
import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from research.tournament import Rows, evidence, keyed_coins, marked_forest, weights_of, winner
from wm.claims.lineup_settings import TreeSettings
from wm.embedding.lineup.context import canonical_rows
from wm.embedding.lineup.trees import train_trees
from wm.embedding.training import forest_of

LAW = (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6))
"""Chances of three kinds of honest trees."""


def all_coins(*shape):
    for each in itertools.product((-1, 1), repeat=math.prod(shape)):
        yield np.array(each, dtype=np.int8).reshape(shape)


def law_of_winners(votes, weights, choose, *, layers=2):
    """The chance of each kind to win among four candidates, over all coins and all candidates."""
    found = [Fraction(0)] * len(LAW)
    tables = list(all_coins(layers, len(weights)))
    for kinds in itertools.product(range(len(LAW)), repeat=4):
        chance = math.prod((LAW[kind] for kind in kinds), start=Fraction(1, len(tables)))
        for coins in tables:
            scores = (coins * weights) @ votes[list(kinds)].T
            found[kinds[choose(scores)]] += chance
    return tuple(found)


votes_of_kinds = st.lists(st.lists(st.integers(0, 1), min_size=2, max_size=2), min_size=3, max_size=3)


@settings(max_examples=20)
@given(votes_of_kinds, st.lists(st.sampled_from([1.0, 2.0, 2.5]), min_size=2, max_size=2))
def test_winners_have_exactly_the_law_of_candidates(votes, weights):
    assert law_of_winners(np.array(votes), np.array(weights), winner) == LAW


def test_the_best_of_four_would_not_be_honest():
    votes = np.array([[1, 0], [1, 1], [0, 1]])
    best = law_of_winners(votes, np.ones(2), lambda scores: int(scores[0].argmax()), layers=1)
    assert best != LAW


@pytest.fixture(scope="module")
def scene():
    rng = np.random.default_rng(0)
    X = rng.random((60, 6)).astype(np.float32)
    training = canonical_rows(X, (X[:, 0] + X[:, 1] + 0.6 * rng.random(60) > 1.3).astype(np.int64))
    settings = TreeSettings(max_depth=4)
    asked = rng.random((200, 6)).astype(np.float32)
    return training, settings, Rows.divided(asked, 120, (training, settings), rng)


@pytest.mark.parametrize(("level", "trees"), [(0, 2), (1, 4)])
def test_each_tree_and_each_pair_of_subtrees_wins_for_as_many_keys(scene, level, trees):
    training, limits, rows = scene
    weights = np.sqrt([2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0])  # no two sums of them are equal
    few = Rows(rows.X[::15], rows.centre[::15], weights)  # of 120
    won = Counter(
        tuple(marked_forest(training, limits, few, coins, np.random.default_rng(8), level=level).value[:, 0])
        for coins in all_coins(1, 1, 8)
    )
    assert sorted(won.values()) == [2**8 // trees] * trees


def test_the_key_decides_what_is_known_of_the_coins():
    coins = keyed_coins(b"k" * 32, 3, 2, 300)
    assert coins.shape == (3, 2, 300)
    assert set(np.unique(coins)) == {-1, 1}
    message = b"coin" + b"".join(number.to_bytes(8, "little") for number in (2, 1, 1))
    byte = hmac.digest(b"k" * 32, message, "sha256")[(299 - 256) // 8]
    assert coins[2, 1, 299] == 2 * ((byte >> (7 - (299 - 256) % 8)) & 1) - 1
    assert (keyed_coins(b"l" * 32, 3, 2, 300) != coins).any()


@dataclass
class Suspect:
    """Some votes, whatever is asked."""

    given: np.ndarray

    @property
    def n_trees(self):
        return self.given.shape[1]

    def votes(self, X):
        return self.given[: len(X)]

    def predict(self, X):
        return (self.votes(X).mean(axis=1) > 0.5).astype(int)


@settings(max_examples=10)
@given(
    st.integers(1, 3).flatmap(
        lambda trees: st.lists(
            st.lists(st.integers(0, 1), min_size=trees, max_size=trees), min_size=4, max_size=4
        )
    ),
    st.lists(st.sampled_from([0.1, 0.3, 0.5, 0.8]), min_size=4, max_size=4),
)
def test_small_p_values_of_an_innocent_suspect_are_as_rare_as_they_say(votes, centre):
    suspect, share = Suspect(np.array(votes)), np.array(centre)
    rows = Rows(np.zeros((4, 1), dtype=np.float32), share, weights_of(share))
    found = [evidence(suspect, rows, coins) for coins in all_coins(2, 1, 4)]
    for field in ("votes", "in_order", "matched", "shares", "labels"):
        p = 10.0 ** np.array([getattr(each, field) for each in found])
        for level in np.unique(p):
            assert (p <= level).mean() <= level * (1 + 1e-9)


def test_a_matching_counts_for_what_it_cost():
    coins = keyed_coins(b"k" * 32, 4, 1, 200)
    rows = Rows(np.zeros((200, 1), dtype=np.float32), np.full(200, 0.5), np.ones(200))
    votes = (coins[:, 0].T > 0).astype(int)  # what no tournament could reach
    shuffled = evidence(Suspect(votes[:, [2, 0, 3, 1]]), rows, coins)
    in_order = evidence(Suspect(votes), rows, coins)
    assert shuffled.in_order > -50
    assert in_order.in_order == pytest.approx(-800 * math.log10(2), abs=0.01)
    assert shuffled.matched == in_order.matched
    # All four trees are the best size: 4! matchings, and four sizes were tried, of which two are equal.
    assert shuffled.matched == pytest.approx(in_order.in_order + math.log10(24 * 3), abs=0.01)


@pytest.mark.parametrize("level", [0, 1])
def test_the_owner_is_recognised_in_order_and_nobody_else_is(scene, level):
    training, limits, rows = scene
    rng = np.random.default_rng(5)
    coins = keyed_coins(b"owner", 60, 3, len(rows.X))
    forest = marked_forest(training, limits, rows, coins, rng, level=level)
    honest = forest_of(list(train_trees(training, limits, range(60))))
    assert evidence(forest, rows, coins).votes < -8
    assert evidence(forest, rows, keyed_coins(b"other", 60, 3, len(rows.X))).votes > -3
    assert evidence(honest, rows, coins).votes > -3
