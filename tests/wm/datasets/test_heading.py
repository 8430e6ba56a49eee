"""Names or values: what the first row of a table is taken for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wm.datasets.heading import has_header
from wm.datasets.wording import as_flag
from wm.errors import DataError


def ask(text, label=None):
    rows = [line.split(",") for line in text.split()]
    return has_header(rows, label=label, where="w", naming=as_flag)


@pytest.mark.parametrize(
    ("text", "label", "header"),
    [
        ("a,b 1,2 3,4", None, True),
        ("1,2 3,4 5,6", None, False),
        ("1,2 3,4 5,6", "2", True),
        ("1,?,x 2,3,y 3,4,y", -1, False),
        ("1,2,g 2,3,b 3,4,b", None, False),
        ("sex,age m,1 f,2 m,3", None, True),
        (",a ,1 ,2", None, True),
        ("a,y", None, True),
        ("1,x", None, False),
    ],
)
def test_numbers_tell(text, label, header):
    assert ask(text, label) == (header, ())


@pytest.mark.parametrize(
    ("text", "header", "said"),
    [
        ("p,x e,x p,s e,s", False, "('p', 'x') for values, not names; else give --header or --no-header"),
        (
            "cap,hat p,x p,x p,x p,s p,x p,x p,s p,x e,x e,x e,x e,x",
            True,
            "('cap', 'hat') for names; else give --header or --no-header",
        ),
    ],
)
def test_words_alone_tell_less_and_that_is_said(text, header, said):
    answer, notes = ask(text)
    assert answer == header
    assert notes == (f"w: takes the first row {said}",)


@pytest.mark.parametrize(
    "text", ["a,2 1,3 2,4", "city,2001 A,5 A,6 A,7 A,5 B,6 B,7 B,7 B,7", "x,y a,b c,d", "a,1 1,x 2,y"]
)
def test_what_is_uncertain_is_refused(text):
    with pytest.raises(DataError, match=r"is the first row .* names or values\? Say which with --header or"):
        ask(text)


@given(st.lists(st.lists(st.sampled_from(["1", "a", "b", "?", ""]), min_size=3, max_size=3), min_size=1))
def test_any_rows_have_an_answer_or_a_refusal(rows):
    try:
        header, _ = has_header(rows, label=-1, where="w", naming=as_flag)
        assert header in (True, False)
    except DataError:
        pass
