"""Columns that lose their values in float32, and what is said of them."""

from __future__ import annotations

import numpy as np
import pytest

from wm.datasets import Dataset, split
from wm.datasets.narrowing import narrowed_columns
from wm.datasets.wording import as_flag

RNG = np.random.default_rng(0)
X = RNG.normal(size=400)


def lines_of(columns, scaling="raw"):
    rows = np.column_stack(list(columns.values()))
    data = Dataset("w", rows, np.arange(len(rows)) % 2, ("0", "1"), tuple(columns))
    return narrowed_columns(data, split(data, seed=0, scaling=scaling), as_flag)


def test_columns_that_become_one_or_few_values_are_named():
    time = 1.6e9 + 300 * X
    few = len(np.unique(time.astype(np.float32)))
    assert few > 5
    assert lines_of({"off": 1e6 + 1e-3 * X, "plain": X, "time": time}) == [
        "column 'off': 400 values become 1 as float32: give --scaling train or --drop off",
        f"column 'time': 400 values become {few} as float32: give --scaling train or --drop time",
    ]


def test_another_unit_is_advised_where_scaling_does_not_help():
    apart = np.where(np.arange(len(X)) % 10 == 0, 0.0, 1 + 1e-12 * X)
    count = len(np.unique(apart))
    assert lines_of({"tiny": 1e-50 * X, "apart": apart}) == [
        "column 'tiny': 400 values become 1 as float32: change its unit, or give --drop tiny",
        f"column 'apart': {count} values become 2 as float32: change its unit, or give --drop apart",
    ]
    assert lines_of({"apart": apart, "plain": X}, scaling="train") == lines_of({"apart": apart})


@pytest.mark.parametrize(
    ("column", "scaling"),
    [
        (X, "raw"),
        (1e6 + 1e-3 * X, "train"),
        (np.full(400, 1.1), "raw"),
        (1e6 + 1e-3 * np.round(X), "raw"),
        (1e4 + 0.01 * X, "raw"),
    ],
    ids=["plain", "scaled", "constant", "few values", "half of them"],
)
def test_nothing_is_said_of_columns_that_keep_what_they_have(column, scaling):
    assert lines_of({"a": column}, scaling=scaling) == []


def test_gaps_count_as_no_value():
    gaps = np.where(RNG.random(400) < 0.5, np.nan, 1e9 + X)
    (line,) = lines_of({"a": gaps, "plain": X})
    assert line.startswith(f"column 'a': {np.isfinite(gaps).sum()} values become 1 as float32")


def test_at_most_five_columns_have_a_line():
    lines = lines_of({f"c{place}": 1e9 + X for place in range(8)})
    assert len(lines) == 6
    assert lines[-1] == "so do the values of 3 more columns"
