import bz2
import contextlib
import gzip
import io
import re
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import dump_svmlight_file

from wm.datasets import Source, load
from wm.datasets.files import parse_svmlight, read_bytes
from wm.errors import DataError

X = np.array([[0.5, 0.0], [1.5, -2.0], [0.0, 3.25]])
Y = np.array([-1, 1, 1])
SVMLIGHT = b"-1 1:0.5\n+1 1:1.5 2:-2\n1 2:3.25\n"


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8, np.bool_])
def test_npz_of_any_numbers(tmp_path, dtype):
    path = tmp_path / "rows.npz"
    rows = np.array([[0, 1], [1, 1], [1, 0]], dtype=dtype)
    np.savez_compressed(path, X=rows, y=np.array(["b", "a", "b"]))
    dataset = load(Source(path=path))
    assert dataset.name == "rows.npz"
    assert dataset.X.dtype == np.float64
    assert np.array_equal(dataset.X, rows)
    assert dataset.y.tolist() == [1, 0, 1]
    assert dataset.class_names == ("a", "b")
    assert dataset.feature_names == ("column_0", "column_1")
    assert dataset.test_mask is None


def test_npz_label_array_by_name(tmp_path):
    path = tmp_path / "rows.npz"
    np.savez(path, X=X, target=[0, 1, 2])
    assert load(Source(path=path, label="target", positive="2")).y.tolist() == [0, 0, 1]
    with pytest.raises(DataError, match=re.escape("rows.npz: no array 'y': its arrays are 'X', 'target'")):
        load(Source(path=path))


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ({"X": X, "y": np.array([0, 1, None])}, "array 'y'.*Python objects"),
        ({"X": X[0], "y": Y}, r"array 'X' is float64 of shape \(2,\)"),
        ({"X": X.astype(str), "y": Y}, "array 'X' is <U"),
        ({"X": X, "y": Y[:2]}, r"array 'y' has shape \(2,\)"),
        ({"X": X[:, :0], "y": Y}, "there is no feature"),
        ({"X": X[:1], "y": Y[:1]}, "1 rows are too few"),
        ({"X": X[:0], "y": Y[:0]}, "0 rows are too few"),
        ({"X": X, "y": [1, 1, 1]}, "all rows have the same label '1'"),
        (
            {"X": np.where(X == 3.25, np.nan, X), "y": Y},
            r"column 'column_1': missing or NaN \('nan'\) in 1 of 3 rows, first in row 3",
        ),
        (
            {"X": np.where(X == 1.5, -np.inf, X), "y": Y},
            "column 'column_0': infinite in 1 of 3 rows, first in row 2",
        ),
    ],
)
def test_npz_without_labelled_rows_is_refused(tmp_path, contents, message):
    path = tmp_path / "rows.npz"
    np.savez(path, **contents)
    with pytest.raises(DataError, match=rf"rows\.npz: {message}"):
        load(Source(path=path))


def test_npz_with_any_damaged_byte_is_refused(tmp_path):
    path = tmp_path / "rows.npz"
    np.savez_compressed(path, X=X, y=Y)
    whole = path.read_bytes()
    original = load(Source(path=path)).sha256
    for position in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[position] ^= 0xFF
        path.write_bytes(damaged)
        with contextlib.suppress(DataError):
            # Some bytes of a zip (dates, attributes) carry no content.
            assert load(Source(path=path)).sha256 == original
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"rows\.npz: not a readable npz file"):
        load(Source(path=path))


@pytest.mark.parametrize("name", ["rows.csv", "rows.npz", "rows.svm", "rows.txt"])
@pytest.mark.parametrize("content", [b"", b" \n\n"])
def test_an_empty_file_is_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=f"{name}: the file is empty"):
        load(Source(path=tmp_path / name, label=-1 if name == "rows.csv" else None))


@pytest.mark.parametrize(
    ("name", "packed"),
    [("r.svm", bytes), ("r.txt", bytes), ("r.libsvm.bz2", bz2.compress), ("r.svmlight.GZ", gzip.compress)],
)
def test_svmlight_plain_and_compressed(tmp_path, name, packed):
    (tmp_path / name).write_bytes(packed(SVMLIGHT))
    dataset = load(Source(path=tmp_path / name))
    assert np.array_equal(dataset.X, X)
    assert dataset.y.tolist() == [0, 1, 1]
    assert dataset.class_names == ("-1", "1")
    assert dataset.feature_names == ("feature_1", "feature_2")


def test_compressed_csv_is_the_same_set(tmp_path):
    text = b"a,b,y\n1,2,0\n3,4,1\n"
    (tmp_path / "rows.csv").write_bytes(text)
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(text))
    plain = load(Source(path=tmp_path / "rows.csv", label="y"))
    assert load(Source(path=tmp_path / "rows.csv.gz", label="y")).sha256 == plain.sha256


@given(arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.floats(-1e6, 1e6)))
def test_svmlight_written_by_scikit_learn_is_read(rows):
    stream = io.BytesIO()
    dump_svmlight_file(rows, np.arange(len(rows)), stream, zero_based=False)
    table = parse_svmlight(stream.getvalue(), where="w", n_features=rows.shape[1])
    np.testing.assert_allclose(table.X, rows, rtol=1e-14)
    assert table.labels.codes.tolist() == list(range(len(rows)))


@pytest.mark.parametrize(
    "content",
    [b"1 a:b\n", b"one 1:2\n", b"1,2 1:2\n", b"1 2:1 1:1\n", b"1 -1:1\n", b"1 1:x\n", b"\xff\xfe\n"],
)
def test_malformed_svmlight_is_refused(content):
    with pytest.raises(DataError, match="w: malformed svmlight text") as caught:
        parse_svmlight(content, where="w")
    assert "\n" not in str(caught.value)


def test_svmlight_with_more_columns_than_expected_is_refused():
    with pytest.raises(DataError, match="malformed svmlight text"):
        parse_svmlight(SVMLIGHT, where="w", n_features=1)


def test_svmlight_that_would_fill_the_memory_is_refused():
    with pytest.raises(DataError, match="2 rows of 2000000000 features"):
        parse_svmlight(b"0 1:1\n1 2000000000:1\n", where="w")


def test_a_comment_alone_is_no_data(tmp_path):
    (tmp_path / "rows.svm").write_bytes(b"# nothing\n")
    with pytest.raises(DataError, match=r"rows\.svm: "):
        load(Source(path=tmp_path / "rows.svm"))


@pytest.mark.parametrize(("name", "packed"), [("r.svm.gz", gzip.compress), ("r.svm.bz2", bz2.compress)])
def test_damaged_compressed_text_is_refused(tmp_path, name, packed):
    path = tmp_path / name
    path.write_bytes(packed(SVMLIGHT)[:-6])
    with pytest.raises(DataError, match=f"{name}: damaged compressed file"):
        load(Source(path=path))
    path.write_bytes(b"no such thing")
    with pytest.raises(DataError, match=name):
        load(Source(path=path))


def test_text_that_unpacks_to_more_than_allowed_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("wm.datasets.files.MAX_DENSE_BYTES", 9_999)
    path = tmp_path / "zeros.svm.gz"
    path.write_bytes(gzip.compress(bytes(10_000)))
    with pytest.raises(DataError, match=r"zeros\.svm\.gz: holds more than 9999 bytes"):
        read_bytes(path)


def test_a_file_that_may_not_be_read_is_named(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_bytes(tmp_path)


def test_a_zip_with_something_else_inside_is_refused(tmp_path):
    path = tmp_path / "rows.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", b"not an array")
    with pytest.raises(DataError, match=r"rows\.npz: "):
        load(Source(path=path))
