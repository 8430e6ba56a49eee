"""Cells and tables as the template prints them. Every number keeps its exact value beside its text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import pandas as pd

from orchestrator.report.summaries import Spread
from orchestrator.report.wording import (
    MISSING,
    p_value,
    p_value_of_log10,
    percent,
    seconds,
    signed,
)

LONG = 12
"""Tables of more rows than this are folded, where a shorter one sums them up."""

MOST_ROWS = 400
"""Rows of the longest table: beyond, `wm results` is the place to look."""


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
        Least and greatest value of the sample that the cell gives the middle of; empty where all are equal.
    """

    text: str
    value: int | float | None = None
    note: str = ""
    is_prose: bool = False
    ends: tuple[Cell, ...] = ()


@dataclass(frozen=True)
class Table:
    """What the template prints.

    Attributes
    ----------
    name
        Unique on the page.
    caption
        One line.
    columns
        Titles with units; the first `headings` name the row.
    rows
        Cells in the columns' order.
    left_out
        Rows beyond `MOST_ROWS`.
    """

    name: str
    caption: str
    columns: tuple[str, ...]
    headings: int
    rows: tuple[tuple[Cell, ...], ...]
    left_out: int = 0

    @property
    def is_long(self) -> bool:
        """Whether to fold it."""
        return len(self.rows) > LONG


Row = TypeVar("Row")
Column = tuple[str, Callable[[Any], Cell]]


def make_table(
    name: str, caption: str, headings: Sequence[Column], columns: Sequence[Column], rows: Iterable[Row]
) -> Table:
    """Return a table: each column's function makes its cell from a row."""
    everything = list(rows)
    both = [*headings, *columns]
    return Table(
        name=name,
        caption=caption,
        columns=tuple(title for title, _ in both),
        headings=len(headings),
        rows=tuple(tuple(cell(row) for _, cell in both) for row in everything[:MOST_ROWS]),
        left_out=max(0, len(everything) - MOST_ROWS),
    )


def count(value: float) -> Cell:
    """Write a whole number."""
    return Cell(f"{int(value):,}", int(value))


def mean(value: float) -> Cell:
    """Write a mean of counts, or a median."""
    return Cell(f"{value:.2f}", float(value))


def share(value: float) -> Cell:
    """Write a share as given in a campaign file, as a percentage."""
    return Cell(percent(value), float(value))


def rate(value: float) -> Cell:
    """Write a share as a percentage with one decimal."""
    return Cell(percent(value, 1), float(value))


def area(value: float) -> Cell:
    """Write an area under a curve, or another number near 1, with three decimals."""
    return Cell(f"{value:.3f}", float(value))


def prose(text: str) -> Cell:
    """Write whole sentences."""
    return Cell(text or MISSING, is_prose=True)


def accuracy(value: float) -> Cell:
    """Write a share as a percentage with two decimals."""
    return Cell(percent(value, 2), float(value))


def points(value: float) -> Cell:
    """Write a difference in percentage points, with its sign."""
    return Cell(signed(value), float(value))


def setting(value: float) -> Cell:
    """Write a number that was set, with the digits that it has."""
    return Cell(f"{value:g}", float(value))


def p(value: float) -> Cell:
    """Write a p-value."""
    return Cell(p_value(value), float(value))


def log10_p(value: float) -> Cell:
    """Write a p-value given by its decimal logarithm, which may be too small for a float."""
    return Cell(p_value_of_log10(value), float(value), f"log10 p = {value:.4g}")


def duration(value: float) -> Cell:
    """Write a duration in seconds."""
    return Cell(seconds(value), float(value))


def unless_missing(value: Any, write: Callable[[Any], Cell]) -> Cell:
    """Write a value, or a dash if there is none."""
    return Cell(MISSING) if value is None or pd.isna(value) else write(value)


def across(spread: Spread, write: Callable[[Any], Cell], centre: str = "mean") -> Cell:
    """Write a sample's middle, and its ends unless all values are equal."""
    ends = () if spread.least == spread.most else (write(spread.least), write(spread.most))
    return replace(write(getattr(spread, centre)), ends=ends)


def sd(spread: Spread, scale: float = 1.0) -> Cell:
    """Write a standard deviation times `scale`, or a dash if the sample has none."""
    return Cell(MISSING) if spread.sd is None else Cell(f"{scale * spread.sd:.2f}", scale * spread.sd)
