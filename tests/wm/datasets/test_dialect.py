"""Tables of any dialect give the rows that were written."""

from __future__ import annotations

import contextlib
import csv
import io

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.tables import parse_csv
from wm.datasets.dialect import SEPARATORS, decoded, records, separator, sniffed
from wm.datasets.preparing import Preparing
from wm.errors import DataError

NAMES = ("age", "größe", "sex", "y")
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252")


@st.composite
def tables(draw):
    """Draw rows of two numbers, a word and a label."""
    numbers = st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: round(value, 3))
    words = st.sampled_from(["red", "two words", "don't", "né", "a,b;c|d", "7 up"])
    row = st.tuples(numbers, numbers, words, st.sampled_from(["no", "yes"]))
    return draw(st.lists(row, min_size=8, max_size=20))


def written(rows, *, sep, comma, header, blank=0, comments=0, trailing=False):
    """Return a table as text."""
    out = io.StringIO()
    out.write("# made for a test, by hand\n" * comments)
    writer = csv.writer(out, delimiter=sep, quoting=csv.QUOTE_MINIMAL, lineterminator="\n")
    if sep == " ":  # what other separators leave open
        writer = csv.writer(out, delimiter=sep, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    more = [""] if trailing else []
    if header:
        writer.writerow([*NAMES, *more])
    for row in rows:
        cells = [f"{value:.3f}".replace(".", "," if comma else ".") for value in row[:2]]
        writer.writerow([*cells, *row[2:], *more])
        out.write("\n" * blank)
    return out.getvalue()


@given(
    rows=tables(),
    name=st.sampled_from(list(SEPARATORS)),
    comma=st.booleans(),
    header=st.booleans(),
    told=st.booleans(),
    encoding=st.sampled_from(ENCODINGS),
    blank=st.integers(0, 2),
    comments=st.integers(0, 2),
    trailing=st.booleans(),
)
def test_what_is_written_in_any_dialect_is_read(
    rows, name, comma, header, told, encoding, blank, comments, trailing
):
    sep = SEPARATORS[name]
    assume(not (comma and sep == ","))
    assume(not (trailing and sep == " "))  # spaces at the end of a line are no cell
    text = written(
        rows, sep=sep, comma=comma, header=header, blank=blank, comments=comments, trailing=trailing
    )
    content = text.encode(encoding)
    known = {"sep": name} if told or len({row[2] for row in rows}) < 3 else {}
    table = parse_csv(
        content,
        where="w",
        label="y" if header else 3,
        header=None if header else False,
        preparing=Preparing(categorical="ordinal"),
        **known,
    )
    wanted = np.array([row[:2] for row in rows])
    assert np.array_equal(table.X[:, :2], wanted)
    assert [table.labels.classes[code] for code in table.labels.codes] == [row[3] for row in rows]
    places = sorted({row[2] for row in rows})
    assert table.X[:, 2].tolist() == [places.index(row[2]) for row in rows]
    assert table.feature_names == (NAMES[:3] if header else ("column_0", "column_1", "column_2"))


@given(st.binary(max_size=60) | st.text('#1a,;|\t\n"_ -.?', max_size=40).map(str.encode))
def test_any_bytes_give_rows_or_a_data_error(content):
    with contextlib.suppress(DataError):
        text, _ = decoded(content, "w")
        dialect = sniffed(text, sep=None, label=-1)
        for line, cells in records(text, dialect, "w"):
            assert line > 0
            assert any(cells)


@pytest.mark.parametrize(
    ("text", "sep"),
    [
        ("a,b,y\n1,2,0\n", ","),
        ("a;b;y\n1,5;2,5;0\n3,5;4,5;1\n", ";"),
        ("1,5;2,5;0\n3,5;4,5;1\n", ";"),
        ("1, 2, 3\n4, 5, 6\n", ","),
        ("39, Self emp, 13\n40, Not at all, 12\n", ","),
        ("a\tb\ty\n1\t2\t0\n", "\t"),
        ("A11 6 A34  A43 1\nA12 48 A32 A43 2\n", " "),
        ("18.0   8   307.0\t1\n15.0   8   350.0\t2\n", " "),
        ("1|2|0\n", "|"),
        ("2020-01-01 10:00,5,6\n2020-01-02 10:00,5,6\n", ","),
        ("y\n1\n2\n", ","),
        ("3 4,0\n1 2,1\n", ","),
        ("3 4,true,false\n1 2,true,true\n", ","),
        ("1,5 2,5 0\n3,5 4,5 1\n", " "),
        ("#1,#2\n#3,#4\n", ","),
    ],
)
def test_the_separator_is_found(text, sep):
    assert sniffed(text, sep=None, label=None).sep == sep


@pytest.mark.parametrize(
    ("name", "sep"), [("\t", "\t"), ("\\t", "\t"), ("tab", "\t"), (" ", " "), (";", ";")]
)
def test_a_separator_has_several_names(name, sep):
    assert separator(name) == sep


def test_an_unknown_separator_is_refused():
    with pytest.raises(DataError, match="unknown separator ':': known are , ; tab"):
        separator(":")


def test_a_number_sign_may_be_a_name():
    text = "#,name,y\n1,2,0\n#,comment\n# a comment\n2,3,1\n"
    rows = [cells for _, cells in records(text, sniffed(text, sep=None, label="y"), "w")]
    assert rows == [["#", "name", "y"], ["1", "2", "0"], ["2", "3", "1"]]


def test_lines_keep_their_numbers():
    text = '# one\n\na,y\n"1\n2",0\n# five\n3,1\n'
    assert [line for line, _ in records(text, sniffed(text, sep=None, label="y"), "w")] == [3, 5, 7]


@pytest.mark.parametrize("content", [b"PK\x03\x04\x00\x00", "1,2".encode("utf-16-le"), b"\xff\xfe\x31"])
def test_bytes_that_are_no_text_are_refused(content):
    with pytest.raises(DataError, match=r"is no text|damaged UTF-16"):
        decoded(content, "w")


def numbers(text, sep=";"):
    table = parse_csv(text.encode(), where="w", label="y", header=True, sep=sep)
    return table.X[:, 0].tolist()


def test_decimal_commas():
    assert numbers("a;b;y\n1,234;1;0\n-2,5;1;1\n3;1;1\n") == [1.234, -2.5, 3]
    assert numbers("a;b;y\n1,5;1;0\n2e1;1;1\n") == [1.5, 20]
    with pytest.raises(DataError, match="column 'a': "):
        numbers("a;b;y\n1,5;1;0\n2.5;1;1\n")
    with pytest.raises(DataError, match="column 'a': numbers with commas"):
        numbers("a;b;y\n1,500;1.5;0\n2,500;1.5;1\n")
    with pytest.raises(DataError, match="column 'a': "):
        numbers("a;b;y\n1,500.5;1.5;0\n2,500.5;1.5;1\n")


def test_commas_in_quotes_are_decimal_commas():
    assert numbers('a,b,y\n"1,5",1,0\n"2,25",1,1\n', sep=None) == [1.5, 2.25]
    with pytest.raises(DataError, match="column 'b': infinite"):
        numbers("a;b;y\n1,5;inf;0\n2;1;1\n")


def test_a_change_of_the_decimal_sign_far_below_is_refused(monkeypatch):
    monkeypatch.setattr("wm.datasets.csv_file._CHUNK_ROWS", 3)
    with pytest.raises(DataError, match="column 'a': decimal commas and decimal points"):
        numbers("a;b;y\n" + "1,25;1;0\n" * 4 + "1.25;1;1\n" * 4)
    assert numbers("a;b;y\n" + "1,25;1;0\n" * 4 + "7;1;1\n" * 4) == [1.25] * 4 + [7] * 4
