"""Size of the forged trigger set over eps, with every signature, and what became of all queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from orchestrator.report.figures.style import (
    FAINT,
    INK,
    LOOKS,
    NORMAL,
    WIDTH_IN,
    Fill,
    Look,
    finish,
    legend_below,
)
from orchestrator.report.summaries import ForgerySummary, Spread, forgery_summaries, with_pending

MEAN = LOOKS[0]
MOST = Look("#7a3b00", "-.", "^")
POSSIBLE = Look("#b35900", ":", "x")

FILLS = {
    "forged": Fill("#0b4a8f", ""),
    "impossible": Fill("#d5d5d5", ""),
    "timeout": Fill("#ffd9a8", "////"),
    "memout": Fill("#ffffff", "\\\\\\\\"),
    "error": Fill("#ffffff", "xxxx"),
    "pending": Fill("#ffffff", "..."),
}
"""Outcomes of a query in the order of stacking; `pending` ones have none."""

BAND = "10% to 90% of signatures"
TRUE_SIZE: dict[str, Any] = {"color": INK, "linestyle": (0, (7, 3)), "linewidth": 1.2}


def forgery_figure(frame: pd.DataFrame) -> Figure:
    """Draw forged set sizes over eps for one configuration, a column of panels for each engine.

    Parameters
    ----------
    frame
        Rows of `orchestrator.results.forgery` for one configuration; not empty.

    Returns
    -------
    Figure
        Above: a faint line for each signature and repeat, their mean, maximum and 10-90% band; the mean that
        there would be if every query without a decision were forged; the true trigger set's size.
        Below: the shares of all queries by outcome.
    """
    summaries = forgery_summaries(frame)
    by_engine: dict[str, list[ForgerySummary]] = {}
    for summary in summaries:
        by_engine.setdefault(summary.engine, []).append(summary)
    figure = Figure(figsize=(WIDTH_IN, 5.6), layout="constrained", facecolor="white")
    grid = figure.subplots(
        2, len(by_engine), squeeze=False, sharex=True, sharey="row", height_ratios=[2.4, 1]
    )
    for column, (engine, rows) in enumerate(by_engine.items()):
        upper, lower = grid[0, column], grid[1, column]
        _sizes(upper, frame[frame["engine"] == engine], rows)
        _shares(lower, rows)
        first = column == 0
        finish(upper, title=f"engine {engine}", y="Forged set size (instances)" if first else "")
        finish(lower, x="eps (largest change of any feature)", y="Queries" if first else "")
        lower.set_xticks([row.eps for row in rows], [f"{row.eps:g}" for row in rows])
        lower.grid(visible=False)
    legend_below(figure, _handles(summaries), columns=3)
    return figure


def _sizes(axes: Axes, frame: pd.DataFrame, rows: Sequence[ForgerySummary]) -> None:
    complete = with_pending(frame)
    begun = complete[complete["ended"] > 0]
    for _, one in begun.groupby(["signature", "repeat"], sort=True):
        line = one.sort_values("eps")
        axes.plot(line["eps"], line["forged"], color=FAINT, alpha=0.45, linewidth=0.8, zorder=2)
    drawn: list[tuple[float, Spread, Spread]] = [
        (row.eps, row.forged, row.most_possible) for row in rows if row.forged and row.most_possible
    ]
    if drawn:
        eps = np.array([place for place, _, _ in drawn])
        low = np.array([forged.low for _, forged, _ in drawn])
        high = np.array([forged.high for _, forged, _ in drawn])
        axes.fill_between(eps, low, high, color=MEAN.colour, alpha=0.16, linewidth=0, zorder=1, label=BAND)
        if any(row.undecided for row in rows):
            possible = [possible.mean for _, _, possible in drawn]
            axes.plot(eps, possible, label="possible", zorder=4, **POSSIBLE.line(linewidth=1.6))
        most = [forged.most for _, forged, _ in drawn]
        axes.plot(eps, most, label="maximum", zorder=4, **MOST.line(linewidth=1.4))
        mean = [forged.mean for _, forged, _ in drawn]
        axes.plot(eps, mean, label="mean", zorder=5, **MEAN.line(linewidth=2.2))
    else:
        axes.text(0.5, 0.5, "no query has an outcome", transform=axes.transAxes, ha="center", fontsize=NORMAL)
    sizes = [row.trigger_size for row in rows if row.trigger_size is not None]
    if sizes:
        axes.axhline(sizes[0], zorder=3, label="true size", **TRUE_SIZE)
    most_asked = int(frame["instances"].max())
    top = max([most_asked, *sizes])
    axes.set_ylim(-0.03 * top, 1.08 * top)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))


def _shares(axes: Axes, rows: Sequence[ForgerySummary]) -> None:
    eps = np.array([row.eps for row in rows])
    width = 0.55 * float(np.diff(eps).min()) if len(eps) > 1 else 0.06
    total = np.array([row.instances for row in rows], dtype=float)
    bottom = np.zeros(len(rows))
    for name, fill in FILLS.items():
        share = np.array([_count(row, name) for row in rows]) / total
        if share.any():
            axes.bar(eps, share, bottom=bottom, width=width, label=name, **fill.bar())
        bottom += share
    axes.set_xlim(eps[0] - 1.2 * width, eps[-1] + 1.2 * width)
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.5, 1], ["0%", "50%", "100%"])


def _count(row: ForgerySummary, name: str) -> int:
    return int(getattr(row, "total_forged" if name == "forged" else name))


def _handles(summaries: Sequence[ForgerySummary]) -> list[Line2D | Patch]:
    lines: list[Line2D | Patch] = [
        Line2D([], [], label="mean", **MEAN.line()),
        Line2D([], [], label="maximum", **MOST.line()),
        Patch(facecolor=MEAN.colour, alpha=0.16, label=BAND),
        Line2D([], [], color=FAINT, linewidth=0.8, label="each signature"),
        Line2D([], [], label="true trigger set", **TRUE_SIZE),
    ]
    if any(summary.undecided for summary in summaries):
        lines.append(Line2D([], [], label="mean, if all undecided were forged", **POSSIBLE.line()))
    bars = [
        Patch(label=f"{name} (below)", **fill.bar())
        for name, fill in FILLS.items()
        if any(_count(summary, name) for summary in summaries)
    ]
    return [*lines, *bars]
