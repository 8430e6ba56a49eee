"""Files of answers and rows: valid ones are read as written; any other is one clear error."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wm.errors import ClaimError
from wm.verification.answer_files import parse_answers, read_file, read_rows

votes_tables = st.tuples(st.integers(1, 6), st.integers(1, 6)).flatmap(
    lambda shape: st.lists(
        st.lists(st.integers(0, 1), min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    )
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("votes")


def read_answers(path, kind, **options):
    """Return the answers in a file."""
    return parse_answers(read_file(path), kind, what=str(path), **options)


def read_votes(path):
    """Return the votes in a file."""
    answers = read_answers(path, "votes")
    assert answers.kind == "votes"
    return answers.values


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refusal(path):
    """Return the one line with which a file is refused."""
    with pytest.raises(ClaimError) as refused:
        read_votes(path)
    text = str(refused.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    return text


def check_outcome(path):
    """Check that a file is read as votes, or refused with one line."""
    try:
        votes = read_votes(path)
    except ClaimError:
        refusal(path)
    else:
        assert votes.ndim == 2
        assert votes.size
        assert np.isin(votes, (0, 1)).all()


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


@given(
    votes=votes_tables,
    header=st.booleans(),
    line_end=st.sampled_from(["\n", "\r\n"]),
    mark=st.booleans(),
    last=st.booleans(),
)
def test_csv_round_trip(folder, votes, header, line_end, mark, last):
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator=line_end)
    if header:
        writer.writerow([f"tree {number}" for number in range(len(votes[0]))])
    writer.writerows(votes)
    text = buffer.getvalue() if last else buffer.getvalue().removesuffix(line_end)
    path = write(folder, "votes.csv", text.encode("utf-8-sig" if mark else "utf-8"))
    read = read_votes(path)
    assert read.dtype == np.int64
    assert read.tolist() == votes


@given(votes=votes_tables, kind=st.sampled_from(["int64", "uint8", "int8", "float32", "float64", "bool"]))
def test_npz_round_trip(folder, votes, kind):
    path = write(folder, "votes.npz", npz(votes=np.array(votes).astype(kind), other=np.arange(3)))
    read = read_votes(path)
    assert read.dtype == np.int64
    assert read.tolist() == votes


@pytest.mark.parametrize(
    "text",
    [
        "0,1\n1,1\n",
        "a,b\n0,1\n1,1\n",
        "0.0,1.0\n1.0,1.0",
        " 0, 1\n1 ,1\n\n\n",
        '"0","1"\n"1","1"',
        "\n\na,b\n0,1\n1,1",
    ],
)
def test_ways_to_write_the_same_votes(folder, text):
    assert read_votes(write(folder, "same.csv", text)).tolist() == [[0, 1], [1, 1]]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "holds no votes"),
        ("\n\n", "holds no votes"),
        ("a,b\n", "holds no votes"),
        ("0,1\n1\n", "line 2 has 1 values, the first row has 2 columns"),
        ("a,b\n0,1\n\n1,0,1\n", "line 4 has 3 values, the first row has 2 columns"),
        ("0,1\n\n\n0,2\n", "line 4: '2' is not a vote"),
        ("0,-1\n", "line 1: '-1' is not a vote"),
        ("0,0.5\n", "line 1: '0.5' is not a vote"),
        ("0,nan\n", "line 1: 'nan' is not a vote"),
        ("0,inf\n", "line 1: 'inf' is not a vote"),
        ("0,1\n0,\n", "line 2: '' is not a vote"),
        ("0,1\ncat,dog\n", "line 2: 'cat' is not a vote"),
        ("0,1\na,b\n", "line 2: 'a' is not a vote"),
        ("0,1\n0,0_1\n", "line 2: '0_1' is not a vote"),
        ('0,1\n0,"1\n', "line 2: malformed csv"),
        (b"0,1\n0,\xff\n", "is not UTF-8 text (byte 6)"),
        ("tree,1\n0,1\n", "line 1: 'tree' is not a vote"),  # half a header is a mistake, not a header
        (
            "0,1,2\n0,1,0\n",
            "line 1: '2' is not a vote",
        ),  # a header of numbers cannot be distinguished from votes
    ],
)
def test_other_csv_is_refused(folder, text, reason):
    assert reason in refusal(write(folder, "other.csv", text))


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({}, "no array 'votes', only: nothing"),
        ({"answers": np.eye(2)}, "no array 'votes', only: 'answers'"),
        ({"a\nb": np.eye(2)}, r"no array 'votes', only: 'a\nb'"),
        ({"votes": np.zeros(3)}, "must be a"),
        ({"votes": np.zeros((2, 2, 2))}, "must be a"),
        ({"votes": np.array(1)}, "must be a"),
        ({"votes": np.full((2, 2), 2)}, "must be a"),
        ({"votes": np.full((2, 2), 0.5)}, "must be a"),
        ({"votes": np.full((2, 2), np.nan)}, "must be a"),
        ({"votes": np.full((2, 2), "0")}, "must be a"),
        ({"votes": np.full((2, 2), 1j)}, "must be a"),
        ({"votes": np.zeros((0, 4))}, "holds no votes"),
        ({"votes": np.zeros((4, 0))}, "holds no votes"),
        ({"votes": np.array([[None]], dtype=object)}, "never unpickled"),
    ],
)
def test_other_npz_is_refused(folder, arrays, reason):
    assert reason in refusal(write(folder, "other.npz", npz(**arrays)))


@pytest.mark.parametrize("name", ["votes.txt", "votes", "votes.npy", "votes.CSV.gz"])
def test_another_ending_is_refused(folder, name):
    assert "ends in .csv or .npz" in refusal(write(folder, name, "0,1\n"))


@pytest.mark.parametrize("name", ["missing.csv", "missing.npz"])
def test_a_missing_file_is_refused(folder, name):
    assert "cannot be read (No such file or directory)" in refusal(folder / name)


def test_a_folder_is_refused(folder):
    path = folder / "folder.csv"
    path.mkdir()
    assert "cannot be read" in refusal(path)


@pytest.mark.parametrize("name", ["garbage.csv", "garbage.npz"])
@given(content=st.one_of(st.binary(max_size=80), st.text("01,\n\r\"' ab.\x00", max_size=30).map(str.encode)))
def test_arbitrary_bytes_are_votes_or_one_clear_error(folder, name, content):
    check_outcome(write(folder, name, content))


@given(position=st.integers(0, 10**6), value=st.integers(0, 255))
def test_a_damaged_npz_is_votes_or_one_clear_error(folder, position, value):
    content = bytearray(npz(votes=np.eye(3, dtype=np.int8)))
    content[position % len(content)] = value
    check_outcome(write(folder, "damaged.npz", bytes(content)))


# --- probabilities and labels


@pytest.mark.parametrize("header", [True, False])
@given(shares=st.lists(st.floats(0, 1), min_size=1, max_size=5), two=st.booleans())
def test_probabilities_of_one_class_or_of_both(folder, header, shares, two):
    lines = [f"{1 - share!r},{share!r}" if two else repr(share) for share in shares]
    text = "\n".join([*(["no,yes" if two else "yes"] if header else []), *lines])
    read = read_answers(write(folder, "probabilities.csv", text), "probabilities")
    assert (read.kind, read.values.tolist()) == ("probabilities", shares)
    array = np.array([[1 - share, share] for share in shares]) if two else np.array(shares)
    path = write(folder, "probabilities.npz", npz(probabilities=array))
    assert read_answers(path, "probabilities").values.tolist() == shares


@pytest.mark.parametrize(
    ("text", "names", "codes"),
    [
        ("0\n1\n1", ("a", "b"), [0, 1, 1]),
        ("a\nb\nb", ("a", "b"), [0, 1, 1]),
        ("label\nb\n a ", ("a", "b"), [1, 0]),
        ("y\n2\n6", ("2", "6"), [0, 1]),
        ("0\n1\n1", ("1", "0"), [1, 0, 0]),  # a name counts before a code
        ("y\nn\ny", ("n", "y"), [1, 0, 1]),  # a name counts before a header
        ("a\nb\nc", ("not c", "c"), [0, 0, 1]),
        ("0\n1", ("not c", "c"), [0, 1]),
        ("0\n1\n2", ("not 0", "0"), [1, 0, 0]),
    ],
)
def test_labels_by_code_or_by_name(folder, text, names, codes):
    read = read_answers(write(folder, "labels.csv", text), "labels", class_names=names)
    assert (read.kind, read.values.tolist()) == ("labels", codes)


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        ("probabilities", "0.5\n1.5", "outside [0, 1]"),
        ("probabilities", "0.5\n-0.1", "outside [0, 1]"),
        ("probabilities", "0.5\nnan", "'nan' is not a finite number"),
        ("probabilities", "0.5\n1_0", "'1_0' is not a finite number"),
        ("probabilities", "0.5,0.6", "do not add up to 1"),
        ("probabilities", "0.2,0.3,0.5", "one number (of class 1) or two"),
        ("probabilities", "share\n", "holds no probabilities"),
        ("labels", "a\nc", "labels must be 0 and 1, or 'a' and 'b'"),
        ("labels", "a,b", "labels must be 0 and 1"),
        ("labels", "0\n2", "labels must be 0 and 1"),
        ("labels", "class", "holds no labels"),
    ],
)
def test_other_answers_are_refused(folder, kind, text, reason):
    path = write(folder, "answers.csv", text)
    with pytest.raises(ClaimError) as refused:
        read_answers(path, kind, class_names=("a", "b"))
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("kind", ["probabilities", "labels"])
@pytest.mark.parametrize("array", [np.array(1.0), np.ones((2, 3)), np.ones((2, 1, 1))])
def test_arrays_of_another_shape_are_refused(folder, kind, array):
    with pytest.raises(ClaimError, match=f"{kind} must be"):
        read_answers(write(folder, "answers.npz", npz(**{kind: array})), kind)


# --- rows


@given(
    rows=st.lists(
        st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3)
    )
)
def test_rows_round_trip(folder, rows):
    matrix = np.array(rows, dtype=np.float32).reshape(-1, 3)
    text = "a,b,c\n" + "\n".join(",".join(f"{value:.9g}" for value in row) for row in matrix.tolist())
    for path in (write(folder, "rows.csv", text), write(folder, "rows.npz", npz(X=matrix))):
        if rows:
            np.testing.assert_array_equal(read_rows(path), matrix)
        else:
            with pytest.raises(ClaimError):
                read_rows(path)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("rows.csv", b"1,2\n3,x", "line 2: 'x' is not a finite number"),
        ("rows.csv", b"1,2\n3,inf", "not a finite number"),
        ("rows.csv", b"1,2\n3,1e39", "not finite in float32"),
        ("rows.csv", b"", "must be an (instances, features) array"),
        ("rows.npz", npz(y=np.zeros(3)), "has no array 'X', only: 'y'"),
        ("rows.npz", npz(X=np.zeros(3)), "must be an (instances, features) array"),
        ("rows.npz", npz(X=np.full((1, 1), np.nan)), "not finite in float32"),
        ("rows.txt", b"1,2", "ends in .csv or .npz"),
    ],
)
def test_other_rows_are_refused(folder, name, content, reason):
    with pytest.raises(ClaimError) as refused:
        read_rows(write(folder, name, content))
    assert reason in str(refused.value)


def test_an_endless_file_is_not_read_to_its_end(monkeypatch, tmp_path):
    monkeypatch.setattr("wm.verification.answer_files.MAX_ANSWER_BYTES", 1000)
    (tmp_path / "votes.csv").symlink_to("/dev/zero")
    with pytest.raises(ClaimError, match="larger than the 1000 bytes"):
        read_answers(tmp_path / "votes.csv", "votes")


# --- numbers of questions, and columns that are no answers


@given(votes_tables, st.randoms(use_true_random=False))
def test_a_column_of_numbers_says_what_is_answered(votes, random):
    places = list(range(len(votes)))
    random.shuffle(places)
    lines = [f"{place + 1}," + ",".join(map(str, votes[place])) for place in places]
    header = "ID," + ",".join(f"tree {number}" for number in range(len(votes[0])))
    found = parse_answers("\n".join([header, *lines]).encode(), "votes", what="votes.csv")
    assert found.ids.tolist() == [place + 1 for place in places]
    np.testing.assert_array_equal(found.values, np.array(votes)[places])
    packed = npz(votes=np.array(votes)[places], id=np.array(places) + 1)
    again = parse_answers(packed, "votes", what="votes.npz")
    np.testing.assert_array_equal(again.ids, found.ids)
    np.testing.assert_array_equal(again.values, found.values)


def test_features_that_a_header_names_are_passed_over():
    content = b"age,id,color,prediction\n7.5,2,red,yes\n8,1,blue,no\n"
    options = {"class_names": ("no", "yes"), "what": "labels.csv"}
    found = parse_answers(content, "labels", feature_names=("age", "color"), **options)
    assert (found.values.tolist(), found.ids.tolist()) == ([1, 0], [2, 1])
    # A feature may have the name of the numbers.
    found = parse_answers(content, "labels", feature_names=("age", "color", "id"), **options)
    assert (found.values.tolist(), found.ids) == ([1, 0], None)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"id,label\nx,yes", "line 2: 'x' is not the number of a question"),
        (b"id,label\n-1,yes", "is not the number"),
        (b"id,label\n1.0,yes", "is not the number"),
        (b"id\n1\n2", "names no column of answers"),
        (b"id,age\n1,7", "names no column of answers"),
        (b"id,label\n", "holds no labels"),
    ],
)
def test_other_numbers_are_refused(content, word):
    with pytest.raises(ClaimError, match=word):
        parse_answers(content, "labels", class_names=("no", "yes"), feature_names=["age"], what="a.csv")


@pytest.mark.parametrize("ids", [[1.0, 2.0], [1], [[1, 2]], ["1", "2"], [True, False]])
def test_numbers_of_other_types_are_refused(ids):
    with pytest.raises(ClaimError, match="one whole number for each of the 2 answers"):
        parse_answers(npz(labels=[0, 1], id=ids), "labels", what="a.npz")


@pytest.mark.parametrize(
    ("kind", "names", "header", "rows"),
    [
        ("probabilities", ("0", "1"), "0,1", ["0.25,0.75", "1.0,0.0"]),
        ("probabilities", ("no", "yes"), "0,1", ["0.25,0.75", "1.0,0.0"]),
        ("probabilities", ("5", "6"), "5,6", ["0.25,0.75", "1.0,0.0"]),
        ("probabilities", ("0", "1"), "1", ["0.75", "0.0"]),
        ("probabilities", ("0", "1"), "0", ["0.75", "0.0"]),
        ("probabilities", ("a", "b", "c"), "0,1,2", ["0.25,0.75,0", "1,0,0"]),
        ("labels", ("0", "1"), "0", ["1", "0"]),
        ("votes", ("0", "1"), "0,1", ["1,1", "0,1"]),
    ],
)
def test_a_first_line_of_numbers_is_a_header_if_it_is_one_line_too_many(kind, names, header, rows):
    """As pandas writes a frame with numbered columns; the same line is an answer where it makes the count."""
    text = "\n".join([header, *rows]).encode()
    found = parse_answers(text, kind, class_names=names, rows=2, what="a.csv")
    assert found.header == header
    expected = parse_answers("\n".join(rows).encode(), kind, class_names=names, rows=2, what="a.csv")
    assert expected.header == ""
    np.testing.assert_array_equal(found.values, expected.values)
    for count in (1, 4):
        with pytest.raises(ClaimError) as refused:
            parse_answers(text, kind, class_names=names, rows=count, what="a.csv")
        assert str(refused.value) == (
            f"a.csv: {count} rows were asked, the file has 3 answers, or 2 if its first line, {header}, is a "
            "header"
        )


def test_a_first_line_of_numbers_is_an_answer_where_the_number_of_lines_fits():
    found = parse_answers(b"0,1\n0.5,0.5", "probabilities", rows=2, what="a.csv")
    assert (found.header, found.values.tolist()) == ("", [1.0, 0.5])
    # With 0.0 it is no header of pandas, and without a count nothing is known.
    assert len(parse_answers(b"0.0,1.0\n0.5,0.5", "probabilities", rows=1, what="a.csv")) == 2
    assert len(parse_answers(b"0,1\n0.5,0.5", "probabilities", what="a.csv")) == 2


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("high,low,mid\n.2,.5,.3\n", ("low", "mid", "high"), [[0.5, 0.3, 0.2]]),
        ("low,mid,high\n.5,.3,.2\n", ("low", "mid", "high"), [[0.5, 0.3, 0.2]]),
        ("a,b,c\n.5,.3,.2\n", ("low", "mid", "high"), [[0.5, 0.3, 0.2]]),
        ("id,paid,default\n0,.75,.25\n", ("default", "paid"), [0.75]),
        ("paid\n.75\n", ("default", "paid"), [0.75]),
        ("default\n.25\n", ("default", "paid"), [0.75]),
        ("p\n.75\n", ("default", "paid"), [0.75]),
        ("1,0\n.75,.25\n", ("0", "1"), [0.75]),
        ("0\n.25\n", ("0", "1"), [0.25]),
        ("default;paid\n0,25;0,75\n", ("default", "paid"), [0.75]),
        ("0,25;0,75\n", ("default", "paid"), [0.75]),
    ],
)
def test_a_header_of_class_names_says_which_probability_is_whose(text, names, expected):
    found = parse_answers(text.encode(), "probabilities", class_names=names, rows=1, what="p.csv")
    assert np.allclose(found.values, expected)


def test_an_index_of_pandas_is_named():
    for kind, text in (("labels", ",0\n0,1\n1,0\n"), ("votes", ",a,b\n0,1,0\n")):
        with pytest.raises(ClaimError, match=r"first column has no name, as pandas writes an index"):
            parse_answers(text.encode(), kind, what="a.csv")
