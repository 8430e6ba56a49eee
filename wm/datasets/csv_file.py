"""Reader of text tables: what a row of them is, which column the label, and the rest as numbers."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterator, Sequence

from wm.datasets.cells import Cells, feature_places, label_place
from wm.datasets.columns import Column, ColumnBuilder, with_decimal_commas
from wm.datasets.dialect import decoded, records, separator, sniffed
from wm.datasets.heading import has_header
from wm.datasets.model import column_names
from wm.datasets.wording import Naming, as_key, shown
from wm.errors import DataError

_CHUNK_ROWS = 10_000
"""Rows that are text at a time: text takes ten times the memory of numbers."""

_COMPARED_CELLS = 500_000
"""Cells that are compared to find out whether the first row holds names."""

_Records = Iterator[tuple[int, list[str]]]


def read_csv(
    content: bytes,
    *,
    where: str,
    label: str | int | None,
    header: bool | None = None,
    sep: str | None = None,
    drop: Sequence[str | int] = (),
    known: str | None = None,
    naming: Naming = as_key,
) -> Cells:
    """Read a text table.

    Parameters
    ----------
    where
        Name of the text in errors.
    label, header, sep, drop
        As in `wm.datasets.Source`.
    known
        Name of a column that a table without labels should have; then no column is the label.
    naming
        How errors name options.

    Raises
    ------
    DataError
        There is no such label or column, rows are missing or differ in length, or the header is uncertain.
    """
    text, notes = decoded(content, where)
    hint = label if known is None else known
    dialect = sniffed(text, sep=None if sep is None else separator(sep), label=hint)
    rows = records(text, dialect, where, keep_empty=known is not None)
    head = list(itertools.islice(rows, _CHUNK_ROWS))
    if not head:
        raise DataError(f"{where}: the file is empty")
    names, head, said, named = _named(head, label=hint, header=header, where=where, naming=naming)
    place = label_place(names, label, where, naming) if known is None else None
    features = feature_places(names, place, drop, where=where, naming=naming)
    may_have_commas = dialect.sep != "," or '"' in text  # where commas separate, a cell with one is in quotes
    columns, labels, lines = _gathered(
        itertools.chain(head, rows),
        names,
        features,
        place,
        plain="_" not in text,
        commas=may_have_commas,
        where=where,
    )
    if may_have_commas:
        columns = with_decimal_commas(columns)
        count = sum(column.commas for column in columns)
        said += (f"{where}: decimal commas in {count} column{'s' * (count > 1)}",) if count else ()
    return Cells(
        where=where,
        columns=tuple(columns),
        labels=None if place is None else labels,
        place=lambda row: f"line {lines[row]}",
        is_named=named,
        notes=(*notes, *said),
    )


def _named(
    head: list[tuple[int, list[str]]],
    *,
    label: str | int | None,
    header: bool | None,
    where: str,
    naming: Naming,
) -> tuple[tuple[str, ...], list[tuple[int, list[str]]], tuple[str, ...], bool]:
    """Return the columns' names, the first rows below, what to say, and whether the names are its own."""
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
        return column_names(width), head, notes, False
    first = rows[0]
    if twice := sorted({name for name in first if first.count(name) > 1}):
        raise DataError(f"{where}: the header names {shown(twice)} more than once")
    return tuple(first), head[1:], notes, True


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
    label_index: int | None,
    *,
    plain: bool,
    commas: bool,
    where: str,
) -> tuple[list[Column], list[str], array[int]]:
    """Return the features' columns, each row's label if there are any, and the number of its line."""
    builders = [ColumnBuilder() for _ in features]
    labels: list[str] = []
    lines = array("Q")
    known: dict[str, str] = {}
    width = len(names)
    while chunk := list(itertools.islice(rows, _CHUNK_ROWS)):
        _check_widths(iter(chunk), width, where)
        lines.extend(line for line, _ in chunk)
        cells = list(zip(*(cells[:width] for _, cells in chunk), strict=True))
        if label_index is not None:
            known |= {cell: cell.strip() for cell in set(cells[label_index]) - known.keys()}
            labels += [known[cell] for cell in cells[label_index]]
        for builder, index in zip(builders, features, strict=True):
            builder.add(cells[index], plain=plain, commas=commas)
    if not lines:
        raise DataError(f"{where}: there are no rows below the header")
    columns = [builder.column(names[index]) for builder, index in zip(builders, features, strict=True)]
    return columns, labels, lines
