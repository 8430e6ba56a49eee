"""How many bits of the signature the shape of the trees gives away."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from orchestrator.report.figures.style import INK, SMALL, Fill, finish, legend_below, panels
from orchestrator.report.grid import Configuration
from orchestrator.report.summaries import DetectionSummary
from orchestrator.report.wording import p_value

FILLS = {
    "correct": Fill("#0b4a8f", ""),
    "wrong": Fill("#f2b580", "////"),
    "uncertain": Fill("#ffffff", "..."),
}
_HEIGHT = 0.62


def detection_figure(summaries: Sequence[DetectionSummary]) -> Figure:
    """Draw stacked bars of bits for each measure and strategy, a panel for each configuration.

    Parameters
    ----------
    summaries
        Of `detection_summaries`, not empty.

    Returns
    -------
    Figure
        Mean numbers of bits read right, wrong and left open; a mark on each bar where fair coins would
        end; on its right the (median) p-values, binomial and exact.
    """
    by_panel: dict[Configuration, list[DetectionSummary]] = {}
    for summary in summaries:
        by_panel.setdefault(summary.configuration, []).append(summary)
    average = " (mean over repeats)" if any(row.correct.n > 1 for row in summaries) else ""
    figure, all_axes = panels(len(by_panel), columns=1, height_in=1.75)
    for axes, (configuration, rows) in zip(all_axes, by_panel.items(), strict=True):
        _draw(axes, rows)
        finish(axes, title=str(configuration), x=f"Bits of the signature{average}")
        axes.grid(visible=False, axis="y")
    for axes in all_axes[:-1]:
        axes.set_xlabel("")
    handles: list[Patch | Line2D] = [Patch(label=name, **fill.bar()) for name, fill in FILLS.items()]
    handles.append(
        Line2D(
            [],
            [],
            color=INK,
            marker="|",
            markersize=12,
            linestyle="",
            label="chance (half of the decided bits)",
        )
    )
    legend_below(figure, handles, columns=4)
    return figure


def _draw(axes: Axes, rows: Sequence[DetectionSummary]) -> None:
    places = range(len(rows))
    left = [0.0] * len(rows)
    for name, fill in FILLS.items():
        lengths = [getattr(row, name).mean for row in rows]
        axes.barh(places, lengths, left=left, height=_HEIGHT, label=name, **fill.bar())
        left = [start + length for start, length in zip(left, lengths, strict=True)]
    bits = max(row.bits for row in rows)
    for place, row in zip(places, rows, strict=True):
        chance = (row.correct.mean + row.wrong.mean) / 2
        for colour, width in (("white", 4.0), (INK, 1.6)):  # white edges: it shows on any filling
            axes.plot(
                [chance] * 2,
                [place - 0.42, place + 0.42],
                color=colour,
                linewidth=width,
                solid_capstyle="butt",
            )
        median = "median " if row.p_value.n > 1 else ""
        text = f"{median}p = {p_value(row.p_value.median)}\nexact {p_value(row.p_value_exact.median)}"
        axes.text(bits * 1.02, place, text, va="center", ha="left", fontsize=SMALL, color=INK)
    axes.set_yticks(places, [f"{row.measure}, {row.strategy}" for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0, bits * 1.3)
    axes.spines["bottom"].set_bounds(0, bits)
    axes.set_xticks([tick for tick in axes.get_xticks() if tick <= bits])
