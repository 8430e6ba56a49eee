"""From cells to numbers: what is encoded, what is filled, and what is refused with which advice."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from wm.datasets import Source, load, split, with_medians
from wm.errors import DataError

TABLE = """\
age,work,sex,joined,ok,y
39,Private,m,2020-01-02,yes,no
?,Private,f,2020-02-03,no,yes
50,?,m,2021-01-01,yes,no
28,Gov,f,2019-05-05,no,yes
31,Gov,f,2019-05-06,no,yes
"""


@pytest.fixture
def read(tmp_path):
    def load_it(text, **options):
        path = tmp_path / "rows.csv"
        path.write_text(text)
        return load(Source(path=path, **{"label": "y", **options}))

    return load_it


def test_all_problems_of_all_columns_come_at_once(read):
    with pytest.raises(DataError) as caught:
        read(TABLE)
    first, *lines = str(caught.value).splitlines()
    assert first.endswith("rows.csv: 5 problems with its columns:")
    assert [line.split(" in ")[0] for line in lines] == [
        "  column 'age': missing or NaN ('?')",
        "  column 'work': missing or NaN ('?')",
        "  column 'work': text of 2 values ('Private', 'Gov')",
        "  column 'sex': text of 2 values ('m', 'f')",
        "  column 'joined': dates ('2020-01-02', '2020-02-03', '2021-01-01', ...)",
    ]
    assert "in 1 of 5 rows, first in line 3: give missing = 'drop' or missing = 'median', or" in lines[0]


def test_at_most_ten_lines(read):
    names = [f"c{index}" for index in range(30)]
    text = "\n".join([",".join([*names, "y"]), *(",".join([*"?" * 30, label]) for label in "0101")])
    with pytest.raises(DataError) as caught:
        read(text)
    assert len(lines := str(caught.value).splitlines()) == 10
    assert "c0" in lines[1]
    assert lines[-1] == "  ... and 22 more"


def test_one_hot(read):
    found = read(TABLE, categorical="onehot", missing="median", drop=("joined",))
    assert found.feature_names == ("age", "work=?", "work=Gov", "work=Private", "sex=f", "sex=m", "ok")
    assert found.X[:, 1:4].tolist() == [[0, 0, 1], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 1, 0]]
    assert found.X[:, -1].tolist() == [1, 0, 1, 0, 0]
    assert np.isnan(found.X[1, 0])
    assert any("2 columns of text as 5 features" in note for note in found.notes)
    assert any(note.endswith("stands for missing values: 1 in 1 column") for note in found.notes)


def test_ordinal_without_the_rows_that_lack_a_value(read):
    found = read(TABLE, categorical="ordinal", missing="drop")
    assert found.feature_names == ("age", "work", "sex", "joined", "ok")
    assert found.X.tolist() == [[39, 1, 1, 2, 1], [28, 0, 0, 0, 0], [31, 0, 0, 1, 0]]
    assert found.y.tolist() == [0, 1, 1]
    assert any("2 of 5 rows left out" in note for note in found.notes)


def test_the_median_is_that_of_the_training_rows(read):
    cells = [*range(40), "NA"] * 2
    text = "a,b,y\n" + "".join(f"{cell},1,{row % 2}\n" for row, cell in enumerate(cells))
    found = read(text, missing="median")
    cut = split(found, seed=1, scaling="raw")
    gaps = np.isnan(found.X[:, 0])
    median = np.nanmedian(found.X[cut.train_rows, 0])
    assert (cut.X_train[gaps[cut.train_rows], 0] == np.float32(median)).all()
    assert (cut.X_test[gaps[cut.test_rows], 0] == np.float32(median)).all()
    assert cut.dataset_sha256 == found.sha256
    assert (with_medians(found).X[gaps, 0] == 19.5).all()


def test_columns_are_dropped_by_name_or_number(read):
    text = "a,b,c,0,y\n1,x,3,4,0\n2,z,5,6,1\n"
    assert read(text, drop=("b",)).feature_names == ("a", "c", "0")
    assert read(text, drop=(1, -3)).feature_names == ("a", "0")
    assert read(text, drop=(0, 1)).feature_names == ("a", "c")  # the column named 0
    with pytest.raises(DataError, match=r"drop = \['nope'\]: no such column; they are 'a', 'b'"):
        read(text, drop=("nope",))
    with pytest.raises(DataError, match="'y' is the label"):
        read(text, drop=("b", "y"))


@pytest.mark.parametrize(
    ("column", "options", "message"),
    [
        (["1", "2", "x", "4"], {"categorical": "ordinal"}, r"text among numbers \('x'\) in 1 of 4 rows"),
        (["", "?", "NA", "null"], {"missing": "median"}, "it has no value: give drop ="),
        (["1", "inf", "-inf", "4"], {"missing": "median"}, "infinite in 2 of 4 rows"),
        (["x", "x", "x", "x"], {}, r"constant text \('x'\)"),
        (["01/02/2020", "1.2.20", "2020-01-01", ""], {"missing": "drop", "categorical": "onehot"}, "dates"),
        (["2020-03-01", "2020-01-01", "2021-01-01", "2020-01-02"], {}, "ordinal' for their order"),
        (["01.03.2020", "1.2.20", "3/4/21", "5-6-22"], {"categorical": "ordinal"}, "write them year first"),
        (["2020-3-1", "2020-11-1", "2020-1-1", "2021-1-1"], {"categorical": "ordinal"}, "year first"),
        (['"25,550.35"', '"1,000.5"', '"7,000"', '"8,100"'], {"categorical": "ordinal"}, "of thousands"),
        (['"25.550,35"', '"1.000,5"', '"7.000,1"', '"8.100,2"'], {"categorical": "ordinal"}, "of thousands"),
        (["26600.75 EUR", "5 EUR", "7 EUR", "8 EUR"], {"categorical": "ordinal"}, "write the numbers alone"),
        (["$5", "$7.5", "$10", "$11"], {"categorical": "onehot"}, "write the numbers alone"),
    ],
)
def test_what_no_option_helps_is_refused(read, column, options, message):
    text = "a,b,y\n" + "".join(f"{cell},1,{row % 2}\n" for row, cell in enumerate(column))
    with pytest.raises(DataError, match=f"column 'a': .*{message}"):
        read(text, header=True, sep=",", **options)


def mixed_column(words, *, numbers=(2, 4), rows=100):
    """Return a table of labelled rows; column a has so many cells with words, the others with numbers."""
    cells = ["more"] * words + [numbers[row % len(numbers)] for row in range(rows - words)]
    return "a,b,y\n" + "".join(f"{cell},{row},{row % 2}\n" for row, cell in enumerate(cells))


@pytest.mark.parametrize("words", [5, 30, 70])
def test_numbers_and_words_are_categories_together(read, words):
    found = read(mixed_column(words), categorical="onehot")
    assert found.feature_names == ("a=2", "a=4", "a=more", "b")
    assert found.X[:, 2].sum() == words
    places = read(mixed_column(words), categorical="ordinal").X[:, 0]
    assert np.unique(places, return_counts=True)[1].max() == max(words, (100 - words + 1) // 2)


@pytest.mark.parametrize(("words", "advice"), [(30, "correct these cells, give "), (70, "give ")])
def test_numbers_and_words_are_refused_with_a_way_out(read, words, advice):
    with pytest.raises(
        DataError, match=rf"'more'\) in {words} of 100 rows, .*: {advice}categorical = 'onehot'"
    ):
        read(mixed_column(words))


@pytest.mark.parametrize("categorical", ["refuse", "onehot", "ordinal"])
@pytest.mark.parametrize(
    "table",
    [
        mixed_column(4),
        mixed_column(1, rows=6),
        mixed_column(280, numbers=range(257), rows=600),
    ],
)
def test_few_words_or_those_among_many_numbers_are_mistakes(read, table, categorical):
    with pytest.raises(
        DataError, match=r"text among numbers \('more'\) .*: correct these cells, or give drop"
    ):
        read(table, categorical=categorical)


def test_too_many_values_are_not_one_hot_encoded(read):
    text = "name,b,y\n" + "".join(f"n{row},1,{row % 2}\n" for row in range(300))
    with pytest.raises(
        DataError, match=r"text of 300 values .*give drop = \['name'\], or categorical = 'ordinal'"
    ):
        read(text, categorical="onehot")
    assert read(text, categorical="ordinal").X.shape == (300, 2)


def test_one_hot_names_that_meet_are_refused(read):
    with pytest.raises(DataError, match="gives 'a=x' more than once"):
        read("a,a=x,y\nx,1,0\nz,2,1\n", categorical="onehot")


def test_rows_without_label_are_dropped_too(read):
    found = read("a,b,y\n1,2,0\n3,4,?\n5,6,1\n7,8,\n", missing="drop")
    assert found.X[:, 0].tolist() == [1, 5]
    with pytest.raises(DataError, match=r"the label is missing .* with missing = 'drop'"):
        read("a,b,y\n1,2,0\n5,6,1\n7,8,\n")


@pytest.mark.parametrize("text", ["?", "NA", "N/A", "null", "#N/A", "<NA>"])
def test_a_label_spelt_as_a_missing_cell_is_a_class_only_if_that_is_said(tmp_path, text):
    (tmp_path / "t.csv").write_text("a,y\n" + "".join(f"{row},{('no', text)[row % 2]}\n" for row in range(8)))
    source = Source(path=tmp_path / "t.csv", label="y")
    advice = f"with missing = 'drop', or take {text!r} for a class with positive = {text!r}"
    with pytest.raises(DataError, match=rf"row 2: .*4 such rows in all.*{re.escape(advice)}"):
        load(source)
    assert load(replace(source, positive=text)).class_names == ("no", text)
    with pytest.raises(DataError, match="all rows have the same label 'no'"):
        load(replace(source, missing="drop"))
    np.savez(tmp_path / "t.npz", X=np.ones((4, 1)), y=["no", text] * 2)
    with pytest.raises(DataError, match="the label is missing"):
        load(Source(path=tmp_path / "t.npz"))
    assert load(Source(path=tmp_path / "t.npz", positive=text)).class_names == ("no", text)


def test_if_every_row_lacks_something_dropping_is_no_advice(read):
    text = "a,b,y\n1,?,0\n?,2,1\n3,?,0\n?,4,1\n"
    with pytest.raises(DataError, match=r"give missing = 'median' \(0 of 4 rows lack nothing\)"):
        read(text)
    with pytest.raises(DataError, match="each of its 4 rows lacks a value: missing = 'median' keeps them"):
        read(text, missing="drop")


def test_missing_values_of_an_npz(tmp_path):
    path = tmp_path / "rows.npz"
    np.savez(path, X=[[1.0, 5], [np.nan, 6], [3, 7], [4, 8]], y=[0, 1, 0, 1])
    assert load(Source(path=path, missing="drop")).X[:, 0].tolist() == [1, 3, 4]
    assert with_medians(load(Source(path=path, missing="median"))).X[:, 0].tolist() == [1, 3, 3, 4]
    assert load(Source(path=path, drop=("column_0",))).feature_names == ("column_1",)


@pytest.mark.parametrize("option", [{"sep": ";"}, {"categorical": "onehot"}, {"header": True}])
def test_options_of_text_tables_are_refused_elsewhere(tmp_path, option):
    (name,) = option
    for source in ({"path": tmp_path / "rows.npz"}, {"name": "breast-cancer"}):
        with pytest.raises(DataError, match=f"{name} applies to (csv files|tables with text) only"):
            Source(**source, **option)
