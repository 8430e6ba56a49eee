import hashlib
import re
from pathlib import Path

import pytest

from wm.datasets import Source, file_sha256, load
from wm.datasets.loading import READERS
from wm.datasets.source import FIXED_NAMES, FileFormat, file_format
from wm.errors import DataError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "neither name nor path"),
        ({"name": "ijcnn1", "path": Path("a.csv")}, "both name 'ijcnn1' and path 'a.csv'"),
        (
            {"name": "irises"},
            "unknown data set 'irises': known are breast-cancer, iris, wine, digits, mnist2-6",
        ),
        ({"name": "openml:0"}, "unknown data set 'openml:0'"),
        ({"name": "openml:iris"}, "unknown data set 'openml:iris'"),
        ({"name": "ijcnn1", "label": "y"}, "leave label out"),
        ({"name": "ijcnn1", "header": True}, "header applies to csv files only"),
        ({"name": "openml:61", "label": 3}, "target's name, not 3"),
        ({"path": Path("rows.xlsx")}, r"rows.xlsx: unknown ending: known are .csv, .npz, .svm"),
        ({"path": Path("rows")}, "rows: unknown ending"),
        ({"path": Path("rows.npz.gz")}, "unknown ending"),
        ({"path": Path("rows.gz")}, "unknown ending"),
        ({"path": Path("a.npz"), "header": False}, "header applies to csv files only"),
        ({"path": Path("a.npz"), "label": 0}, "name of an array, not 0"),
        ({"path": Path("a.svm.bz2"), "label": 0}, "starts with its label"),
    ],
)
def test_contradictory_sources_are_refused_in_one_line(options, message):
    with pytest.raises(DataError, match=re.escape(message)) as caught:
        Source(**options)
    assert "\n" not in str(caught.value)


def test_every_public_name_has_a_reader():
    assert tuple(READERS) == FIXED_NAMES


def test_openml_number():
    assert Source(name="openml:554").openml_id == 554
    assert Source(name="ijcnn1").openml_id is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.csv", FileFormat.CSV),
        ("a.b.CSV.GZ", FileFormat.CSV),
        ("a.npz", FileFormat.NPZ),
        ("a.libsvm", FileFormat.SVMLIGHT),
        ("a.svmlight.gz", FileFormat.SVMLIGHT),
        ("ijcnn1.v2.txt.bz2", FileFormat.SVMLIGHT),
    ],
)
def test_the_ending_decides_the_format(name, kind):
    assert file_format(Path(name)) is kind


def test_the_files_hash_changes_with_the_file(tmp_path):
    path = tmp_path / "rows.csv"
    source = Source(path=path, label=-1)
    path.write_bytes(b"1,0\n2,1\n")
    assert file_sha256(source) == hashlib.sha256(b"1,0\n2,1\n").hexdigest()
    before = file_sha256(source)
    path.write_bytes(b"1,0\n2,1\n3,1\n")
    assert file_sha256(source) != before
    assert file_sha256(Source(name="ijcnn1")) is None


def test_a_relative_path_is_looked_for_here_and_then_in_the_data_directory(tmp_path, monkeypatch):
    here, data_dir = tmp_path / "here", tmp_path / "data"
    here.mkdir()
    data_dir.mkdir()
    monkeypatch.chdir(here)
    source = Source(path=Path("rows.csv"), label=-1)
    with pytest.raises(DataError, match=re.escape(f"rows.csv: no such file in {here} or {data_dir}")):
        load(source, data_dir=data_dir)
    (data_dir / "rows.csv").write_text("5,0\n6,1\n")
    assert load(source, data_dir=data_dir).X[:, 0].tolist() == [5, 6]
    monkeypatch.setenv("WM_DATA_DIR", str(data_dir))
    assert file_sha256(source) == file_sha256(source, data_dir)
    (here / "rows.csv").write_text("7,0\n8,1\n")
    assert load(source, data_dir=data_dir).X[:, 0].tolist() == [7, 8]


def test_a_missing_file_and_a_directory_are_named(tmp_path):
    with pytest.raises(DataError, match=re.escape(f"{tmp_path}/none.csv: no such file")):
        load(Source(path=tmp_path / "none.csv", label="y"))
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match="is a directory"):
        file_sha256(Source(path=tmp_path / "folder.csv", label="y"))
