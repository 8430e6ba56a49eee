"""What is left of accuracy and watermark, over the strength of each modification."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from orchestrator.report.figures.style import (
    INK,
    LOOKS,
    NORMAL,
    SMALL,
    WIDTH_IN,
    Look,
    finish,
    legend_below,
)
from orchestrator.report.strengths import meaning
from orchestrator.report.summaries import ModificationSummary, Spread
from orchestrator.report.wording import p_value
from wm.verification.evidence import DEFAULT_LEVEL

_LEAST_SPAN = 2.0
"""Least height in points of the panel of accuracies: one test row must not look like a cliff."""

LEVEL: dict[str, Any] = {"color": INK, "linestyle": (0, (7, 3)), "linewidth": 1.1}
"""How the level of a verdict is drawn."""

LEVEL_LABEL = f"level {p_value(DEFAULT_LEVEL)}"

_HOLLOW: dict[str, Any] = {"markerfacecolor": "white", "markeredgewidth": 1.4}
"""How points are drawn whose p-value is that of an alignment."""


@dataclass(frozen=True)
class _Series:
    """One line: its spread at a strength, or a single number without one."""

    name: str
    look: Look
    middle: Callable[[ModificationSummary], float]
    ends: Callable[[ModificationSummary], tuple[float, float]] | None = None


def _mean(name: str, scale: float) -> Callable[[ModificationSummary], float]:
    return lambda row: scale * float(_spread(row, name).mean)


def _median(name: str) -> Callable[[ModificationSummary], float]:
    return lambda row: float(_spread(row, name).median)


def _ends(name: str, scale: float) -> Callable[[ModificationSummary], tuple[float, float]]:
    return lambda row: (scale * _spread(row, name).least, scale * _spread(row, name).most)


def _spread(row: ModificationSummary, name: str) -> Spread:
    found: Spread = getattr(row, name)
    return found


ALIGNED = "aligned"
"""Null of a p-value where trees are missing: a permutation test, which has a floor."""

_CHANGE = _Series("accuracy change", LOOKS[0], _mean("accuracy_change", 1), _ends("accuracy_change", 1))
_VOTES = _Series("p from votes", LOOKS[4], _median("log10_p"), _ends("log10_p", 1))

COLUMNS: tuple[tuple[str, tuple[_Series, ...]], ...] = (
    (
        "Accuracy change (points)",
        (_CHANGE,),
    ),
    (
        "Kept (%)",
        (
            _Series("fidelity", LOOKS[2], _mean("fidelity", 100), _ends("fidelity", 100)),
            _Series("bits", LOOKS[0], _mean("bits", 100), _ends("bits", 100)),
            _Series("exact match", LOOKS[1], lambda row: 100 * row.exact_rate),
        ),
    ),
    (
        "log10 p",
        (
            _VOTES,
            _Series("p from vote shares", LOOKS[3], _median("log10_p_shares"), _ends("log10_p_shares", 1)),
        ),
    ),
)
"""Title and lines of each column of panels."""


def modification_figure(summaries: Sequence[ModificationSummary]) -> Figure:
    """Draw a row of three panels for each modification of one configuration.

    Parameters
    ----------
    summaries
        Of `modification_summaries`, of one configuration; not empty.

    Returns
    -------
    Figure
        Means over repeats and tries (medians of log10 p), labelled as in `COLUMNS`, over the strengths at
        even steps, with a band from the least to the greatest value where there are several.
    """
    parts = [(name, list(rows)) for name, rows in groupby(summaries, key=lambda row: row.modification)]
    figure = Figure(figsize=(WIDTH_IN, 1.85 * len(parts) + 0.9), layout="constrained", facecolor="white")
    grid = figure.subplots(len(parts), len(COLUMNS), squeeze=False, sharey="col")
    for axes_of_row, (name, rows) in zip(grid, parts, strict=True):
        for axes, (title, series) in zip(axes_of_row, COLUMNS, strict=True):
            _draw(axes, rows, series)
            finish(axes, title=title if axes in grid[0] else "")
            axes.set_xlabel(meaning(name).replace(" + ", "\n+ "), fontsize=SMALL, color=INK)
        axes_of_row[0].set_ylabel(name, fontsize=NORMAL, color=INK, fontweight="bold")
    _scale(grid)
    legend_below(figure, _handles(summaries), columns=3)
    return figure


def _draw(axes: Axes, rows: Sequence[ModificationSummary], series: Sequence[_Series]) -> None:
    at = np.arange(len(rows))
    for one in series:
        middle = np.array([one.middle(row) for row in rows])
        axes.plot(at, middle, label=one.name, zorder=4, **one.look.line(markersize=4.5, linewidth=1.6))
        if one.ends is not None and any(row.bits.n > 1 for row in rows):
            low, high = np.array([one.ends(row) for row in rows]).T
            axes.fill_between(at, low, high, color=one.look.colour, alpha=0.15, linewidth=0, zorder=1)
        if one is _VOTES:
            aligned = np.array([ALIGNED in row.nulls for row in rows])
            look = one.look.line(markersize=4.5, linestyle="") | _HOLLOW
            axes.plot(at[aligned], middle[aligned], label=ALIGNED, zorder=5, **look)
    # The strengths of several steps, one below the other: beside, they would run into their neighbours.
    axes.set_xticks(at, [row.strengths.replace("+", "\n") for row in rows])
    axes.set_xlim(-0.35, max(len(rows) - 1, 0) + 0.35)


def _scale(grid: np.ndarray[tuple[int, int], np.dtype[np.object_]]) -> None:
    change, kept, log10_p = grid[0]
    low, high = change.get_ylim()
    spare = max(0.0, _LEAST_SPAN - (high - low)) / 2
    change.set_ylim(low - spare, high + spare)
    kept.set_ylim(-4, 104)
    kept.set_yticks([0, 25, 50, 75, 100])
    low, _ = log10_p.get_ylim()
    log10_p.set_ylim(min(low, 1.3 * np.log10(DEFAULT_LEVEL)), 0.6)
    for axes in grid[:, 0]:
        axes.axhline(0, color=INK, linewidth=0.8, zorder=2, label="no change")
    for axes in grid[:, 2]:
        axes.axhline(np.log10(DEFAULT_LEVEL), label="level", zorder=2, **LEVEL)


def _handles(summaries: Sequence[ModificationSummary]) -> list[Line2D | Patch]:
    handles: list[Line2D | Patch] = [
        Line2D([], [], label=one.name, **one.look.line(markersize=4.5, linewidth=1.6))
        for _, series in COLUMNS
        for one in series
        if one is not _CHANGE
    ]
    if any(ALIGNED in row.nulls for row in summaries):
        look = _VOTES.look.line(markersize=4.5, linewidth=1.6) | _HOLLOW
        handles.append(Line2D([], [], label="the same, of an alignment", **look))
    handles.append(Line2D([], [], label=LEVEL_LABEL, **LEVEL))
    if any(row.bits.n > 1 for row in summaries):
        handles.append(Patch(facecolor=INK, alpha=0.15, label="least to most"))
    return handles
