"""Conditions, groups and limits of results, against plain Python over the rows."""

from __future__ import annotations

import math
import statistics

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import SelectionError
from orchestrator.frames import records
from orchestrator.results.rows import typed
from orchestrator.results.selection import Condition, Selection, parse_conditions, select
from tests.examples import examples

NAMES = ["engine", "repeat", "eps", "certified", "note"]


def frame_of(rows):
    return typed(pd.DataFrame(rows, columns=NAMES)).astype({"eps": float, "certified": bool})


rows_of_results = st.lists(
    st.tuples(
        st.sampled_from(["sat", "z3", "z3-bool"]),
        st.none() | st.integers(0, 2),
        st.sampled_from([0.1, 0.2, 0.3, math.nan]),
        st.booleans(),
        st.none() | st.sampled_from(["", "Timed out", "killed"]),
    ),
    max_size=12,
)


def chosen(rows, text, **more):
    return records(select(frame_of(rows), Selection(where=parse_conditions(text), **more)))


def expected(rows, holds):
    every = records(frame_of(rows))
    return [row for row in every if holds(row)]


@examples(20)
@given(rows_of_results)
@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("engine=sat", lambda row: row["engine"] == "sat"),
        ("engine!=sat", lambda row: row["engine"] != "sat"),
        ("engine=sat|z3", lambda row: row["engine"] in ("sat", "z3")),
        ("engine!=sat|z3", lambda row: row["engine"] not in ("sat", "z3")),
        ("engine~Z3", lambda row: "z3" in row["engine"]),
        ("eps=0.3", lambda row: row["eps"] == 0.3),
        ("eps!=0.3", lambda row: row["eps"] != 0.3),
        ("eps<=0.2", lambda row: row["eps"] is not None and row["eps"] <= 0.2),
        ("eps > 0.1", lambda row: row["eps"] is not None and row["eps"] > 0.1),
        ("repeat>=1,eps<0.3", lambda row: (row["repeat"] or 0) >= 1 and (row["eps"] or 9) < 0.3),
        ("repeat=", lambda row: row["repeat"] is None),
        ("repeat!=", lambda row: row["repeat"] is not None),
        ("note=", lambda row: not row["note"]),
        ("note~TIMED", lambda row: "Timed" in (row["note"] or "")),
        ("certified=yes", lambda row: row["certified"]),
        ("certified==FALSE", lambda row: not row["certified"]),
    ],
)
def test_conditions_choose_the_rows_for_which_they_hold(text, holds, rows):
    assert chosen(rows, text) == expected(rows, holds)


def test_what_rounding_makes_different_is_equal():
    assert len(chosen([("sat", 0, 0.1 + 0.2, True, "")], "eps=0.3")) == 1


@examples(40)
@given(rows_of_results, st.sampled_from([("engine",), ("engine", "repeat"), ("certified", "eps")]))
def test_groups_are_counted_and_averaged(rows, names):
    every = records(frame_of(rows))
    found = records(select(frame_of(rows), Selection(group_by=names)))
    keys = list(dict.fromkeys(tuple(row[name] for name in names) for row in every))
    assert [tuple(row[name] for name in names) for row in found] == keys
    for row, key in zip(found, keys, strict=True):
        inside = [each for each in every if tuple(each[name] for name in names) == key]
        assert row["rows"] == len(inside)
        for column in {"repeat", "eps", "certified"} - set(names):
            values = [float(each[column]) for each in inside if each[column] is not None]
            assert row[column] == (pytest.approx(statistics.mean(values)) if values else None)
        assert "note" not in row


def test_a_statistic_a_choice_of_columns_an_order_and_a_limit():
    rows = [("sat", 0, 0.1, True, ""), ("z3", 1, 0.2, True, ""), ("sat", 2, 0.3, False, "")]
    largest = Selection(columns=("eps",), group_by=("engine",), statistic="max", sort=("-eps",), limit=1)
    assert records(select(frame_of(rows), largest)) == [{"engine": "sat", "rows": 2, "eps": 0.3}]
    ordered = Selection(columns=("eps", "engine"), sort=("engine", "-eps"))
    assert [list(row.items()) for row in records(select(frame_of(rows), ordered))] == [
        [("eps", 0.3), ("engine", "sat")],
        [("eps", 0.1), ("engine", "sat")],
        [("eps", 0.2), ("engine", "z3")],
    ]


def test_an_order_by_columns_that_are_not_shown():
    rows = [("sat", 0, 0.1, True, ""), ("z3", 1, 0.2, True, ""), ("sat", 2, 0.3, False, "")]
    hidden = Selection(columns=("repeat",), sort=("-eps",))
    assert records(select(frame_of(rows), hidden)) == [{"repeat": 2}, {"repeat": 1}, {"repeat": 0}]


def test_numbers_of_rows_are_a_column_of_a_grouped_result():
    rows = [("sat", 0, 0.1, True, ""), ("z3", 1, 0.2, True, ""), ("sat", 2, 0.3, False, "")]
    counts = Selection(columns=("rows",), group_by=("engine",), sort=("-rows",))
    assert records(select(frame_of(rows), counts)) == [
        {"engine": "sat", "rows": 2},
        {"engine": "z3", "rows": 1},
    ]


@examples(20)
@given(rows_of_results, st.integers(1, 5))
def test_a_limit_keeps_the_first_rows(rows, limit):
    assert records(select(frame_of(rows), Selection(limit=limit))) == records(frame_of(rows))[:limit]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("eps", "'eps' is no condition: write COLUMN=VALUE"),
        ("", "'' is no condition"),
        ("__import__('os').system('true')", "is no condition"),
        ("@eps=1", "'@eps=1' is no condition"),
        ("epss=1", "there is no column epss; did you mean eps? Columns: engine, repeat, eps"),
        ("eps<0.1|0.2", "only = != and ~ take several values"),
        ("eps=small", "eps=small: 'small' is no number, and eps is"),
        ("engine<z3", "engine<z3: engine is text: use = != or ~"),
        ("certified=maybe", "certified is yes or no"),
    ],
)
def test_what_no_column_can_mean_is_refused(text, message):
    with pytest.raises(SelectionError) as refused:
        chosen([("sat", 0, 0.1, True, "")], text)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "selection", [Selection(columns=("x",)), Selection(group_by=("x",)), Selection(sort=("-x",))]
)
def test_unknown_columns_are_refused_everywhere(selection):
    with pytest.raises(SelectionError, match="there is no column x"):
        select(frame_of([]), selection)


def test_an_empty_result_takes_every_condition():
    assert chosen([], "eps<0.1,engine=sat,note~x,certified=no") == []
    untyped = pd.DataFrame([], columns=NAMES)
    assert len(select(untyped, Selection(where=parse_conditions("eps<0.1"), group_by=("engine",)))) == 0


def test_conditions_read_as_they_were_written():
    (found,) = parse_conditions(" eps <= 0.5 ")
    assert found == Condition("eps", "<=", ("0.5",))
    assert str(parse_conditions("engine==a|b")[0]) == "engine=a|b"
