"""How fast an eavesdropper learns the signature from trigger queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from orchestrator.report.figures.style import INK, finish, is_leftmost, legend_below, numbered_looks, panels
from orchestrator.report.grid import Configuration
from orchestrator.report.summaries import BudgetSummary

_NULL: dict[str, Any] = {"color": INK, "linestyle": (0, (7, 3)), "linewidth": 1.2}


def budget_figure(summaries: Sequence[BudgetSummary]) -> Figure:
    """Draw bits known over the number of trigger queries, a panel for each configuration.

    Parameters
    ----------
    summaries
        Of `budget_summaries`, not empty.

    Returns
    -------
    Figure
        For each method the mean over orders and repeats (labelled), a bar from the smallest to the largest
        share in any order, and a dashed line at the largest mean of unrelated guesses.
    """
    by_panel: dict[Configuration, list[BudgetSummary]] = {}
    for summary in summaries:
        by_panel.setdefault(summary.configuration, []).append(summary)
    looks = numbered_looks(sorted({summary.method for summary in summaries}))
    figure, all_axes = panels(len(by_panel))
    for axes, (configuration, rows) in zip(all_axes, by_panel.items(), strict=True):
        for place, (method, look) in enumerate(looks.items()):
            own = [row for row in rows if row.method == method]
            # Aside of each other, so that bars of several methods do not cover one another.
            at = np.array([row.trigger_queries for row in own]) + 0.16 * (place - (len(looks) - 1) / 2)
            mean = np.array([100 * row.bits.mean for row in own])
            ends = np.array(
                [[100 * (row.bits.mean - row.low), 100 * (row.high - row.bits.mean)] for row in own]
            )
            axes.plot(at, mean, label=method, zorder=3, **look.line(markersize=4.5))
            if own:
                axes.errorbar(
                    at,
                    mean,
                    yerr=np.maximum(ends.T, 0),
                    fmt="none",
                    ecolor=look.colour,
                    elinewidth=0.9,
                    capsize=1.5,
                    alpha=0.55,
                )
        axes.axhline(100 * max(row.null_bits for row in rows), label="null", zorder=2, **_NULL)
        _scale(axes)
        finish(
            axes,
            title=str(configuration),
            x="Trigger queries answered",
            y="Signature known (% of bits)" if is_leftmost(axes) else "",
        )
    handles = [Line2D([], [], label=method, **look.line(markersize=4.5)) for method, look in looks.items()]
    handles.append(Line2D([], [], label="unrelated guess (mean)", **_NULL))
    legend_below(figure, handles, columns=4)
    return figure


def _scale(axes: Axes) -> None:
    axes.set_ylim(45, 103)
    axes.set_yticks([50, 60, 70, 80, 90, 100])
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
