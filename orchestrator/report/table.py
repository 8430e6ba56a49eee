"""Tables as the page shows them: each number keeps its exact value next to its text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.report.data import CONFIGURATION, STATISTICS
from orchestrator.report.wording import MISSING, declared, p_value, p_value_of_log10, percent, seconds, signed
from orchestrator.results import COLUMNS

LONG = 12
"""Tables of more rows than this are folded."""

MAX_ROWS = 400
"""Rows of the longest table: beyond, `wm results` is the place to look."""

_SHORT = 40
"""Longest text of a column that leaves the table where it is the same in every row."""

Write = Callable[[Any], str]


@dataclass(frozen=True)
class Cell:
    """What a table shows at one place."""

    text: str
    """As it is read."""
    value: int | float | None = None
    """Exact value of a number; None for text and missing numbers."""
    note: str = ""
    """Says what `value` is where it is not what the text shows."""
    is_prose: bool = False
    """Whether the text is whole sentences, to be broken into lines."""
    ends: tuple[Cell, ...] = ()
    """Smallest and largest value of a sample whose middle the cell gives; empty where all are equal."""


@dataclass(frozen=True)
class Column:
    """A column."""

    title: str
    """Its heading."""
    cell: Callable[[Any], Cell]
    """Returns the cell of a row."""
    names_row: bool = False
    """Whether it names the row."""
    note: str = ""
    """Its documentation, shown at the heading."""


@dataclass(frozen=True)
class Table:
    """A table."""

    name: str
    """Unique on the page."""
    caption: str
    """One line."""
    columns: tuple[Column, ...]
    """Those that differ from row to row, in order."""
    rows: tuple[tuple[Cell, ...], ...]
    """A cell for each of these columns."""
    same: tuple[tuple[str, Cell], ...] = ()
    """Title and cell of each column that is the same in every row, shown once."""
    left_out: int = 0
    """Rows beyond `MAX_ROWS`."""
    names: tuple[str, ...] = ()
    """Titles of the columns that name a row, of those in `same` too."""

    @property
    def is_long(self) -> bool:
        """Whether to fold it."""
        return len(self.rows) > LONG


def make_table(name: str, frame: pd.DataFrame, *more: Column) -> Table:
    """Return a declared table.

    Parameters
    ----------
    name
        Its name there.
    frame
        A row for each of its rows.
    *more
        Further columns.
    """
    table = declared()["tables"][name]
    # Deviations are left out where no sample has several values.
    columns = [
        column
        for field in table["columns"]
        for column in _GROUPS.get(field[0], [field])
        if not (column[1].endswith("_std") and frame[column[1]].isna().all())
    ]
    notes = COLUMNS.get(table["results"], {})
    return _filled(name, table["caption"], [*(_column(frame, notes, *one) for one in columns), *more], frame)


def in_words(name: str, frame: pd.DataFrame, columns: Sequence[str]) -> str:
    """Return some columns of a declared table in words, one row after the other."""
    fields = [field for field in declared()["tables"][name]["columns"] if field[0] not in _GROUPS]
    places = [_column(frame, {}, *field) for field in fields if field[-1] == "row"]
    values = [(field[2], _column(frame, {}, *field)) for field in fields if field[1] in columns]
    rows = []
    for row in frame.itertuples():
        place = [getattr(row, "configuration", ""), *(column.cell(row).text for column in places)]
        said = [f"{title} {column.cell(row).text}" for title, column in values]
        rows.append(f"{', '.join(filter(None, place))}: {', '.join(said)}")
    return "; ".join(rows)


def _filled(name: str, caption: str, columns: Sequence[Column], frame: pd.DataFrame) -> Table:
    shown = frame.iloc[:MAX_ROWS]
    every = list(shown.itertuples())
    cells = [tuple(column.cell(row) for row in every) for column in columns]
    fixed = [
        len(shown) > 1 and len(set(column)) == 1 and len(column[0].text) <= _SHORT and not column[0].ends
        for column in cells
    ]
    if all(same for column, same in zip(columns, fixed, strict=True) if column.names_row):
        fixed[max(place for place, column in enumerate(columns) if column.names_row)] = False
    kept = [place for place, same in enumerate(fixed) if not same]
    return Table(
        name,
        caption,
        columns=tuple(columns[place] for place in kept),
        rows=tuple(zip(*(cells[place] for place in kept), strict=True)),
        same=tuple(
            (column.title, cell[0])
            for column, cell, same in zip(columns, cells, fixed, strict=True)
            if same and cell[0].text
        ),
        left_out=max(0, len(frame) - MAX_ROWS),
        names=tuple(column.title for column in columns if column.names_row),
    )


def _column(
    frame: pd.DataFrame, notes: Mapping[str, str], write: str, name: str, title: str, role: str = ""
) -> Column:
    """Return a column as it is declared."""
    is_sample = role in ("mean", "median")

    def cell(row: Any) -> Cell:
        if write == "prose":
            return sentence(getattr(row, name))
        if not is_sample:
            return cell_of(getattr(row, name), FORMATS[write])
        middle, low, high = (
            cell_of(getattr(row, f"{name}_{what}"), FORMATS[write]) for what in (role, "min", "max")
        )
        return middle if low.value == high.value else replace(middle, ends=(low, high))

    if is_sample and (frame[f"{name}_count"] > 1).any():
        title = f"{title} ({role}; min to max)"
    note = notes.get(name) or notes.get(re.sub(rf"_({'|'.join(STATISTICS)})$", "", name), "")
    return Column(title, cell, role == "row", note.replace("``", ""))


def cell_of(value: Any, write: Write) -> Cell:
    """Return the cell of a value, or a dash where there is none."""
    if value is None or value is pd.NA or value is pd.NaT or value != value:  # NaN is not itself
        return Cell(MISSING)
    if isinstance(value, str | bool | np.bool_):
        return Cell(write(value))
    number = int(value) if write is count else value.item() if isinstance(value, np.generic) else value
    note = f"log10 p = {number:.4g}" if write is p_value_of_log10 else ""
    return Cell(write(number), number, note)


def sentence(value: Any) -> Cell:
    """Return a cell of whole sentences."""
    return replace(cell_of(value if value != "" else None, str), is_prose=True)


def count(value: float) -> str:
    """Write a whole number."""
    return f"{int(value):,}"


area: Write = "{:.3f}".format

FORMATS: dict[str, Write] = {
    "accuracy": partial(percent, digits=2),
    "area": area,
    "count": count,
    "log10_p": p_value_of_log10,
    "mean": "{:.2f}".format,
    "p": p_value,
    "points": signed,
    "rate": partial(percent, digits=1),
    "seconds": seconds,
    "setting": "{:g}".format,
    "share": percent,
    "text": str,
}
"""Formats of columns; ``log10_p`` writes the p-value whose decimal logarithm is given."""

_PLACE: list[tuple[str, ...]] = [
    ("text", "scheme", "Scheme", "row"),
    ("share", "trigger_share", "Trigger share", "row"),
    ("share", "ones_share", "Ones share", "row"),
]
_GROUPS: dict[str, list[tuple[str, ...]]] = {
    "place": _PLACE,
    "forest": [*_PLACE, ("count", "repeat", "Repeat", "row")],
}
"""Columns of a way of embedding, and of one forest."""


def frame_table(name: str, caption: str, frame: pd.DataFrame) -> Table:
    """Return a frame as a table, column by column: what is shown of an attack that has no section."""
    plain = frame[[name for name in frame if not frame[name].map(np.ndim).any()]]

    def column(place: int, title: str) -> Column:
        names_row = place == 0 or title in (*CONFIGURATION, "repeat")
        return Column(title, lambda row: cell_of(row[place + 1], _plain), names_row)

    return _filled(name, caption, [column(*one) for one in enumerate(map(str, plain))], plain)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else str(value) if isinstance(value, bool) else f"{value:.6g}"
