"""Named random streams: distinct for each role and key, independent of the order of creation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wm import streams
from wm.streams import Role, distinct_seeds, generator, integer_seed, sequence

seeds = st.integers(0, 2**64)
parts = st.one_of(st.integers(-(2**40), 2**40), st.text(max_size=8))
names = st.tuples(seeds, st.sampled_from(Role), st.lists(parts, max_size=3).map(tuple))


def first_bits(seed, role, *key):
    """Return the first 128 bits of a stream."""
    return generator(seed, role, *key).bytes(16)


def test_all_streams_of_many_campaigns_differ():
    keys = [(), ("0",), *((number,) for number in range(8)), *itertools.product(range(4), range(4)), ("a", 0)]
    streams = {first_bits(seed, role, *key) for seed in range(60) for role in Role for key in keys}
    assert len(streams) == 60 * len(Role) * len(keys)


@given(names, names)
def test_different_names_give_different_streams(one, other):
    same_name = one == other
    assert (first_bits(one[0], one[1], *one[2]) == first_bits(other[0], other[1], *other[2])) == same_name


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((1,), ("1",)),
        (("a", "b"), ("ab",)),
        (("a\x1fint:1",), ("a", 1)),
        ((), ("",)),
        ((1, 2), (2, 1)),
        ((12,), (1, 2)),
    ],
)
def test_similar_keys_give_different_streams(one, other):
    assert first_bits(5, Role.TUNING, *one) != first_bits(5, Role.TUNING, *other)


def test_attacker_and_owner_draw_different_bits():
    for seed in range(200):
        owner = generator(seed, Role.OWNER_SIGNATURE).integers(0, 2, size=128)
        attacker = generator(seed, Role.ATTACKER_SIGNATURE, 0).integers(0, 2, size=128)
        # Independent bits agree in half the places; 90 of 128 is 4.6 standard deviations away.
        assert 38 < (owner == attacker).sum() < 90


@given(names)
def test_a_stream_does_not_depend_on_earlier_streams(name):
    seed, role, key = name
    expected = first_bits(seed, role, *key)
    for other in Role:
        generator(seed, other, *key).random(3)
    sequence(seed, role, *key).spawn(2)
    assert first_bits(seed, role, *key) == expected


def test_a_generator_starts_at_the_beginning_of_its_stream():
    first, second = generator(1, Role.SPLIT), generator(1, Role.SPLIT)
    first.random(10)
    assert second.random(10).tolist() == generator(1, Role.SPLIT).random(10).tolist()


@pytest.mark.parametrize(("seed", "index"), [(0, 0), (2, 7), (2**63, -1)])
def test_numpy_integers_give_the_same_stream_as_python_integers(seed, index):
    expected = first_bits(seed, Role.SPLIT, index)
    assert first_bits(np.uint64(seed), Role.SPLIT, np.int64(index)) == expected
    assert first_bits(seed, Role.SPLIT, np.int8(index)) == expected


@given(names)
def test_an_integer_seed_is_a_valid_random_state(name):
    seed, role, key = name
    number = integer_seed(seed, role, *key)
    assert type(number) is int
    assert 0 <= number < 2**31
    assert number == integer_seed(seed, role, *key)
    np.random.RandomState(number)


def test_integer_seeds_differ_between_the_roles_of_a_campaign():
    numbers = {integer_seed(seed, role) for seed in range(20) for role in Role}
    assert len(numbers) == 20 * len(Role)


def test_a_negative_seed_is_refused():
    with pytest.raises(ValueError, match="seed -1 is negative"):
        generator(-1, Role.SPLIT)


def test_pinned_values():
    """Results of earlier campaigns must not change: change these only with a new stream version."""
    assert first_bits(2, Role.SPLIT).hex() == "c58e35d8f409f24aea0da138ae6fb92e"
    assert first_bits(2, Role.OWNER_SIGNATURE, 3, "paper").hex() == "7d8a99dc09af332aacf4b7b8c52fd034"
    assert integer_seed(42, Role.STANDARD_FOREST) == 1584881911
    assert generator(7, Role.ATTACKER_INSTANCES, 0).integers(0, 1000, size=5).tolist() == [
        591,
        173,
        809,
        607,
        318,
    ]


def test_distinct_seeds_are_those_of_the_streams_in_order():
    seeds = distinct_seeds(5, Role.OWNER_TREE, 40, 2)
    assert seeds == tuple(integer_seed(5, Role.OWNER_TREE, 2, number) for number in range(40))
    assert distinct_seeds(5, Role.OWNER_TREE, 10, 2) == seeds[:10]
    assert distinct_seeds(5, Role.OWNER_TREE, 0, 2) == ()


def test_repeated_seeds_are_skipped(monkeypatch):
    monkeypatch.setattr(streams, "integer_seed", lambda seed, role, *key: key[-1] // 3)
    assert distinct_seeds(1, Role.OWNER_TREE, 4) == (0, 1, 2, 3)
