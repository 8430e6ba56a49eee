import hashlib
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

from wm.datasets import Source, load
from wm.datasets.mnist import read_mnist26
from wm.errors import DataError
from wm.formats.npz import content_hash

NUMBER, WORD = "numeric", "nominal"


def serve(server, *, data_id, name, columns, rows, target):
    """Answer as OpenML does for one set: `columns` are (name, type), `rows` lists of text."""
    header = [f"@RELATION {name}"]
    for position, (column, kind) in enumerate(columns):
        values = ",".join(sorted({row[position] for row in rows} - {"?"}))
        header.append(f"@ATTRIBUTE {column} {'NUMERIC' if kind == NUMBER else '{' + values + '}'}")
    arff = "\n".join([*header, "@DATA", *(",".join(row) for row in rows), ""]).encode()
    server.files["/file.arff"] = arff
    description = {
        "id": str(data_id),
        "name": name,
        "version": "1",
        "format": "ARFF",
        "status": "active",
        "description": "a set for a test",
        "url": f"{server.url}/file.arff",
        "file_id": "1",
        "md5_checksum": hashlib.md5(arff, usedforsecurity=False).hexdigest(),
    }
    features = [
        {
            "index": str(index),
            "name": column,
            "data_type": kind,
            "is_target": str(column == target).lower(),
            "is_ignore": "false",
            "is_row_identifier": "false",
            "number_of_missing_values": "0",
        }
        for index, (column, kind) in enumerate(columns)
    ]
    documents = {
        f"/list/{name}/data_version/1": {"data": {"dataset": [{"did": str(data_id), "version": "1"}]}},
        f"/data/{data_id}": {"data_set_description": description},
        f"/features/{data_id}": {"data_features": {"feature": features}},
        f"/qualities/{data_id}": {
            "data_qualities": {"quality": [{"name": "NumberOfInstances", "value": str(len(rows))}]}
        },
    }
    server.files |= {path: json.dumps(document).encode() for path, document in documents.items()}


@pytest.fixture
def openml(server, monkeypatch):
    """Send scikit-learn's client to the loopback server."""
    for constant, path in (
        ("_SEARCH_NAME", "/list/{}"),
        ("_DATA_INFO", "/data/{}"),
        ("_DATA_FEATURES", "/features/{}"),
        ("_DATA_QUALITIES", "/qualities/{}"),
    ):
        monkeypatch.setattr(f"sklearn.datasets._openml.{constant}", server.url + path)
    return server


PETS = {
    "data_id": 61,
    "name": "pets",
    "columns": [("weight", NUMBER), ("age", NUMBER), ("kind", WORD)],
    "rows": [["4.5", "3", "cat"], ["20", "5", "dog"], ["0.25", "1", "eel"], ["5", "2", "cat"]],
    "target": "kind",
}


def test_a_set_is_fetched_once_and_kept(openml, tmp_path):
    serve(openml, **PETS)
    source = Source(name="openml:61", positive="cat")
    fetched = load(source, data_dir=tmp_path)
    assert fetched.X.tolist() == [[4.5, 3], [20, 5], [0.25, 1], [5, 2]]
    assert fetched.y.tolist() == [1, 0, 0, 1]
    assert fetched.class_names == ("not cat", "cat")
    assert fetched.feature_names == ("weight", "age")
    openml.files.clear()
    asked = list(openml.asked)
    kept = load(source, data_dir=tmp_path, download=False)
    assert kept.sha256 == fetched.sha256
    assert openml.asked == asked


def test_another_target_by_name(openml, tmp_path):
    serve(
        openml,
        **PETS
        | {
            "columns": [("weight", NUMBER), ("age", NUMBER), ("kind", NUMBER)],
            "rows": [["4", "3", "0"], ["20", "5", "1"], ["4", "1", "0"]],
        },
    )
    dataset = load(Source(name="openml:61", label="weight", positive="20.0"), data_dir=tmp_path)
    assert dataset.y.tolist() == [0, 1, 0]
    assert dataset.class_names == ("4", "20")
    assert dataset.feature_names == ("age", "kind")
    with pytest.raises(DataError, match="Could not find target_column='colour'"):
        load(Source(name="openml:61", label="colour"), data_dir=tmp_path)


def test_classes_that_are_numbers(openml, tmp_path):
    serve(openml, **PETS | {"rows": [["4.5", "3", "10"], ["20", "5", "9"], ["0.25", "1", "10"]]})
    dataset = load(Source(name="openml:61"), data_dir=tmp_path)
    assert dataset.class_names == ("9", "10")
    assert dataset.y.tolist() == [1, 0, 1]


def test_a_feature_of_words_is_refused(openml, tmp_path):
    serve(openml, **PETS)
    with pytest.raises(DataError, match="openml:61: features that are not numbers: 'kind'"):
        load(Source(name="openml:61", label="age"), data_dir=tmp_path)


