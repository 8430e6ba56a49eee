"""Reader of text tables: what a row of them is, which column the label, and the rest as numbers."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterator

import numpy as np

from wm.datasets.columns import Column, ColumnBuilder, is_missing, with_decimal_commas
from wm.datasets.dialect import decoded, records, separator, sniffed
from wm.datasets.heading import has_header
from wm.datasets.labels import MISSING_LABELS, encode_labels
from wm.datasets.model import RawTable, column_names
from wm.datasets.preparing import Preparing, dropped, prepare
from wm.datasets.wording import Naming, as_key, shown
from wm.errors import DataError

_CHUNK_ROWS = 10_000
"""Rows that are text at a time: text takes ten times the memory of numbers."""

_COMPARED_CELLS = 500_000
"""Cells that are compared to find out whether the first row holds names."""

_Records = Iterator[tuple[int, list[str]]]


def parse_csv(
    content: bytes,
    *,
    where: str,
    label: str | int | None,
    header: bool | None = None,
    sep: str | None = None,
    preparing: Preparing | None = None,
    naming: Naming = as_key,
) -> RawTable:
    """Read a text table.

    Parameters
    ----------
    where
        Name of the text in errors.
    label, header, sep
        As in `wm.datasets.Source`.
    preparing
        How columns become numbers; None refuses those that are none.
    naming
        How errors name options.

    Raises
    ------
    DataError
        There is no such label or column, rows are missing or differ in length, the header is uncertain, or as
        in `prepare`.
    """
    options = preparing or Preparing()
    text, notes = decoded(content, where)
    dialect = sniffed(text, sep=None if sep is None else separator(sep), label=label)
    rows = records(text, dialect, where)
    head = list(itertools.islice(rows, _CHUNK_ROWS))
    if not head:
        raise DataError(f"{where}: the file is empty")
    names, head, said = _named(head, label=label, header=header, where=where, naming=naming)
    label_index = _label_index(names, label, where, naming)
    left_out = {label_index, *_dropped(names, label_index, options, where, naming)}
    features = [index for index in range(len(names)) if index not in left_out]
    may_have_commas = dialect.sep != "," or '"' in text  # where commas separate, a cell with one is in quotes
    columns, labels, lines = _gathered(
        itertools.chain(head, rows),
        names,
        features,
        label_index,
        plain="_" not in text,
        commas=may_have_commas,
        where=where,
    )
    if may_have_commas:
        columns = with_decimal_commas(columns)
        count = sum(column.commas for column in columns)
        said += (f"{where}: {count} columns have decimal commas",) if count else ()
    unlabelled = np.array([_is_unlabelled(name, options) for name in labels], dtype=np.bool_)
    done = prepare(
        columns,
        keep=~unlabelled if options.missing == "drop" else np.ones_like(unlabelled),
        where=where,
        place=lambda row: f"line {lines[row]}",
        options=options,
        naming=naming,
    )
    kept = np.array(labels, dtype=np.str_)[done.rows]
    return RawTable(
        where=where,
        X=done.X,
        labels=encode_labels(kept, where=where, naming=naming),
        feature_names=done.feature_names,
        notes=(*notes, *said, *done.notes),
        is_settled=True,
    )


def _named(
    head: list[tuple[int, list[str]]],
    *,
    label: str | int | None,
    header: bool | None,
    where: str,
    naming: Naming,
) -> tuple[tuple[str, ...], list[tuple[int, list[str]]], tuple[str, ...]]:
    """Return the columns' names, the first rows below them, and what to say of this."""
    width = len(head[0][1])
    _check_widths(iter(head), width, where)
    # Each line may end in a separator.
    while width > 1 and not any(cells[width - 1].strip() for _, cells in head):
        width -= 1
    compared = head[: max(20, _COMPARED_CELLS // width)]
    rows = [[cell.strip() for cell in cells[:width]] for _, cells in compared]
    notes: tuple[str, ...] = ()
    if header is None:
        header, notes = has_header(rows, label=label, where=where, naming=naming)
    if not header:
        return column_names(width), head, notes
    first = rows[0]
    if twice := sorted({name for name in first if first.count(name) > 1}):
        raise DataError(f"{where}: the header names {shown(twice)} more than once")
    return tuple(first), head[1:], notes


def _check_widths(rows: _Records, width: int, where: str) -> None:
    for line, cells in rows:
        if len(cells) < width or any(cells[width:]):
            raise DataError(
                f"{where}: line {line} has {len(cells)} values, the first row has {width} columns"
            )


def _gathered(
    rows: _Records,
    names: tuple[str, ...],
    features: list[int],
    label_index: int,
    *,
    plain: bool,
    commas: bool,
    where: str,
) -> tuple[list[Column], list[str], array[int]]:
    """Return the features' columns, each row's label, and the number of its line."""
    builders = [ColumnBuilder() for _ in features]
    labels: list[str] = []
    lines = array("Q")
    known: dict[str, str] = {}
    width = len(names)
    while chunk := list(itertools.islice(rows, _CHUNK_ROWS)):
        _check_widths(iter(chunk), width, where)
        lines.extend(line for line, _ in chunk)
        cells = list(zip(*(cells[:width] for _, cells in chunk), strict=True))
        known |= {cell: cell.strip() for cell in set(cells[label_index]) - known.keys()}
        labels += [known[cell] for cell in cells[label_index]]
        for builder, index in zip(builders, features, strict=True):
            builder.add(cells[index], plain=plain, commas=commas)
    if not labels:
        raise DataError(f"{where}: there are no rows below the header")
    columns = [builder.column(names[index]) for builder, index in zip(builders, features, strict=True)]
    return columns, labels, lines


def _is_unlabelled(name: str, options: Preparing) -> bool:
    """Return whether a row has no label; "?" and the like may be a class unless such rows are left out."""
    return name.lower() in MISSING_LABELS or (options.missing == "drop" and is_missing(name))


def _dropped(
    names: tuple[str, ...], label_index: int, options: Preparing, where: str, naming: Naming
) -> list[int]:
    found = dropped(names, options.drop, where=where, naming=naming)
    if label_index in found:
        raise DataError(f"{where}: column {names[label_index]!r} is the label: it cannot be dropped")
    return found


def _label_index(columns: tuple[str, ...], label: str | int | None, where: str, naming: Naming) -> int:
    choices = f"its {len(columns)} columns are {shown(columns)}"
    if label is None:
        raise DataError(f"{where}: say which column is the label with {naming('label', None)}; {choices}")
    if isinstance(label, str):
        if label not in columns:
            raise DataError(f"{where}: no column {label!r} for the label; {choices}")
        return columns.index(label)
    if not -len(columns) <= label < len(columns):
        raise DataError(f"{where}: no column number {label} for the label; {choices}")
    return label % len(columns)
