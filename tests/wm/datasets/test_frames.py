"""Typed columns: a frame is read as its csv text would be."""

from __future__ import annotations

import datetime
import io
import sys

import numpy as np
import pandas as pd
import pytest

from tests.tables import parse_csv
from wm.datasets import load_frame
from wm.datasets.cells import prepared_table
from wm.datasets.frames import frame_cells, read_columnar
from wm.datasets.oddities import oddities
from wm.datasets.preparing import Preparing
from wm.datasets.wording import as_flag, as_key
from wm.errors import DataError

FRAME = pd.DataFrame(
    {
        "ints": [1, -2, 3, 2**40],
        "floats": [0.1, np.nan, 1e300, -0.0],
        "nullable": pd.array([1, None, 3, 4], dtype="Int64"),
        "truth": [True, False, True, True],
        "gaps in truth": pd.array([True, None, False, True], dtype="boolean"),
        "text": ["a", "b b", None, "7"],
        "category": pd.Categorical(["x", "y", "x", None]),
        "numbers as text": ["1", "2.5", "", "4"],
        "mixed": [1, "a", 2.0, "b"],
        "label": [0, 1, 1, 0],
    }
)


@pytest.mark.parametrize("categorical", ["onehot", "ordinal"])
def test_a_frame_is_read_as_its_text(categorical):
    options = Preparing(missing="median", categorical=categorical)
    text = FRAME.to_csv(index=False).encode()
    as_text = parse_csv(text, where="w", label="label", preparing=options)
    as_frame = prepared_table(frame_cells(FRAME, where="w", label="label"), options, as_key)
    assert as_frame.feature_names == as_text.feature_names
    np.testing.assert_array_equal(as_frame.X, as_text.X)
    assert as_frame.labels.classes == as_text.labels.classes
    assert [column.name for column in as_frame.columns] == [column.name for column in as_text.columns]


def test_a_frame_becomes_a_data_set():
    found = load_frame(FRAME, label="label", missing="median", categorical="onehot", drop=("mixed", "text"))
    assert found.y.tolist() == [0, 1, 1, 0]
    assert found.class_names == ("0", "1")
    assert "category=?" in found.feature_names
    with pytest.raises(DataError, match="frame: 5 problems"):
        load_frame(FRAME, label="label", drop=("mixed", "text", "floats"))


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_files_give_the_frame_that_was_written(kind):
    stream = io.BytesIO()
    plain = FRAME.drop(columns="mixed")
    getattr(plain, f"to_{kind}")(stream)
    pd.testing.assert_frame_equal(read_columnar(stream.getvalue(), kind, "w"), plain)
    with pytest.raises(DataError, match=f"w: not a readable {kind} file"):
        read_columnar(stream.getvalue()[:-40], kind, "w")


def test_without_pyarrow_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"pip install 'treeproof\[parquet\]'"):
        read_columnar(b"", "parquet", "w")


@pytest.mark.parametrize(
    ("days", "texts"),
    [
        (pd.to_datetime(["2020-01-02", None]), ["2020-01-02", ""]),
        (
            pd.to_datetime(["2020-01-02 03:04:05", "2021-01-01 00:00:00"]),
            ["2020-01-02 03:04:05", "2021-01-01 00:00:00"],
        ),
        ([datetime.date(2020, 1, 2), None], ["2020-01-02", ""]),
        (pd.to_datetime(["2020-01-02", None], utc=True), ["2020-01-02", ""]),
    ],
)
def test_dates_are_text(days, texts):
    frame = pd.DataFrame({"day": days, "y": [0, 1]})
    (column,) = frame_cells(frame, where="w", label="y").columns
    assert [column.words[code] for code in column.codes] == texts


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "columns 'a' occur more than once"),
        (pd.DataFrame({"a": [], "y": []}), "there are no rows"),
        (pd.DataFrame({"a": [1j], "y": [0]}), "column 'a' has complex numbers"),
        (pd.DataFrame({"a": [1]}), "no column 'y' for the label"),
    ],
)
def test_frames_that_cannot_be_used(frame, message):
    with pytest.raises(DataError, match=message):
        frame_cells(frame, where="w", label="y")


def test_columns_that_rather_should_not_be_features_are_named():
    rows = np.arange(30)
    frame = pd.DataFrame(
        {
            "id": rows[::-1] + 5,
            "kind": ["k"] * 30,
            "unit": [None] + [2.5] * 29,
            "a": rows % 7,
            "b": rows % 7,
            "text": ["xy"[row % 2] for row in rows],
            "text again": ["xy"[row % 2] for row in rows],
            "y": rows % 2,
        }
    )
    columns = frame_cells(frame, where="w", label="y").columns
    assert oddities(columns, as_flag) == [
        "columns 'kind', 'unit' have one value only and tell nothing: --drop kind --drop unit",
        "columns 'b', 'text again' are equal to earlier columns: --drop b --drop 'text again'",
        "columns 'id' number the rows, whose order a model should not learn: --drop id",
    ]
    assert oddities(frame_cells(frame[["a", "text", "y"]], where="w", label="y").columns, as_flag) == []
