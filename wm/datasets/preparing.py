"""From columns of cells to numbers: categories encoded, missing values treated, everything else refused.

A pure step: the same columns and options give the same numbers. What cannot be used is refused with a line
for each column, all of them at once; `problems` has the words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wm.datasets.columns import Column, is_missing
from wm.datasets.model import RawTable
from wm.datasets.preparation import NO_VALUE, TRUTH, CategoryColumn, NumberColumn, number_name
from wm.datasets.problems import Situation, infinite, missing, mixed, refusal, text
from wm.datasets.wording import Naming, shown
from wm.errors import DataError

Missing = Literal["refuse", "drop", "median"]
"""What becomes of missing values: an error, rows left out, or the median of the training rows."""

Categorical = Literal["refuse", "onehot", "ordinal"]
"""What becomes of text: an error, a feature of 0 and 1 for each value, or its place in sorted order."""

MAX_ONEHOT = 256
"""Most values of a column that is one-hot encoded: more are rather names, numbers of records or free text."""


@dataclass(frozen=True)
class Preparing:
    """How raw columns become numbers; `drop` has names of columns, or indexes (negative: from the right)."""

    missing: Missing = "refuse"
    categorical: Categorical = "refuse"
    drop: tuple[str | int, ...] = ()


@dataclass(frozen=True, eq=False)
class Prepared:
    """Numbers for each row that is kept.

    Attributes
    ----------
    X
        (k, d) float64, finite; with `missing` "median" NaN where a value is missing.
    columns
        The raw columns that the features come of, in order.
    rows
        (n,) bool, the k rows that are kept.
    notes
        What was done, a line each.
    """

    X: NDArray[np.float64]
    columns: tuple[NumberColumn | CategoryColumn, ...]
    rows: NDArray[np.bool_]
    notes: tuple[str, ...]


def dropped(columns: Sequence[str], drop: Sequence[str | int], *, where: str, naming: Naming) -> list[int]:
    """Return the indexes of the columns to leave out.

    Raises
    ------
    DataError
        There is no such column.
    """
    found = []
    for each in drop:
        if str(each) in columns:  # a column of that very name comes before the column of that number
            found.append(list(columns).index(str(each)))
        elif isinstance(each, int) and -len(columns) <= each < len(columns):
            found.append(each % len(columns))
        else:
            raise DataError(f"{where}: {naming('drop', [each])}: no such column; they are {shown(columns)}")
    return found


def prepare(
    columns: Sequence[Column],
    *,
    keep: NDArray[np.bool_],
    where: str,
    place: Callable[[int], str],
    options: Preparing,
    naming: Naming,
) -> Prepared:
    """Return the numbers of some columns.

    Parameters
    ----------
    columns
        Those that are features, of n cells each.
    keep
        (n,) bool, the rows whose label is known.
    where, place
        Names of the table, and of a row by its index, in errors.

    Raises
    ------
    DataError
        Text, missing or infinite values that the options refuse, or no rows are left.
    """
    gaps = [column.missing for column in columns]
    whole = keep & ~np.logical_or.reduce([np.zeros_like(keep), *gaps])
    situation = Situation(len(keep), int(whole.sum()), place, naming)
    problems: list[str] = []
    parts: list[NDArray[np.float64]] = []
    raw: list[NumberColumn | CategoryColumn] = []
    encoded: list[int] = []
    own_value = 0
    for original, none in zip(columns, gaps, strict=True):
        column = _with_truth(original)
        if none.any() and (options.missing == "refuse" or none.all()):
            problems.append(missing(original, none, situation))
        if (unlimited := np.isinf(column.values)).any():
            problems.append(infinite(column, unlimited, situation))
        if column.mixed:
            problems.append(mixed(column, situation))
        if column.codes is None or not _has_text(column):
            parts.append(column.values[:, None])
            raw.append(NumberColumn(name=column.name, words=_truth_words(original, column)))
        elif (refused := text(column, options.categorical, MAX_ONEHOT, situation)) is not None:
            problems.append(refused)
        elif options.categorical != "refuse":  # which the line above has seen to
            part, values = _encoded(column, none, options)
            parts.append(part)
            raw.append(CategoryColumn(kind=options.categorical, name=column.name, values=values))
            encoded.append(part.shape[1])
            own_value += bool(none.any() and options.missing == "median")
    if problems:
        raise DataError(refusal(where, problems))
    names = [name for column in raw for name in column.feature_names]
    if twice := sorted(
        {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else ()
    ):
        raise DataError(f"{where}: one-hot encoding gives {shown(twice)} more than once: rename a column")
    rows = whole if options.missing == "drop" else keep
    if not rows.any():
        raise DataError(
            f"{where}: each of its {len(keep)} rows lacks a value: {naming('missing', 'median')} keeps them"
        )
    X = np.hstack(parts) if parts else np.zeros((len(rows), 0))
    X = X if rows.all() else X[rows]
    return Prepared(
        X, tuple(raw), rows, tuple(f"{where}: {each}" for each in _said(rows, X, encoded, own_value, options))
    )


def settled(table: RawTable, options: Preparing, naming: Naming) -> RawTable:
    """Return a table of numbers without columns to be dropped, and with its missing values treated.

    Raises
    ------
    DataError
        As in `prepare`.
    """
    if options.drop:
        out = set(dropped(table.feature_names, options.drop, where=table.where, naming=naming))
        left = [index for index in range(len(table.feature_names)) if index not in out]
        names = tuple(table.feature_names[index] for index in left)
        table = replace(table, X=table.X[:, left], feature_names=names)
    if np.isfinite(table.X).all():
        return table
    done = prepare(
        [Column(name, values) for name, values in zip(table.feature_names, table.X.T, strict=True)],
        keep=np.ones(len(table.X), dtype=np.bool_),
        where=table.where,
        place=lambda row: f"row {row + 1}",
        options=options,
        naming=naming,
    )
    return replace(
        table,
        X=done.X,
        columns=done.columns,
        labels=replace(table.labels, codes=table.labels.codes[done.rows]),
        test_mask=None if table.test_mask is None else table.test_mask[done.rows],
        notes=(*table.notes, *done.notes),
    )


def _said(
    rows: NDArray[np.bool_], X: NDArray[np.float64], encoded: list[int], own_value: int, options: Preparing
) -> list[str]:
    notes = []
    if options.missing == "drop" and not rows.all():
        notes.append(f"{int((~rows).sum())} of {len(rows)} rows left out, which lack a value")
    if options.missing == "median" and (gaps := np.isnan(X)).any():
        columns = int(gaps.any(axis=0).sum())
        notes.append(
            f"the median of the training rows stands for missing values: {int(gaps.sum())} in {columns} "
            f"column{'s' * (columns > 1)}"
        )
    if own_value:
        texts = f"{own_value} column{'s' * (own_value > 1)} of text"
        notes.append(f"missing values in {texts} are a value of their own, {NO_VALUE!r}")
    texts = f"{len(encoded)} column{'s' * (len(encoded) > 1)} of text"
    if encoded and options.categorical == "onehot":
        notes.append(f"{texts} as {sum(encoded)} features of 0 and 1")
    if encoded and options.categorical == "ordinal":
        notes.append(f"{texts} as numbers from 0, in sorted order of their values")
    return notes


def _has_text(column: Column) -> bool:
    return any(not is_missing(word) for word in column.words)


def _with_truth(column: Column) -> Column:
    """Return a column with true and false as 1 and 0; yes and no too, if there is nothing else."""
    words = {word.lower() for word in column.words if not is_missing(word)}
    plain = words <= {"true", "false"}
    if not words or not (plain or (words <= TRUTH.keys() and np.isnan(column.values).all())):
        return column
    return column.with_numbers([TRUTH.get(word.lower()) for word in column.words])


def _truth_words(original: Column, column: Column) -> tuple[str, str] | None:
    """Return the words for 0 and 1 of a column that has some, as it writes them; None if it has none."""
    if original.codes is None or len(original.words) == len(column.words):
        return None
    written = {word.lower(): word for word in original.words}
    pairs = (("no", "yes"), ("false", "true"))
    zero, one = next(pair for pair in pairs if written.keys() & set(pair))
    return written.get(zero, zero), written.get(one, one)


def _encoded(
    column: Column, none: NDArray[np.bool_], options: Preparing
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return the features of a column of text, (n, k), and the values that they stand for.

    A missing value is NaN for rows that will be left out, else a value of its own: text has no median.
    """
    cells = np.array(column.words, dtype=object)[column.codes]
    known = ~np.isnan(column.values)
    cells[known] = [number_name(value) for value in column.values[known].tolist()]
    cells[none] = NO_VALUE
    values, codes = np.unique(cells.astype(np.str_), return_inverse=True)
    if options.missing == "drop":
        values = values[values != NO_VALUE]
        codes = np.searchsorted(values, np.where(none, values[0], cells).astype(np.str_))
    if options.categorical == "ordinal":
        part = codes.astype(np.float64)[:, None]
    else:
        part = (codes[:, None] == np.arange(len(values))).astype(np.float64)
    return part, tuple(values.tolist())
