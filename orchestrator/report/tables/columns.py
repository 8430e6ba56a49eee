"""Columns that several tables have: the place in the grid, means and spreads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from orchestrator.report import cells
from orchestrator.report.summaries import Spread
from orchestrator.report.wording import MISSING

SUMMARY_PLACE: list[cells.Column] = [
    ("Scheme", lambda row: cells.Cell(row.configuration.scheme)),
    ("Trigger share", lambda row: cells.share(row.configuration.trigger_share)),
    ("Ones share", lambda row: cells.share(row.configuration.ones_share)),
]

FRAME_PLACE: list[cells.Column] = [
    ("Scheme", lambda row: cells.Cell(str(row.scheme))),
    ("Trigger share", lambda row: cells.share(row.trigger_share)),
    ("Ones share", lambda row: cells.share(row.ones_share)),
    ("Repeat", lambda row: cells.count(row.repeat)),
]


def mean_and_sd(
    title: str, unit: str, spread: str, write_mean: Callable[[float], cells.Cell], scale: float
) -> list[cells.Column]:
    """Return two columns for one spread of a summary; times `scale` it is in points."""
    return [
        (f"{title} (mean, {unit})", lambda row: write_mean(getattr(row, spread).mean)),
        (f"{title} (sd, points)", lambda row: cells.sd(getattr(row, spread), scale)),
    ]


def unless_single(columns: Sequence[cells.Column], spreads: Iterable[Spread | None]) -> list[cells.Column]:
    """Leave out the columns on spread where each sample is a single value."""
    several = any(spread is not None and spread.n > 1 for spread in spreads)
    return [
        column
        for column in columns
        if several or not any(word in column[0] for word in ("(sd", "(least", "(most"))
    ]


def spread_column(title: str, spread: str, which: str, write: Callable[[Any], cells.Cell]) -> cells.Column:
    """Return a column of one number of a spread, which may be missing."""

    def cell(row: Any) -> cells.Cell:
        found = getattr(row, spread)
        return cells.unless_missing(None if found is None else getattr(found, which), write)

    return title, cell


def over(
    title: str,
    spread: str,
    write: Callable[[Any], cells.Cell],
    summaries: Sequence[Any],
    *,
    centre: str = "mean",
) -> cells.Column:
    """Return a column of a spread's middle and ends; the title says which, where a sample has several values.

    Parameters
    ----------
    title, spread
        Of the column, and the attribute of a summary.
    write
        Writes one number.
    summaries
        All rows of the table.
    centre
        ``mean`` or ``median``.
    """
    found: list[Spread | None] = [getattr(summary, spread) for summary in summaries]
    several = any(one is not None and one.n > 1 for one in found)

    def cell(row: Any) -> cells.Cell:
        one: Spread | None = getattr(row, spread)
        return cells.Cell(MISSING) if one is None else cells.across(one, write, centre)

    return (f"{title} ({centre}; least to most)" if several else title), cell
