"""A travelling preparation applied to raw rows: all that keeps them from being model input, at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from wm.datasets.cells import Cells
from wm.datasets.columns import Column
from wm.datasets.frames import frame_cells
from wm.datasets.preparation import CategoryColumn, NumberColumn, Preparation, encoded, fitted
from wm.datasets.preparing import Categorical, Preparing, prepare
from wm.datasets.problems import Situation, line, quoted, refusal
from wm.datasets.wording import as_argument, as_key, shown
from wm.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


def model_rows(preparation: Preparation, cells: Cells) -> tuple[NDArray[np.float32], tuple[str, ...]]:
    """Return the model input of a raw table, (n, d), all of it finite, and what was done, a line each.

    Columns are found by their names, in any order; by their places if there are as many as the preparation
    has, without names or with quite other ones. Others are not used. Text that a one-hot encoded column does
    not know, or a missing value for which it has no feature, makes all its features 0; a note says so.

    Raises
    ------
    DataError
        Columns are missing, or have cells that cannot be model input; each has a line.
    """
    X, notes = _gathered(preparation, cells, may_miss=False)
    X = X if preparation.scaling is None else preparation.scaling.scaled(X)
    return _as_float32(X, preparation, cells), notes


def number_rows(
    names: Sequence[str], cells: Cells, *, may_miss: bool
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return the numbers of a raw table for a model of plain columns, (n, d), and what was done, a line each.

    Parameters
    ----------
    names
        The model's d columns; found as in `model_rows`.
    may_miss
        Whether a missing value is NaN, or refused.

    Raises
    ------
    DataError
        As in `model_rows`.
    """
    return _gathered(Preparation.of_numbers(names), cells, may_miss=may_miss)


def _gathered(
    preparation: Preparation, cells: Cells, *, may_miss: bool
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return a preparation's features before they are scaled, and what was done, a line each."""
    found = _found(preparation, cells)
    rows = len(found[0].values)
    situation = Situation(rows, rows, cells.place, as_key)
    problems: list[str] = []
    parts: list[NDArray[np.float64]] = []
    notes: list[str] = []
    for part, column in zip(preparation.columns, found, strict=True):
        values, bad, of_none = encoded(part, column)
        if isinstance(part, CategoryColumn) and part.kind == "onehot":
            if others := int((bad | of_none).sum()):
                notes.append(
                    f"column {part.name!r}: {others} of {rows} rows have a value that the model does not "
                    f"know ({quoted(_words(column, bad | of_none))}): as none of its values"
                )
        else:
            problems += _problems(part, column, bad, of_none & (not may_miss), situation)
        parts.append(values)
    if problems:
        raise DataError(refusal(cells.where, problems))
    used = {column.name for column in found}
    if unused := [column.name for column in cells.columns if column.name not in used]:
        notes.append(f"the model does not use {shown(unused)}")
    if cells.is_named and _by_place(preparation, cells):
        notes.append("none of its columns has a name that the model knows: they go by their places")
    return np.hstack(parts), tuple(f"{cells.where}: {note}" for note in notes)


def frame_input(
    X: Any, *, categorical: Categorical, missing: Literal["refuse", "median"]
) -> tuple[Any, Preparation | None]:
    """Return the model input of a frame of training rows, and its preparation; X and None for an array.

    Raises
    ------
    DataError
        As in `wm.datasets.preparing.prepare`, or options for an array.
    """
    if not (hasattr(X, "dtypes") and hasattr(X, "columns")):
        if (categorical, missing) != ("refuse", "refuse"):
            raise DataError("categorical and missing are for pandas frames: arrays are model input")
        return X, None
    for name, value, allowed in (
        ("missing", missing, ("refuse", "median")),
        ("categorical", categorical, get_args(Categorical)),
    ):
        if value not in allowed:
            raise DataError(f"{name}={value!r}: must be {' or '.join(map(repr, allowed))}")
    cells = frame_cells(X, where="the frame", label=None, labelled=False)
    done = prepare(
        cells.columns,
        keep=np.ones(len(X), dtype=np.bool_),
        where=cells.where,
        place=cells.place,
        options=Preparing(missing, categorical),
        naming=as_argument,
    )
    preparation = fitted(done.columns, done.X, fill=missing == "median")
    return model_rows(preparation, cells)[0], preparation


def frame_rows(preparation: Preparation, frame: pd.DataFrame) -> NDArray[np.float32]:
    """Return the model input of a pandas frame of raw rows; errors as in `model_rows`."""
    return model_rows(preparation, frame_cells(frame, where="the frame", label=None, labelled=False))[0]


def _by_place(preparation: Preparation, cells: Cells) -> bool:
    """Return whether columns go by their places: as many as wanted, and no name in common."""
    if len(cells.columns) != len(preparation.columns):
        return False
    wanted = {column.name for column in preparation.columns}
    return not cells.is_named or wanted.isdisjoint(column.name for column in cells.columns)


def _found(preparation: Preparation, cells: Cells) -> list[Column]:
    """Return the table's column for each one of the preparation."""
    wanted = [column.name for column in preparation.columns]
    known = {column.name: column for column in cells.columns}
    if _by_place(preparation, cells):
        return list(cells.columns)
    if lacking := [name for name in wanted if name not in known]:
        have = f"it has {shown(list(known))}" if cells.is_named else f"it has {len(known)} without names"
        raise DataError(f"{cells.where}: the model takes {len(wanted)} columns; {have}, not {shown(lacking)}")
    return [known[name] for name in wanted]


def _problems(
    part: NumberColumn | CategoryColumn,
    column: Column,
    unknown: NDArray[np.bool_],
    of_none: NDArray[np.bool_],
    situation: Situation,
) -> list[str]:
    advice = "correct them, or leave these rows out"
    wanted = (
        "text instead of numbers" if isinstance(part, NumberColumn) else "values that the model does not know"
    )
    kinds = {
        "missing values, which the model does not take,": of_none,
        f"{wanted} ({quoted(_words(column, unknown))})": unknown,
        "infinite values": np.isinf(column.values),
    }
    found = [line(column, kind, bad, situation, advice) for kind, bad in kinds.items() if bad.any()]
    if column.mixed:
        found.append(f"column {column.name!r}: decimal commas and decimal points: write one or the other")
    return found


def _words(column: Column, rows: NDArray[np.bool_]) -> list[str]:
    """Return the words, or else numbers, of some rows of a column."""
    if column.codes is None:
        return [str(value) for value in np.unique(column.values[rows]).tolist()]
    codes = np.unique(column.codes[rows])
    words = [column.words[code] for code in codes.tolist() if code >= 0]
    numbers = column.values[rows & (column.codes < 0)]
    return [*words, *(str(value) for value in np.unique(numbers).tolist())]


def _as_float32(X: NDArray[np.float64], preparation: Preparation, cells: Cells) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        rows: NDArray[np.float32] = X.astype(np.float32)
    if not (finite := np.isfinite(rows)).all():
        row, feature = np.argwhere(~finite)[0]
        raise DataError(
            f"{cells.where}: {cells.place(int(row))}, {preparation.feature_names[feature]!r}: its value is "
            "more than a float32 can hold"
        )
    return rows
