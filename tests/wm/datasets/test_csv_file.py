import contextlib
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.tables import parse_csv
from wm.datasets import Source, load
from wm.errors import DataError


def parse(text, *, label=-1, header=None):
    return parse_csv(text.encode(), where="rows.csv", label=label, header=header)


@given(
    X=arrays(
        np.float64,
        st.tuples(st.integers(1, 8), st.integers(1, 4)),
        elements=st.floats(width=64).filter(np.isfinite),
    ),
    header=st.booleans(),
    label_position=st.integers(0, 4),
)
def test_every_float_is_read_to_the_last_bit(X, header, label_position):
    n, d = X.shape
    position = min(label_position, d)
    rows = [[repr(float(value)) for value in row] for row in X]
    for row, name in zip(rows, "ab" * n, strict=False):
        row.insert(position, name)
    names = [f"f{index}" for index in range(d)]
    names.insert(position, "class")
    lines = [",".join(row) for row in ([names] if header else []) + rows]
    table = parse("\n".join(lines), label="class" if header else position)
    assert np.array_equal(table.X, X)
    assert [table.labels.classes[code] for code in table.labels.codes] == [*("ab" * n)][:n]
    if header:
        assert table.feature_names == tuple(name for name in names if name != "class")


@pytest.mark.parametrize(
    ("text", "label", "header", "features"),
    [
        ("a,b,y\n1,2,0\n3,4,1\n", "y", None, ("a", "b")),
        ("a,b,y\n1,2,0\n3,4,1\n", -1, None, ("a", "b")),
        ("y,a,b\n0,1,2\n1,3,4\n", 0, None, ("a", "b")),
        ("1,2,cat\n3,4,dog\n", -1, None, ("column_0", "column_1")),
        ("1,2,cat\n3,4,dog\n", 2, None, ("column_0", "column_1")),
        ("0,1,y\n1,2,cat\n3,4,dog\n", "y", None, ("0", "1")),
        ("0,1,2\n1,2,cat\n3,4,dog\n", -1, True, ("0", "1")),
        ("1,2,0\n3,4,1\n", 1, False, ("column_0", "column_2")),
        ('\ufeff"a, b",c,y\r\n1,2,0\r\n\r\n3,4,1\r\n', "y", None, ("a, b", "c")),
        ("\n\na , b, y\n1, 2, 0\n3, 4, 1", "y", None, ("a", "b")),
    ],
)
def test_header_and_label_are_found(text, label, header, features):
    table = parse(text, label=label, header=header)
    assert table.feature_names == features
    assert table.X.shape == (2, 2)
    assert table.labels.codes.tolist() == [0, 1]


def test_true_and_false_are_one_and_zero():
    assert parse("a,y\nTrue,0\nFalse,1\n").X[:, 0].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("text", "label", "header", "message"),
    [
        ("a,b\n1,2\n", None, None, "say which column is the label with label =; its 2 columns are 'a', 'b'"),
        ("a,b\n1,2\n", "y", None, "no column 'y' for the label; its 2 columns are 'a', 'b'"),
        ("1,2\n1,2\n", "y", False, "no column 'y' for the label; its 2 columns are 'column_0', 'column_1'"),
        ("a,b\n1,2\n", 2, None, "no column number 2 for the label"),
        ("a,b\n1,2\n", -3, None, "no column number -3 for the label"),
        ("a,b,a\n1,2,3\n", "b", None, "the header names 'a' more than once"),
        (
            "1,?,0\n2,3,1\n",
            -1,
            None,
            "column 'column_1': missing or NaN ('?') in 1 of 2 rows, first in line 1",
        ),
        (
            "1,x,0\ny,3,1\n",
            -1,
            None,
            "is the first row ('1', 'x', '0') names or values? Say which with header =",
        ),
        (
            "a,b,y\n1,2,0\n3,red,1\n",
            "y",
            None,
            "column 'b': text of 2 values ('red') in 1 of 2 rows, first in line 3",
        ),
        ("a,y\n1,0\nNA,1\n", "y", None, "column 'a': missing or NaN ('NA') in 1 of 2 rows, first in line 3"),
        ("a,y\n1,0\n2,\n", "y", None, "row 2: the label is missing"),
        ("a,b,y\n1,2,0\n1,2,3,4\n", "y", None, "line 3 has 4 values, the first row has 3 columns"),
        ("a,b,c,y\n1,2,0\n1,2,0\n", "y", None, "line 2 has 3 values, the first row has 4 columns"),
        ("a,y\n", "y", None, "there are no rows below the header"),
        ("\n\n", "y", None, "the file is empty"),
        ('a,y\n"1,0\n', "y", None, "line 2: malformed csv"),
        (
            'a,b,y\n"1\n2",2,0\n',
            "y",
            None,
            "column 'a': constant text ('1\\n2') in 1 of 1 rows, first in line 3",
        ),
        ("a,y\n12_5,0\n", "y", None, "column 'a': constant text ('12_5') in 1 of 1 rows, first in line 2"),
    ],
)
def test_bad_text_is_refused_in_one_line(text, label, header, message):
    with pytest.raises(DataError, match=re.escape(f"rows.csv: {message}")) as caught:
        parse(text, label=label, header=header)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("cell", "kind"),
    [("", "missing or NaN"), ("nan", "missing or NaN"), ("inf", "infinite"), ("1e999", "infinite")],
)
def test_values_that_are_not_finite_are_refused_with_row_and_column(tmp_path, cell, kind):
    path = tmp_path / "rows.csv"
    path.write_text(f"a,b,y\n1,2,0\n3,4,1\n5,{cell},1\n")
    with pytest.raises(DataError, match=rf"rows.csv: column 'b': {kind}.* in 1 of 3 rows, first in line 4"):
        load(Source(path=path, label="y"))


@pytest.mark.parametrize(
    ("byte", "character", "encoding"),
    [(b"\xfc", "ü", "Windows-1252"), (b"\x80", "€", "Windows-1252"), (b"\x81", "\x81", "Latin-1")],
)
def test_text_that_is_not_utf8_is_of_windows_and_that_is_said(byte, character, encoding):
    table = parse_csv(b"a,y\n1," + byte + b"\n2,b\n", where="w", label="y")
    assert table.labels.classes == ("b", character)
    assert table.notes == (f"w: is not UTF-8 text (byte 6): read as {encoding}",)


@given(st.binary(max_size=60) | st.text('1a,\n"_ -.', max_size=30).map(str.encode))
def test_any_bytes_give_a_table_or_a_data_error(content):
    with contextlib.suppress(DataError):
        table = parse_csv(content, where="w", label=-1, header=None)
        assert len(table.X) == len(table.labels.codes) > 0
