"""The travelling preparation: raw rows give the numbers that the owner trained on, and back."""

from __future__ import annotations

import csv
import io
import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError
from sklearn.preprocessing import MinMaxScaler

from tests.examples import examples
from tests.tables import parse_csv
from wm.datasets import Source, load, split
from wm.datasets.applying import model_rows
from wm.datasets.csv_file import read_csv
from wm.datasets.frames import frame_cells
from wm.datasets.model import checked_dataset
from wm.datasets.preparation import CategoryColumn, MinMax, NumberColumn, Preparation, claimed, fitted
from wm.datasets.preparing import Preparing
from wm.errors import DataError

GAPS = st.sampled_from(["", "?", "NA", "nan"])
FLOATS = st.floats(-1e6, 1e6, width=32).map(repr)
KINDS = {
    "number": FLOATS,
    "gaps": st.one_of(FLOATS, FLOATS, GAPS),
    "text": st.sampled_from(["red", "Green", "deep blue", "ü, ;"]),
    "text with gaps": st.one_of(st.sampled_from(["x", "y"]), GAPS),
    "text and numbers": st.sampled_from(["a", "b", "c", "7", "7.0", "-0.5"]),
    "truth": st.sampled_from(["yes", "no"]),
    "truth with gaps": st.sampled_from(["True", "False", ""]),
}


@st.composite
def tables(draw):
    """Return names and rows of a labelled table whose every column has a value among the first rows."""
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=4))
    count = draw(st.integers(6, 14))
    columns = [draw(st.lists(KINDS[kind], min_size=count, max_size=count)) for kind in kinds]
    anchors = {"number": "1.5", "gaps": "2.5", "text": "red", "text with gaps": "x", "text and numbers": "a"}
    for kind, column in zip(kinds, columns, strict=True):
        column[:4] = [anchors.get(kind, "yes" if kind == "truth" else "True")] * 4
        column[4:6] = {"text and numbers": ["b", "c"], "truth": ["no", "yes"]}.get(kind, column[4:6])
    names = [f"c{place}" for place in range(len(kinds))]
    labels = ["no", "yes"] * count
    return [*names, "label"], [list(row) for row in zip(*columns, labels[:count], strict=True)]


def text_of(names, rows):
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerows([names, *rows])
    return stream.getvalue().encode()


@examples(120)
@example(  # a blank line would be no row
    (["c0", "label"], [["x", "no"], ["x", "yes"], ["x", "no"], ["x", "yes"], ["x", "no"], ["", "yes"]]),
    "onehot",
    "raw",
)
@given(tables(), st.sampled_from(["onehot", "ordinal"]), st.sampled_from(["raw", "train"]))
def test_raw_rows_give_the_numbers_that_were_trained_on(table, categorical, scaling):
    names, rows = table
    content = text_of(names, rows)
    options = Preparing(missing="median", categorical=categorical)
    try:
        raw = parse_csv(content, where="w", label="label", header=True, preparing=options)
        data = checked_dataset(raw, name="w", positive="yes")
        cut = split(data, seed=0, scaling=scaling)
    except DataError:  # a column with a word or two among numbers, or without a value
        return
    span = None
    if scaling == "train":
        train = data.X[cut.train_rows]
        low = np.nanmin(train, axis=0)
        span = MinMax(low=tuple(low.tolist()), span=tuple((np.nanmax(train, axis=0) - low).tolist()))
    preparation = fitted(data.columns, data.X[cut.train_rows], fill=True, scaling=span)
    assert Preparation.model_validate_json(preparation.model_dump_json()) == preparation
    assert preparation.feature_names == cut.feature_names
    order = [len(names) - 1, *range(len(names) - 1)][::-1]  # columns may come in any order
    mixed = text_of([names[i] for i in order], [[row[i] for i in order] for row in rows])
    cells = read_csv(mixed, where="w", label=None, header=True, known="c0")
    X = model_rows(preparation, cells)[0]
    assert X.dtype == np.float32
    assert np.array_equal(X[cut.train_rows], cut.X_train)
    assert np.array_equal(X[cut.test_rows], cut.X_test)
    if scaling == "raw":
        back = text_of(names[:-1], preparation.cells(X))
        again = read_csv(back, where="w", label=None, header=True, known="c0")
        assert np.array_equal(model_rows(preparation, again)[0], X)


