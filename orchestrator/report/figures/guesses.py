"""How much of the signature one number for each tree tells: bits guessed, and the ranking's area."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from orchestrator.report.figures.style import FAINT, INK, LOOKS, SMALL, WIDTH_IN, finish, legend_below
from orchestrator.report.grid import Configuration
from orchestrator.report.summaries import GuessSummary, Spread
from orchestrator.report.wording import p_value

_FOUND = LOOKS[0]
_ROW_IN = 0.34
"""Height of a row in inches: two lines of small text would not fit in less."""


@dataclass(frozen=True)
class _Column:
    """One of the two panels of a configuration."""

    spread: str
    p: str
    label: str
    scale: float


COLUMNS = (
    _Column("bits", "p_split", "Bits guessed (%)", 100.0),
    _Column("auc", "p_ranking", "AUC of the ranking", 1.0),
)


def guesses_figure(summaries: Sequence[GuessSummary]) -> Figure:
    """Draw bits guessed and the area under the curve for each measure, a row of panels per configuration.

    Parameters
    ----------
    summaries
        Of `guess_summaries`, not empty.

    Returns
    -------
    Figure
        A dot for the mean, a bar from the least to the greatest value where there are several
        repeats, a mark where unrelated guesses are on average, and the (median) exact p-value on the right.
    """
    by_row: dict[Configuration, list[GuessSummary]] = {}
    for summary in summaries:
        by_row.setdefault(summary.configuration, []).append(summary)
    heights = [len(rows) for rows in by_row.values()]
    figure = Figure(
        figsize=(WIDTH_IN, _ROW_IN * sum(heights) + 0.75 * len(heights) + 0.5),
        layout="constrained",
        facecolor="white",
    )
    grid = figure.subplots(len(by_row), 2, squeeze=False, sharey="row", height_ratios=heights)
    for axes_of_row, (configuration, rows) in zip(grid, by_row.items(), strict=True):
        for axes, column in zip(axes_of_row, COLUMNS, strict=True):
            _draw(axes, rows, column)
            is_first = column is COLUMNS[0]
            finish(axes, title=str(configuration) if is_first else "", x=column.label)
            axes.xaxis.label.set(horizontalalignment="left", x=0.0)
            axes.grid(visible=False, axis="y")
        axes_of_row[0].set_yticks(range(len(rows)), [row.measure for row in rows])
        axes_of_row[0].set_ylim(len(rows) - 0.4, -0.6)
    several = any(row.bits.n > 1 for row in summaries)
    handles = [Line2D([], [], color=_FOUND.colour, marker="o", linestyle="", label=_mean(several))]
    if several:
        handles.append(Line2D([], [], color=_FOUND.colour, linewidth=2, label="least to most of repeats"))
    handles.append(
        Line2D([], [], color=INK, marker="|", markersize=11, linestyle="", label="mean of unrelated guesses")
    )
    legend_below(figure, handles)
    return figure


def _mean(several: bool) -> str:
    return "mean over repeats" if several else "found"


def _draw(axes: Axes, rows: Sequence[GuessSummary], column: _Column) -> None:
    least, most = 0.5 * column.scale, column.scale
    for place, row in enumerate(rows):
        spread: Spread = getattr(row, column.spread)
        p: Spread = getattr(row, column.p)
        axes.plot([least, most], [place, place], color="#ececec", linewidth=0.8, zorder=1)
        if spread.n > 1:
            ends = [column.scale * spread.least, column.scale * spread.most]
            axes.plot(ends, [place, place], color=_FOUND.colour, linewidth=2, label="range", zorder=3)
        mean = [column.scale * spread.mean]
        axes.plot(mean, [place], color=_FOUND.colour, marker="o", markersize=6, label=row.measure, zorder=4)
        if column.spread == "bits":
            null = [column.scale * row.null_bits.mean]
            axes.plot(null, [place], color=INK, marker="|", markersize=11, label="null", zorder=5)
        median = "median " if p.n > 1 else ""
        axes.text(
            1.03 * most, place, f"{median}p = {p_value(p.median)}", va="center", fontsize=SMALL, color=INK
        )
    axes.axvline(least, color=FAINT, linewidth=1, zorder=1)
    # Room for the p-values, which stand right of the scale.
    axes.set_xlim(0.96 * least, 1.52 * most)
    axes.spines["bottom"].set_bounds(least, most)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xticks([tick / 10 * column.scale for tick in range(5, 11)])
