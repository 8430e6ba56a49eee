"""The draw: a function of secret, commitment and value, uniform over rows and bits, and pinned."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import struct
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from wm.claims.draw import draw, smallest

keys = st.binary(min_size=32, max_size=32)
SHAPE = {"pool_size": 6, "trigger_size": 2, "trees": 5, "ones": 2}


def number(value):
    return hashlib.sha256(struct.pack("<Q", value)).digest()


@given(keys, keys, keys, st.integers(1, 30), st.integers(1, 30), st.data())
def test_a_draw_has_the_sizes_that_the_header_says(secret, commitment, value, pool, trees, data):
    size, ones = data.draw(st.integers(1, pool)), data.draw(st.integers(0, trees))
    found = draw(secret, commitment, value, pool_size=pool, trigger_size=size, trees=trees, ones=ones)
    assert list(found.triggers) == sorted(set(found.triggers))
    assert len(found.triggers) == size
    assert 0 <= found.triggers[0] <= found.triggers[-1] < pool
    assert (len(found.signature), found.signature.ones) == (trees, ones)


@given(keys, keys, keys, st.integers(1, 20), st.data())
def test_rows_and_bits_have_the_smallest_hashes(secret, commitment, value, count, data):
    size = data.draw(st.integers(1, count))
    found = draw(secret, commitment, value, pool_size=count, trigger_size=size, trees=count, ones=size)
    key = hmac.digest(secret, commitment + value, "sha256")
    hashes = {i: hmac.digest(key, b"row" + struct.pack("<Q", i), "sha256") for i in range(count)}
    assert max(hashes[i] for i in found.triggers) < min(
        [b"\xff" * 33, *(hashes[i] for i in hashes.keys() - set(found.triggers))]
    )
    bits = {t: hmac.digest(key, b"bit" + bytes(8) + struct.pack("<Q", t), "sha256") for t in range(count)}
    assert sorted(bits, key=bits.get)[:size] == sorted(
        (t for t, bit in enumerate(found.signature.bits) if bit), key=bits.get
    )


@pytest.mark.parametrize("which", [0, 1, 2])
def test_every_input_changes_the_draw(which):
    parts = [number(1), number(2), number(3)]
    shape = {"pool_size": 10**3, "trigger_size": 20, "trees": 100, "ones": 50}
    first = draw(*parts, **shape)
    parts[which] = number(4)
    second = draw(*parts, **shape)
    assert first.triggers != second.triggers
    assert first.signature != second.signature


def test_over_values_every_set_of_rows_and_every_signature_is_drawn_equally_often():
    rows, bits, pairs = Counter(), Counter(), Counter()
    for value in range(6000):
        found = draw(number(-1 % 2**64), number(0), number(value), **SHAPE)
        rows[found.triggers] += 1
        bits[found.signature.bits] += 1
        pairs[found.triggers, found.signature.bits] += 1
    assert rows.keys() == set(itertools.combinations(range(6), 2))
    assert len(bits) == 10
    # The values are fixed, so this is no chance: a p-value of the sequence that HMAC gives.
    for counts, kinds in ((rows, 15), (bits, 10), (pairs, 150)):
        assert chisquare([*counts.values(), *[0] * (kinds - len(counts))]).pvalue > 1e-3


def test_a_draw_of_everything_or_of_one():
    assert smallest(number(1), b"row", 4, 4) == (0, 1, 2, 3)
    assert smallest(number(1), b"row", 1, 1) == (0,)
    assert smallest(number(1), b"bit", 4, 0) == ()


def test_the_draw_is_pinned():
    found = draw(b"\x22" * 32, b"\x44" * 32, b"\x33" * 32, pool_size=1000, trigger_size=5, trees=16, ones=8)
    assert found.triggers == (183, 417, 617, 810, 962)
    assert str(found.signature) == "1100111000001110"


# --- codebooks

BOOK = SHAPE | {"scheme": "codebook"}


@given(keys, keys, keys)
def test_a_codebook_has_a_hash_for_each_bit(secret, commitment, value):
    # Written out, as any other program would: exact fractions, no integer trick.
    found = draw(secret, commitment, value, **BOOK)
    key = hmac.new(secret, commitment + value, hashlib.sha256).digest()
    for row, bits in zip(found.triggers, found.signature.rows, strict=True):
        for tree, bit in enumerate(bits.bits):
            text = b"bit" + struct.pack("<QQ", row, tree)
            (word,) = struct.unpack("<Q", hmac.new(key, text, hashlib.sha256).digest()[:8])
            assert bit == (Fraction(word, 2**64) < Fraction(BOOK["ones"], BOOK["trees"]))
    assert found.signature.expected_ones == BOOK["ones"]


def test_the_rows_are_those_of_every_scheme():
    for value in range(20):
        known = [number(1), number(2), number(value)]
        assert draw(*known, **BOOK).triggers == draw(*known, **SHAPE).triggers


def test_each_bit_of_a_codebook_is_one_with_its_chance_independently_of_another():
    pairs = Counter()
    for value in range(2000):
        rows = draw(number(1), number(2), number(value), **BOOK).signature.array
        pairs.update([(rows[0, 0], rows[0, 1]), (rows[0, 0], rows[1, 0])])
    expected = {(a, b): 4000 * (0.4, 0.6)[a == 0] * (0.4, 0.6)[b == 0] for a in (0, 1) for b in (0, 1)}
    assert chisquare([pairs[key] for key in expected], list(expected.values())).pvalue > 1e-4