@given(st.lists(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=2), min_size=2, max_size=8))
def test_scaling_is_that_of_scikit_learn_to_the_last_bit(rows):
    X = np.array(rows)
    low = X.min(axis=0)
    span = X.max(axis=0) - low
    scaled = MinMax(low=tuple(low.tolist()), span=tuple(span.tolist())).scaled(X)
    expected = MinMaxScaler().fit_transform(X)
    expected[:, span == 0] = 0.0
    assert np.array_equal(scaled, expected)


PREPARATION = Preparation(
    columns=(
        NumberColumn(name="age", fill=40.0),
        NumberColumn(name="hours"),
        NumberColumn(name="owner", words=("no", "yes")),
        CategoryColumn(kind="onehot", name="job", values=("?", "cook", "judge")),
        CategoryColumn(kind="ordinal", name="level", values=("high", "low")),
    )
)


def applied(text, preparation=PREPARATION):
    return model_rows(preparation, read_csv(text.encode(), where="w", label=None, known="age"))


def test_each_kind_of_column():
    X, notes = applied("age,hours,owner,job,level,more\n?,1,yes,judge,low,9\n31,2,no,,high,9\n")
    assert X.tolist() == [[40, 1, 1, 0, 0, 1, 1], [31, 2, 0, 1, 0, 0, 0]]
    assert notes == ("w: the model does not use 'more'",)


def test_a_value_that_is_not_known_is_none_of_the_known_and_said():
    X, notes = applied("age,hours,owner,job,level\n1,1,yes,pilot,low\n1,1,no,7,low\n")
    assert X[:, 3:6].tolist() == [[0, 0, 0], [0, 0, 0]]
    assert "column 'job': 2 of 2 rows have a value that the model does not know ('pilot', '7.0')" in notes[0]


def test_all_that_keeps_rows_from_being_input_comes_at_once():
    with pytest.raises(DataError) as caught:
        applied("age,hours,owner,job,level\nold,?,perhaps,cook,middle\n1,inf,no,cook,low\n")
    lines = str(caught.value).splitlines()
    assert lines[0] == "w: 5 problems with its columns:"
    assert [line.split(" in 1 of 2 rows")[0] for line in lines[1:]] == [
        "  column 'age': text instead of numbers ('old')",
        "  column 'hours': missing values, which the model does not take,",
        "  column 'hours': infinite values",
        "  column 'owner': text instead of numbers ('perhaps')",
        "  column 'level': values that the model does not know ('middle')",
    ]


def test_columns_that_lack_are_named():
    with pytest.raises(
        DataError, match="takes 5 columns; it has 'age', 'job', not 'hours', 'owner', 'level'"
    ):
        applied("age,job\n1,cook\n")


def test_columns_without_names_go_by_their_places():
    text = "1,2,yes,cook,low\n3,4,no,judge,high\n"
    by_place, _ = applied(text)
    assert by_place.tolist() == applied("age,hours,owner,job,level\n" + text)[0].tolist()
    other, notes = applied("a,b,c,d,e\n" + text)
    assert other.tolist() == by_place.tolist()
    assert notes == ("w: none of its columns has a name that the model knows: they go by their places",)


@pytest.mark.parametrize("categorical", ["onehot", "ordinal"])
def test_a_number_among_words_is_the_same_value_however_it_is_written(tmp_path, categorical):
    path = tmp_path / "rows.csv"
    cells = ["2", "4.0", "more", "2.50"] * 10
    path.write_text("a,b,y\n" + "".join(f"{cell},1,{row % 3 // 2}\n" for row, cell in enumerate(cells)))
    data = load(Source(path=path, label="y", categorical=categorical))
    preparation = fitted(data.columns, data.X, fill=False)
    assert preparation.columns[0].values == ("2", "2.5", "4", "more")
    expected = data.X[:4, :-1].tolist()
    for text in ("a,b\n2,1\n4,1\nmore,1\n2.5,1\n", "a,b\n2.0,1\n 04 ,1\nmore,1\n25e-1,1\n"):
        cells = read_csv(text.encode(), where="w", label=None, known="a")
        assert model_rows(preparation, cells)[0][:, :-1].tolist() == expected
    numbers = read_csv(b"a,b\n2,1\n4.0,1\n", where="w", label=None, known="a")  # a batch without words
    assert model_rows(preparation, numbers)[0][:, :-1].tolist() == expected[:2]
    for values in ([2, 4.0, "more", 2.5], ["2", "4", "more", np.float64(2.5)]):
        frame = frame_cells(pd.DataFrame({"a": values, "b": 1}), where="w", label=None, labelled=False)
        assert model_rows(preparation, frame)[0][:, :-1].tolist() == expected


