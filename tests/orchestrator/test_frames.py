"""Frames as plain values and as files."""

from __future__ import annotations

import csv
import json
import sys

import pandas as pd
import pytest

from orchestrator.errors import OutputError
from orchestrator.frames import records, write_frame

FRAME = pd.DataFrame(
    {
        "name": ["a, b", "ü\n", None],
        "whole": pd.array([1, None, 3], dtype="Int64"),
        "share": [0.5, float("nan"), 1e-9],
        "sure": [True, False, True],
    }
)
ROWS = [
    {"name": "a, b", "whole": 1, "share": 0.5, "sure": True},
    {"name": "ü\n", "whole": None, "share": None, "sure": False},
    {"name": None, "whole": 3, "share": 1e-9, "sure": True},
]


def test_records_are_plain_and_missing_values_are_none():
    found = records(FRAME)
    assert found == ROWS
    assert {type(value) for row in found for value in row.values()} == {str, int, float, bool, type(None)}
    assert records(FRAME.iloc[:0]) == []


def test_json_reads_back(tmp_path):
    write_frame(FRAME, tmp_path / "f.json")
    assert json.loads((tmp_path / "f.json").read_text()) == ROWS


def test_csv_reads_back(tmp_path):
    write_frame(FRAME, tmp_path / "f.csv")
    with (tmp_path / "f.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == ["a, b", "ü\n", ""]
    assert [row["whole"] for row in rows] == ["1", "", "3"]
    assert [row["share"] for row in rows] == ["0.5", "", "1e-09"]


def test_parquet_reads_back(tmp_path):
    write_frame(FRAME, tmp_path / "f.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "f.parquet"), FRAME)


def test_parquet_without_its_library_names_the_package(tmp_path, monkeypatch):
    for library in ("pyarrow", "fastparquet"):
        monkeypatch.setitem(sys.modules, library, None)
    path = tmp_path / "f.parquet"
    with pytest.raises(
        OutputError, match=r"parquet needs pyarrow: pip install 'treeproof\[parquet\]'"
    ) as caught:
        write_frame(FRAME, path)
    assert str(path) in str(caught.value)
    assert not path.exists()


@pytest.mark.parametrize("name", ["f", "f.xlsx", "csv", "f.csv.gz"])
def test_other_endings_are_refused(tmp_path, name):
    with pytest.raises(OutputError, match=r"the ending must be \.csv, \.json or \.parquet"):
        write_frame(FRAME, tmp_path / name)
    assert list(tmp_path.iterdir()) == []
