"""Tables as the page shows them: each number keeps its exact value beside its text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.report.data import CONFIGURATION
from orchestrator.report.wording import MISSING, p_value, p_value_of_log10, percent, seconds, signed

LONG = 12
"""Tables of more rows than this are folded."""

MAX_ROWS = 400
"""Rows of the longest table: beyond, `wm results` is the place to look."""

_SHORT = 40
"""Longest text of a column that leaves the table where it is the same in every row."""

Write = Callable[[Any], str]


@dataclass(frozen=True)
class Cell:
    """What a table shows at one place.

    Attributes
    ----------
    text
        As people read it.
    value
        Exact value of a number; None for text and missing numbers.
    note
        Says what `value` is where it is not what the text shows.
    is_prose
        Whether the text is whole sentences, to be broken into lines.
    ends
        Smallest and largest value of a sample whose middle the cell gives; empty where all are equal.
    """

    text: str
    value: int | float | None = None
    note: str = ""
    is_prose: bool = False
    ends: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class Column:
    """A column: its title, the cell of a row, and whether it names the row."""

    title: str
    cell: Callable[[Any], Cell]
    names_row: bool = False


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes
    ----------
    name, caption
        Unique on the page; one line.
    columns, rows
        What differs from row to row, in order.
    same
        Title and cell of each column that is the same in every row, and so is said once.
    left_out
        Rows beyond `MAX_ROWS`.
    """

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    same: tuple[tuple[str, Cell], ...] = ()
    left_out: int = 0

    @property
    def is_long(self) -> bool:
        """Whether to fold it."""
        return len(self.rows) > LONG


def make_table(name: str, caption: str, columns: Sequence[Column], frame: pd.DataFrame) -> Table:
    """Return a table with a row for each row of a frame."""
    shown = frame.iloc[:MAX_ROWS]
    cells = [tuple(column.cell(row) for row in shown.itertuples()) for column in columns]
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
        same=tuple((columns[place].title, cells[place][0]) for place, same in enumerate(fixed) if same),
        left_out=max(0, len(frame) - MAX_ROWS),
    )


def cell_of(value: Any, write: Write) -> Cell:
    """Return the cell of a value, or a dash where there is none."""
    if value is None or value is pd.NA or value is pd.NaT or value != value:  # NaN is not itself
        return Cell(MISSING)
    if isinstance(value, str | bool | np.bool_):
        return Cell(write(value))
    number = int(value) if write is count else value.item() if isinstance(value, np.generic) else value
    note = f"log10 p = {number:.4g}" if write is p_value_of_log10 else ""
    return Cell(write(number), number, note)


def column(title: str, name: str, write: Write, *, names_row: bool = False) -> Column:
    """Return a column of a frame."""
    return Column(title, lambda row: cell_of(getattr(row, name), write), names_row)


def named(title: str, name: str, write: Write = str) -> Column:
    """Return a column that names the row."""
    return column(title, name, write, names_row=True)


def prose(title: str, name: str) -> Column:
    """Return a column of whole sentences."""
    return Column(title, lambda row: sentence(getattr(row, name)))


def sentence(value: Any) -> Cell:
    """Return a cell of whole sentences."""
    return replace(cell_of(value if value != "" else None, str), is_prose=True)


def over(title: str, name: str, write: Write, summary: pd.DataFrame, centre: str = "mean") -> Column:
    """Return a column of a sample's middle and ends, of a frame that `data.summarise` made.

    Parameters
    ----------
    title
        Says which middle where a sample has several values.
    name
        The column that was summarised.
    summary
        All rows of the table.
    centre
        ``mean`` or ``median``.
    """
    several = bool((summary[f"{name}_count"] > 1).any())

    def cell(row: Any) -> Cell:
        middle, low, high = (
            cell_of(getattr(row, f"{name}_{what}"), write) for what in (centre, "min", "max")
        )
        return middle if low.value == high.value else replace(middle, ends=(low, high))

    return Column(f"{title} ({centre}; min to max)" if several else title, cell)


def share(value: float) -> str:
    """Write a share as given in a campaign file."""
    return percent(value)


def rate(value: float) -> str:
    """Write a share as a percentage with one decimal."""
    return percent(value, 1)


def accuracy(value: float) -> str:
    """Write a share as a percentage with two decimals."""
    return percent(value, 2)


def count(value: float) -> str:
    """Write a whole number."""
    return f"{int(value):,}"


def mean(value: float) -> str:
    """Write a mean of counts, or a median."""
    return f"{value:.2f}"


def area(value: float) -> str:
    """Write an area under a curve, or another number near 1."""
    return f"{value:.3f}"


def setting(value: float) -> str:
    """Write a number that was set, with the digits that it has."""
    return f"{value:g}"


points, p, log10_p, duration = signed, p_value, p_value_of_log10, seconds
"""Differences in percentage points, p-values, these given as decimal logarithms, durations in seconds."""

PLACE = [
    named("Scheme", "scheme"),
    named("Trigger share", "trigger_share", share),
    named("Ones share", "ones_share", share),
]
"""Columns of a way of embedding."""

FOREST = [*PLACE, named("Repeat", "repeat", count)]
"""Columns of one forest."""


def frame_table(name: str, caption: str, frame: pd.DataFrame) -> Table:
    """Return a frame as a table, column by column: what is shown of an attack that has no section."""
    plain = frame[[name for name in frame if not frame[name].map(np.ndim).any()]]
    renamed = plain.set_axis([f"c{place}" for place in range(plain.shape[1])], axis=1)
    columns = [
        column(str(title), str(code), _plain, names_row=place == 0 or title in (*CONFIGURATION, "repeat"))
        for place, (title, code) in enumerate(zip(plain, renamed, strict=True))
    ]
    return make_table(name, caption, columns, renamed)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else str(value) if isinstance(value, bool) else f"{value:.6g}"