def test_a_missing_value_is_refused_with_row_and_column(openml, tmp_path):
    serve(openml, **PETS | {"rows": [["4.5", "3", "cat"], ["20", "?", "dog"]]})
    with pytest.raises(DataError, match=r"openml:61: column 'age': missing or NaN .* first in row 2"):
        load(Source(name="openml:61"), data_dir=tmp_path)


def test_a_set_without_default_target(openml, tmp_path):
    serve(openml, **PETS | {"target": None})
    with pytest.raises(DataError, match="openml:61: does not have exactly one default target"):
        load(Source(name="openml:61"), data_dir=tmp_path)


@pytest.mark.filterwarnings("ignore:Invalid cache, redownloading:RuntimeWarning")
def test_a_tampered_file_is_refused(openml, tmp_path):
    serve(openml, **PETS)
    openml.files["/file.arff"] += b"9,9,dog\n"
    with pytest.raises(DataError, match=r"openml:61: OpenML's answer is unusable .*md5 checksum"):
        load(Source(name="openml:61"), data_dir=tmp_path)


@pytest.mark.filterwarnings("ignore:Invalid cache, redownloading:RuntimeWarning")
def test_malformed_arff_is_refused(openml, tmp_path):
    serve(openml, **PETS | {"rows": [["4.5", "3", "cat"], ["20", "old", "dog"]]})
    with pytest.raises(DataError, match="openml:61: OpenML's answer is unusable") as caught:
        load(Source(name="openml:61"), data_dir=tmp_path)
    assert "\n" not in str(caught.value)


# scikit-learn does not close this one answer, and Python warns of that from 3.14 on.
@pytest.mark.filterwarnings("ignore:Implicitly cleaning up <HTTPError:ResourceWarning")
def test_a_number_that_openml_does_not_have(openml, tmp_path):
    openml.answers["/data/999"] = lambda request: request.send_error(412)
    with pytest.raises(DataError, match=r"openml:999: OpenML's answer is unusable .*999 not found"):
        load(Source(name="openml:999"), data_dir=tmp_path)


def test_offline_says_where_to_put_the_file(closed_url, monkeypatch, tmp_path):
    monkeypatch.setattr("sklearn.datasets._openml._DATA_INFO", closed_url + "/{}")
    # scikit-learn waits a second before each of its retries.
    monkeypatch.setattr("sklearn.datasets._openml.time", SimpleNamespace(sleep=lambda seconds: None))
    with pytest.raises(DataError, match=re.escape(f"put openml-61.npz into {tmp_path}")):
        load(Source(name="openml:61"), data_dir=tmp_path)


def test_nothing_is_downloaded_unless_allowed(openml, tmp_path):
    serve(openml, **PETS)
    with pytest.raises(DataError, match=r"openml:61: not in .*, and downloads are off"):
        load(Source(name="openml:61"), data_dir=tmp_path, download=False)
    assert openml.asked == []


def test_a_kept_file_that_was_damaged_is_named(tmp_path):
    path = tmp_path / "openml-61.npz"
    np.savez(path, X=np.eye(2), codes=np.arange(2), names=np.frombuffer(b"{}", dtype=np.uint8))
    with pytest.raises(DataError, match=re.escape(f"{path}: damaged; delete it")):
        load(Source(name="openml:61"), data_dir=tmp_path)


def test_mnist_is_cut_from_openml_in_file_order_checked_and_kept(openml, tmp_path):
    generator = np.random.default_rng(0)
    digits = generator.integers(0, 10, 60)
    pixels = generator.integers(0, 256, (60, 5), dtype=np.uint8)
    serve(
        openml,
        data_id=554,
        name="mnist_784",
        columns=[*((f"pixel{index + 1}", NUMBER) for index in range(5)), ("class", WORD)],
        rows=[[*map(str, row), str(digit)] for row, digit in zip(pixels, digits, strict=True)],
        target="class",
    )
    wanted = np.isin(digits, [2, 6])
    sha256 = content_hash({"X": pixels[wanted], "y": digits[wanted].astype(np.int8)})
    with pytest.raises(DataError, match="OpenML's mnist_784, version 1: not the known 13,866 images"):
        read_mnist26(tmp_path / "other", download=True)
    assert not (tmp_path / "other" / "mnist26.npz").exists()
    fetched = read_mnist26(tmp_path, download=True, expected_sha256=sha256)
    kept = read_mnist26(tmp_path, download=False, expected_sha256=sha256)
    for table in (fetched, kept):
        assert np.array_equal(table.X, pixels[wanted])
        assert np.array_equal(table.labels.codes, digits[wanted] == 6)


def test_mnist_without_digits_is_refused(openml, tmp_path):
    serve(openml, **PETS | {"data_id": 554, "name": "mnist_784"})
    with pytest.raises(DataError, match="mnist2-6: OpenML's answer is unusable"):
        read_mnist26(tmp_path, download=True)
