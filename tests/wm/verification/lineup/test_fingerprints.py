"""Fingerprints: leakers are found, alone or together, and innocent customers are not accused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests import lineups
from wm.embedding.lineup.claimed import owner_forest
from wm.errors import ClaimError
from wm.verification.answers import Answers
from wm.verification.lineup.candidates import committed_lineup
from wm.verification.lineup.fingerprints import accuse

CUSTOMERS = [f"customer {number}" for number in range(8)]


@pytest.fixture(scope="module")
def owner():
    return lineups.owner(committed=12)


@pytest.fixture(scope="module")
def lineup(owner):
    return committed_lineup(owner.claim, owner.candidates, owner.queries.X)


def votes_of(owner, customer):
    return owner_forest(owner.claim, owner.rows, owner.candidates, customer=customer).votes(owner.queries.X)


def accused(owner, lineup, votes, level=1e-3):
    found = accuse(owner.claim, lineup, {"votes": Answers("votes", votes)}, CUSTOMERS, level=level)
    return [each.customer for each in found if each.accused]


@pytest.mark.parametrize("customer", CUSTOMERS[:3])
def test_a_leaker_is_found_and_nobody_else(owner, lineup, customer):
    assert accused(owner, lineup, votes_of(owner, customer)) == [customer]


def test_two_who_pool_their_copies_are_found_and_nobody_else(owner, lineup):
    picked = np.arange(lineups.TREES) % 2 == 0
    both = np.where(picked, votes_of(owner, CUSTOMERS[1]), votes_of(owner, CUSTOMERS[4]))
    found = accused(owner, lineup, both, level=0.05)
    assert found
    assert set(found) <= {CUSTOMERS[1], CUSTOMERS[4]}


def test_innocent_customers_are_accused_no_more_often_than_the_level(owner, lineup):
    """Leakers who are not on the list: 30 of them, each against all customers."""
    wrong = sum(
        bool(accused(owner, lineup, votes_of(owner, f"leaker {number}"), level=0.2)) for number in range(30)
    )
    assert wrong <= 30 * 0.2 + 3 * math.sqrt(30 * 0.2 * 0.8)


@pytest.mark.parametrize("name", ["bob\u200b", " bob", "bo\u0301b", "\uff42ob", "bob\n"])
def test_a_name_with_a_second_spelling_is_refused(owner, lineup, name):
    answers = {"votes": Answers("votes", votes_of(owner, CUSTOMERS[0]))}
    with pytest.raises(ClaimError, match="customer's name"):
        accuse(owner.claim, lineup, answers, ["ann", name], level=0.1)


def test_impossible_questions_are_refused(owner, lineup):
    answers = {"votes": Answers("votes", votes_of(owner, CUSTOMERS[0]))}
    for customers, level, match in (
        ([], 0.1, "each only once"),
        (["a", "a"], 0.1, "each only once"),
        (["a"], 1.0, "level 1.0 is outside"),
    ):
        with pytest.raises(ClaimError, match=match):
            accuse(owner.claim, lineup, answers, customers, level=level)
    retrained = lineups.owner()
    with pytest.raises(ClaimError, match="leave their file and customers out"):
        owner_forest(retrained.claim, retrained.rows, customer="a")