def test_a_number_too_large_for_float32_is_refused():
    with pytest.raises(DataError, match="line 2, 'hours': its value is more than a float32"):
        applied("age,hours,owner,job,level\n1,1e39,yes,cook,low\n")


def test_frames_give_the_same_numbers():
    frame = pd.DataFrame(
        {
            "level": pd.Categorical(["low", "high"]),
            "age": pd.array([None, 31], dtype="Int64"),
            "hours": [1.0, 2.0],
            "owner": [True, False],
            "job": ["judge", None],
        }
    )
    columns = list(PREPARATION.columns)
    columns[2] = NumberColumn(name="owner", words=("False", "True"))
    cells = frame_cells(frame, where="w", label=None, labelled=False)
    X, _ = model_rows(Preparation(columns=tuple(columns)), cells)
    assert X.tolist() == [[40, 1, 1, 0, 0, 1, 1], [31, 2, 0, 1, 0, 0, 0]]


def test_only_what_is_not_plain_is_claimed_whole():
    scaling = MinMax(low=(0.0,), span=(2.0,))
    plain = Preparation(columns=(NumberColumn(name="a"),), scaling=scaling)
    assert claimed(plain) == scaling
    assert claimed(plain.model_copy(update={"scaling": None})) is None
    assert claimed(PREPARATION) is PREPARATION


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": []}, "at least 1 item"),
        ({"columns": [{"kind": "number", "name": "a"}] * 2}, "given twice"),
        ({"columns": [{"kind": "onehot", "name": "a", "values": ["x", "x"]}]}, "given twice"),
        ({"columns": [{"kind": "onehot", "name": "a", "values": []}]}, "at least 1 item"),
        ({"columns": [{"kind": "hash", "name": "a"}]}, "does not match any of the expected tags"),
        ({"scaling": {"low": [0.0], "span": [1.0, 2.0]}}, "scaling of another number"),
        ({"columns": [{"kind": "number", "name": "a", "fill": float("nan")}]}, "finite"),
    ],
)
def test_faulty_documents_are_refused(change, message):
    import json

    document = {"columns": [{"kind": "number", "name": "a"}], "scaling": None} | change
    with pytest.raises(ValidationError, match=message):
        Preparation.model_validate_json(json.dumps(document))


def test_every_raw_column_comes_back_from_the_whole_set_of_its_features():
    values = [(40.0, 50.5), (1.0,), (0.0, 1.0), range(4), (0.0, 1.0)]
    rows = [[a, b, c, *np.eye(4)[d][:3], e] for a, b, c, d, e in itertools.product(*values)]
    X = np.array(rows, dtype=np.float32)
    text = text_of(["age", "hours", "owner", "job", "level"], PREPARATION.cells(X)).decode()
    again, _ = applied(text)
    none_of_them = X[:, 3:6].sum(axis=1) == 0
    assert np.array_equal(again[~none_of_them], X[~none_of_them])
    assert again[none_of_them, 3].all()  # no value is a missing one


def test_a_number_between_two_words_is_written_as_the_nearer_one():
    column = NumberColumn(name="smokes", words=("no", "yes"))
    X = np.array([[0.0], [0.25], [0.5], [0.75], [1.0]], dtype=np.float32)
    assert Preparation(columns=(column,)).cells(X) == [["no"], ["no"], ["yes"], ["yes"], ["yes"]]


def test_the_median_fills_what_was_not_missing_in_training(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,y\n" + "".join(f"{row},{row % 3},{row % 2}\n" for row in range(20)))
    data = load(Source(path=path, label="y", missing="median"))
    preparation = fitted(data.columns, data.X[:11], fill=True)
    cells = read_csv(b"a,b\n?,?\n", where="w", label=None, known="a")
    assert model_rows(preparation, cells)[0].tolist() == [[5.0, 1.0]]


def test_a_row_of_nothing_but_separators_is_answered_too():
    values = ("?", "x")
    columns = tuple(CategoryColumn(kind="onehot", name=name, values=values) for name in "ab")
    preparation = Preparation(columns=columns)
    for text in ("a,b\nx,x\n,\nx,\n", "a,b\n,\nx,x\n,\n"):
        cells = read_csv(text.encode(), where="w", label=None, known="a")
        assert len(model_rows(preparation, cells)[0]) == 3
    X = model_rows(preparation, cells)[0]
    assert preparation.cells(X)[0] == ["?", ""]
