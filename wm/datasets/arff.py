"""Reader of ARFF files, Weka's format: named attributes, then rows.

scipy's reader refuses text attributes, and quotes that the first row does not have; here all cells become
those of a text table, so that what cannot be used is refused with what helps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from wm.datasets.cells import Cells, feature_places, label_place
from wm.datasets.columns import ColumnBuilder
from wm.datasets.dialect import decoded
from wm.datasets.wording import Naming, shown
from wm.errors import DataError

_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|\S+)\s+(\S.*)", re.IGNORECASE)
_CELL = re.compile(rf"\s*({_QUOTED}|[^,]*?)\s*(?:,|$)")


def read_arff(
    content: bytes,
    *,
    where: str,
    label: str | int | None,
    drop: Sequence[str | int],
    labelled: bool = True,
    naming: Naming,
) -> Cells:
    """Return the raw columns and labels of an ARFF file; by convention its last attribute is the label.

    Parameters
    ----------
    label, drop
        As in `wm.datasets.Source`.
    labelled
        Whether one of the columns is the label.

    Raises
    ------
    DataError
        The file is malformed or sparse, or has no such column.
    """
    text, notes = decoded(content, where)
    lines = ((number, line.strip()) for number, line in enumerate(text.splitlines(), start=1))
    rows = ((number, line) for number, line in lines if line and not line.startswith("%"))
    names = _names(rows, where)
    cells, places = [], []
    for number, line in rows:
        cells.append(_row(line, len(names), f"{where}: line {number}"))
        places.append(number)
    if not cells:
        raise DataError(f"{where}: there are no rows below @data")
    place = None
    if labelled:
        place = label_place(names, -1 if label is None else label, where, naming)
    columns = []
    for index in feature_places(names, place, drop, where=where, naming=naming):
        builder = ColumnBuilder()
        builder.add([row[index] for row in cells], plain="_" not in text, commas=False)
        columns.append(builder.column(names[index]))
    return Cells(
        where=where,
        columns=tuple(columns),
        labels=None if place is None else ["" if row[place] == "?" else row[place].strip() for row in cells],
        place=lambda row: f"line {places[row]}",
        notes=notes,
    )


def _names(rows: Iterator[tuple[int, str]], where: str) -> list[str]:
    """Read the names of the attributes, up to the rows."""
    names: list[str] = []
    for number, line in rows:
        keyword = line.split(maxsplit=1)[0].lower()
        if keyword == "@data":
            break
        if keyword == "@attribute":
            found = _ATTRIBUTE.fullmatch(line)
            if found is None or found[2].lower().startswith("relational"):
                raise DataError(f"{where}: line {number}: not an attribute with a name and a plain type")
            names.append(_plain(found[1]))
        elif keyword != "@relation":
            raise DataError(
                f"{where}: line {number}: {line[:20]!r} is neither @relation, @attribute nor @data"
            )
    if not names:
        raise DataError(f"{where}: not an ARFF file: it names no @attribute")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise DataError(f"{where}: attributes {shown(twice)} occur more than once")
    return names


def _row(line: str, width: int, place: str) -> list[str]:
    if line.startswith("{"):
        raise DataError(f"{place}: sparse ARFF is not read: write its rows in full, or as LIBSVM text")
    cells, start = [], 0
    while start <= len(line):
        found = _CELL.match(line, start)
        if found is None:
            raise DataError(f"{place}: quotes do not end")
        cells.append(_plain(found[1]))
        start = found.end() if found.end() > start and line[found.end() - 1] == "," else len(line) + 1
    if len(cells) == width + 1 and cells[-1].startswith("{"):
        cells.pop()  # the row's weight
    if len(cells) != width:
        raise DataError(f"{place} has {len(cells)} values, there are {width} attributes")
    return cells


def _plain(cell: str) -> str:
    """Return a cell without quotes and escapes."""
    if len(cell) > 1 and cell[0] == cell[-1] and cell[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", cell[1:-1])
    return cell
