"""Codebooks: bits of each row, their chance, and the forms that claims hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wm.codebook import Codebook, flat_bits, random_codebook, repeated
from wm.errors import SignatureError
from wm.signature import Signature


@st.composite
def codebooks(draw):
    rows, trees = draw(st.integers(1, 5)), draw(st.integers(2, 6))
    bits = st.lists(st.integers(0, 1), min_size=trees, max_size=trees)
    return Codebook.of(
        draw(st.lists(bits, min_size=rows, max_size=rows)), expected_ones=draw(st.integers(1, trees - 1))
    )


@given(codebooks())
def test_the_flat_bits_are_the_codebook(book):
    assert Codebook.from_text(str(flat_bits(book)), len(book.rows), book.expected_ones) == book
    assert np.array_equal(flat_bits(book).array.reshape(book.array.shape), book.array)
    assert book.ones == book.array.sum()


@given(codebooks(), st.data())
def test_some_rows_are_those_of_the_array(book, data):
    places = data.draw(st.lists(st.integers(0, len(book.rows) - 1), min_size=1))
    assert np.array_equal(book.some_rows(places).array, book.array[places])


@given(codebooks())
def test_a_number_of_a_tree_belongs_to_all_of_its_bits(book):
    spread = repeated(np.arange(book.trees), book).reshape(book.array.shape)
    assert np.array_equal(spread, np.tile(np.arange(book.trees), (len(book.rows), 1)))


def test_a_signature_wants_the_same_on_every_row():
    signature = Signature.of("011")
    assert np.array_equal(signature.wanted(2), [[False, True, True]] * 2)
    assert flat_bits(signature) is signature
    assert (signature.trees, signature.expected_ones, signature.share) == (3, 2, 2 / 3)


@pytest.mark.parametrize(
    ("rows", "ones", "fault"),
    [([], 1, "at least one row"), (["01", "011"], 1, "one length"), (["01"], 0, "0/2"), (["01"], 2, "2/2")],
)
def test_impossible_codebooks_are_refused(rows, ones, fault):
    with pytest.raises(SignatureError, match=fault):
        Codebook.of(rows, ones)


@pytest.mark.parametrize(("text", "rows"), [("0101", 3), ("", 1)])
def test_bits_that_are_no_rows_are_refused(text, rows):
    with pytest.raises(SignatureError, match=r"not \d rows"):
        Codebook.from_text(text, rows, 1)


def test_other_rows_than_the_codebooks_are_refused():
    with pytest.raises(SignatureError, match="3 trigger rows do not fit a codebook of 2 rows"):
        Codebook.of(["01", "10"], 1).wanted(3)


def test_a_random_bit_is_one_with_the_shares_chance():
    book = random_codebook(200, 100, 0.254, np.random.default_rng(1))
    assert book.share == 0.25
    # 20,000 coins: seven standard deviations.
    assert abs(book.array.mean() - 0.25) < 7 * np.sqrt(0.25 * 0.75 / book.array.size)
    assert book != random_codebook(200, 100, 0.254, np.random.default_rng(2))
