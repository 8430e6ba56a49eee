"""Reader of comma-separated text whose columns, except the label, are numbers."""

from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Iterator

import numpy as np

from wm.datasets.labels import encode_labels
from wm.datasets.model import RawTable, column_names
from wm.datasets.wording import shown
from wm.errors import DataError
from wm.formats.csv_cells import number, rows_of

_TRUTH = {"true": 1.0, "false": 0.0, "": math.nan}
"""Values of cells that hold no number; an empty cell is a missing value."""


def parse_csv(content: bytes, *, where: str, label: str | int | None, header: bool | None) -> RawTable:
    """Read csv text (UTF-8, commas, optional quotes).

    Parameters
    ----------
    where
        Name of the text in errors.
    label, header
        As in `wm.datasets.Source`.

    Raises
    ------
    DataError
        There is no such label, a feature is not a number, or rows are missing or differ in length.
    """
    rows = rows_of(content, error=DataError, what=where)
    first = next(rows, None)
    if first is None:
        raise DataError(f"{where}: the file is empty")
    if _has_header(first[1], label=label, header=header, where=where):
        columns = _checked_header(first[1], where)
    else:
        columns = column_names(len(first[1]))
        rows = itertools.chain([first], rows)
    return _read_rows(rows, columns, _label_index(columns, label, where), where)


def _read_rows(
    rows: Iterator[tuple[int, list[str]]], columns: tuple[str, ...], label_index: int, where: str
) -> RawTable:
    values = array("d")
    labels: list[str] = []
    features = columns[:label_index] + columns[label_index + 1 :]
    for line, cells in rows:
        labels.append(cells.pop(label_index))
        for cell, name in zip(cells, features, strict=True):
            value = _value(cell)
            if value is None:
                raise DataError(
                    f"{where}: line {line}, column {name!r}: {cell!r} is not a number: "
                    "encode or drop this column"
                )
            values.append(value)
    if not labels:
        raise DataError(f"{where}: there are no rows below the header")
    return RawTable(
        where=where,
        X=np.array(values, dtype=np.float64).reshape(len(labels), len(features)),
        labels=encode_labels(np.array(labels, dtype=np.str_), where=where),
        feature_names=features,
    )


def _value(cell: str) -> float | None:
    value = number(cell)
    return _TRUTH.get(cell.lower()) if value is None else value


def _has_header(first_row: list[str], *, label: str | int | None, header: bool | None, where: str) -> bool:
    if header is not None:
        return header
    if isinstance(label, str) and label in first_row:
        return True
    cells = list(first_row)
    if isinstance(label, int) and -len(cells) <= label < len(cells):
        # The label may be a word in every row, so it does not indicate a header.
        del cells[label]
    numbers = [bool(cell) and _value(cell) is not None for cell in cells]
    if any(numbers) and not all(numbers):
        word = cells[numbers.index(False)]
        raise DataError(
            f"{where}: the first row mixes numbers with {word!r}: is it names or values? "
            "Say header = true or false"
        )
    return not any(numbers)


def _checked_header(first_row: list[str], where: str) -> tuple[str, ...]:
    twice = sorted({name for name in first_row if first_row.count(name) > 1})
    if twice:
        raise DataError(f"{where}: the header names {shown(twice)} more than once")
    return tuple(first_row)


def _label_index(columns: tuple[str, ...], label: str | int | None, where: str) -> int:
    choices = f"its {len(columns)} columns are {shown(columns)}"
    if label is None:
        raise DataError(f"{where}: say which column is the label with label =; {choices}")
    if isinstance(label, str):
        if label not in columns:
            raise DataError(f"{where}: no column {label!r} for the label; {choices}")
        return columns.index(label)
    if not -len(columns) <= label < len(columns):
        raise DataError(f"{where}: no column number {label} for the label; {choices}")
    return label % len(columns)
