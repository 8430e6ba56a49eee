"""Tables as the page shows them: each number keeps its exact value beside its text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from orchestrator.report.data import CONFIGURATION, STATISTICS
from orchestrator.report.wording import MISSING, p_value, p_value_of_log10, percent, seconds, signed
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
    """A column.

    Attributes
    ----------
    title, cell
        Its heading; returns the cell of a row.
    names_row
        Whether it names the row.
    source
        Column of the frame that it shows, if it is one.
    note
        What that is, shown at the heading.
    """

    title: str
    cell: Callable[[Any], Cell]
    names_row: bool = False
    source: str = ""
    note: str = ""


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


def make_table(
    name: str, caption: str, columns: Sequence[Column], frame: pd.DataFrame, *, results: str = ""
) -> Table:
    """Return a table with a row for each row of a frame.

    Parameters
    ----------
    name, caption, columns
        See `Table`.
    frame
        The rows, or a summary of `data.summarise`.
    results
        Frame of `orchestrator.results` that the rows come from: it says what its columns are.
    """
    shown = frame.iloc[:MAX_ROWS]
    notes = COLUMNS.get(results, {})
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
        columns=tuple(replace(columns[place], note=_note(notes, columns[place].source)) for place in kept),
        rows=tuple(zip(*(cells[place] for place in kept), strict=True)),
        same=tuple((columns[place].title, cells[place][0]) for place, same in enumerate(fixed) if same),
        left_out=max(0, len(frame) - MAX_ROWS),
    )


def _note(notes: dict[str, str], source: str) -> str:
    """Return the description of a column, or of the one that it is a statistic of."""
    statistic = re.sub(rf"_({'|'.join(STATISTICS)})$", "", source)
    return (notes.get(source) or notes.get(statistic, "")).replace("``", "")


def cell_of(value: Any, write: Write) -> Cell:
    """Return the cell of a value, or a dash where there is none."""
    if value is None or value is pd.NA or value is pd.NaT or value != value:  # NaN is not itself
        return Cell(MISSING)
    if isinstance(value, str | bool | np.bool_):
        return Cell(write(value))
    number = int(value) if write is count else value.item() if isinstance(value, np.generic) else value
    note = f"log10 p = {number:.4g}" if write is log10_p else ""
    return Cell(write(number), number, note)


def columns(write: Write, **titles: str) -> list[Column]:
    """Return columns of a frame that are written alike: the name of each with its title."""

    def one(name: str, title: str) -> Column:
        return Column(title, lambda row: cell_of(getattr(row, name), write), source=name)

    return [one(name, title) for name, title in titles.items()]


def named(write: Write, **titles: str) -> list[Column]:
    """Return columns that name the row."""
    return [replace(column, names_row=True) for column in columns(write, **titles)]


def prose(**titles: str) -> list[Column]:
    """Return columns of whole sentences."""

    def one(name: str, title: str) -> Column:
        return Column(title, lambda row: sentence(getattr(row, name)), source=name)

    return [one(name, title) for name, title in titles.items()]


def sentence(value: Any) -> Cell:
    """Return a cell of whole sentences."""
    return replace(cell_of(value if value != "" else None, str), is_prose=True)


def spreads(summary: pd.DataFrame, write: Write, centre: str = "mean", /, **titles: str) -> list[Column]:
    """Return columns of the middle and the ends of samples.

    Parameters
    ----------
    summary
        All rows of the table, of `data.summarise`.
    write
        How numbers are written.
    centre
        ``mean`` or ``median``; titles say which where a sample has several values.
    **titles
        The columns that were summarised, with their titles.
    """

    def one(name: str, title: str) -> Column:
        def cell(row: Any) -> Cell:
            middle, low, high = (
                cell_of(getattr(row, f"{name}_{what}"), write) for what in (centre, "min", "max")
            )
            return middle if low.value == high.value else replace(middle, ends=(low, high))

        several = bool((summary[f"{name}_count"] > 1).any())
        return Column(f"{title} ({centre}; min to max)" if several else title, cell, source=name)

    return [one(name, title) for name, title in titles.items()]


def count(value: float) -> str:
    """Write a whole number."""
    return f"{int(value):,}"


share: Write = percent
rate: Write = partial(percent, digits=1)
accuracy: Write = partial(percent, digits=2)
points: Write = signed
"""Shares as given, and with one and two decimals; differences in percentage points."""

p: Write = p_value
log10_p: Write = p_value_of_log10
"""p-values, and those given as decimal logarithms."""

mean: Write = "{:.2f}".format
area: Write = "{:.3f}".format
log10: Write = "{:.1f}".format
setting: Write = "{:g}".format
duration: Write = seconds
"""Means of counts; numbers near 1; decimal logarithms; numbers that were set; seconds."""

PLACE = [*named(str, scheme="Scheme"), *named(share, trigger_share="Trigger share", ones_share="Ones share")]
"""Columns of a way of embedding."""

FOREST = [*PLACE, *named(count, repeat="Repeat")]
"""Columns of one forest."""


def frame_table(name: str, caption: str, frame: pd.DataFrame) -> Table:
    """Return a frame as a table, column by column: what is shown of an attack that has no section."""
    plain = frame[[name for name in frame if not frame[name].map(np.ndim).any()]]
    renamed = plain.set_axis([f"c{place}" for place in range(plain.shape[1])], axis=1)
    shown: list[Column] = []
    for place, (title, code) in enumerate(zip(plain, renamed, strict=True)):
        make = named if place == 0 or title in (*CONFIGURATION, "repeat") else columns
        shown += make(_plain, **{str(code): str(title)})
    return make_table(name, caption, shown, renamed)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else str(value) if isinstance(value, bool) else f"{value:.6g}"
