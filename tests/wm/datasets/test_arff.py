"""ARFF files: against scipy's reader where it reads them, and what it does not read."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.io import arff

from wm.datasets.arff import read_arff
from wm.datasets.wording import as_key
from wm.errors import DataError


def read(text, label=None, drop=(), labelled=True):
    content = text if isinstance(text, bytes) else text.encode()
    return read_arff(content, where="w", label=label, drop=drop, labelled=labelled, naming=as_key)


@given(
    st.lists(
        st.tuples(st.floats(allow_nan=False), st.one_of(st.none(), st.integers()), st.sampled_from("ab")),
        min_size=1,
    )
)
def test_numbers_and_classes_are_those_that_scipy_reads(rows):
    lines = [f"{x!r}, {'?' if n is None else n}, {label}" for x, n, label in rows]
    text = "\n".join(
        [
            "% of one",
            "@RELATION r",
            "@attribute 'a b' REAL",
            "@ATTRIBUTE n integer",
            "@attribute y {a,b}",
            "@DATA",
            *lines,
        ]
    )
    ours, (theirs, meta) = read(text), arff.loadarff(io.StringIO(text))
    assert [column.name for column in ours.columns] == meta.names()[:2]
    for column, name in zip(ours.columns, meta.names(), strict=False):
        np.testing.assert_array_equal(column.values, theirs[name])
    assert list(ours.labels) == [label.decode() for label in theirs["y"]]


AWKWARD = r"""
@relation 'r s'
@attribute "it's" string
@attribute job {cook, 'test, pilot', 'o\'clock'}
@attribute day date "yyyy-MM-dd"
@attribute class {no,yes}
@data
"a, b" , 'test, pilot', "2020-01-02", no
% a comment

'it\'s', cook ,?,yes, {2}
, 'o\'clock', 2020-01-03,?
"""


def test_quotes_text_dates_weights_and_gaps():
    found = read(AWKWARD)
    cells = {column.name: [column.words[code] for code in column.codes] for column in found.columns}
    assert cells == {
        "it's": ["a, b", "it's", ""],
        "job": ["test, pilot", "cook", "o'clock"],
        "day": ["2020-01-02", "?", "2020-01-03"],
    }
    assert list(found.labels) == ["no", "yes", ""]
    assert [found.place(row) for row in range(3)] == ["line 8", "line 11", "line 12"]


def test_label_and_dropped_columns_may_be_any():
    found = read(AWKWARD, label="job", drop=("day", 0))
    assert [column.name for column in found.columns] == ["class"]
    assert found.labels[0] == "test, pilot"
    assert len(read(AWKWARD, labelled=False).columns) == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@relation r\n@attribute a real\n@data\n", "w: there are no rows below @data"),
        ("@relation r\n@data\n1", "it names no @attribute"),
        ("a,b\n1,2", r"line 1: 'a,b' is neither @relation, @attribute nor @data"),
        ("@attribute a\n@data\n1", "line 1: not an attribute with a name and a plain type"),
        ("@attribute a relational\n@data\n1", "line 1: not an attribute"),
        ("@attribute a real\n@attribute a real\n@data\n1,2", "attributes 'a' occur more than once"),
        (
            "@attribute a real\n@attribute y {0,1}\n@data\n1,2,3",
            "line 4 has 3 values, there are 2 attributes",
        ),
        ("@attribute a real\n@attribute y {0,1}\n@data\n{0 1}", "line 4: sparse ARFF is not read"),
        ("@attribute a real\n@attribute y {0,1}\n@data\n1,0", "no column 'z' for the label"),
    ],
)
def test_what_cannot_be_read_is_one_line(text, message):
    with pytest.raises(DataError, match=message) as caught:
        read(text, label="z" if "'z'" in message else None)
    assert "\n" not in str(caught.value)


@given(st.text(alphabet="@attribute data'\"\\{},?%1\n ", max_size=60))
def test_no_text_is_more_than_refused(text):
    try:
        found = read("@relation r\n@attribute a real\n" + text)
    except DataError:
        return
    assert all(len(column.values) == len(found.labels) for column in found.columns)
