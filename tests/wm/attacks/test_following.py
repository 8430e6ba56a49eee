"""Which answers follow from others, and the order that leaves least to be asked."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wm.attacks.forgery.following import query_order, settles
from wm.engines import Status

counts = st.integers(0, 200)


@given(counts)
def test_each_place_has_one_turn_after_its_helpers_the_nearest_of_those_before(count):
    before = set()
    for turn in query_order(count):
        smaller = max((place for place in before if place < turn.place), default=None)
        larger = min((place for place in before if place > turn.place), default=None)
        assert turn.helpers == tuple(place for place in (smaller, larger) if place is not None)
        before.add(turn.place)
    assert before == set(range(count))


@given(counts, st.data())
def test_about_log2_of_the_places_are_asked_and_the_others_follow(count, data):
    """The truth of one instance: impossible below some place, forged from there on."""
    first_forged = data.draw(st.integers(0, count))
    truth = [Status.FORGED if place >= first_forged else Status.IMPOSSIBLE for place in range(count)]
    found: dict[int, Status] = {}
    asked = 0
    for turn in query_order(count):
        settling = {found[place] for place in turn.helpers if settles(found[place], at=place, eps=turn.place)}
        asked += not settling
        (found[turn.place],) = settling or {truth[turn.place]}
    assert [found[place] for place in range(count)] == truth
    assert asked <= math.ceil(math.log2(count + 1))


@pytest.mark.parametrize("status", list(Status))
def test_only_decisions_settle_and_only_in_their_direction(status):
    upwards, downwards = status is Status.FORGED, status is Status.IMPOSSIBLE
    assert settles(status, at=0.3, eps=0.5) == upwards
    assert settles(status, at=0.5, eps=0.3) == downwards
    assert settles(status, at=0.3, eps=0.3) == (upwards or downwards)
