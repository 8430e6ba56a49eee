"""What weakening the evidence costs a thief: accuracy change against log10 p, of all modifications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from orchestrator.report.figures.modification import LEVEL, LEVEL_LABEL
from orchestrator.report.figures.style import INK, finish, is_leftmost, legend_below, panels
from orchestrator.report.grid import Configuration
from orchestrator.report.summaries import ModificationSummary
from wm.verification.evidence import DEFAULT_LEVEL

_MARKERS = "osD^vP*X<>hpd"
_COLOURS = ("#0b4a8f", "#b35900", "#3b7d4f", "#7a3b8f", "#1a1a1a")

LARGEST, OTHERS = 8.5, 4.5
"""Sizes of the marker of the greatest strength, and of the others."""


def looks_of(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return a look for each modification: marker and filling tell them apart without colour."""
    return {
        name: {
            "color": _COLOURS[index % len(_COLOURS)],
            "marker": _MARKERS[index % len(_MARKERS)],
            "markerfacecolor": "white" if index // len(_MARKERS) % 2 else _COLOURS[index % len(_COLOURS)],
            "linewidth": 0.9,
        }
        for index, name in enumerate(names)
    }


def tradeoff_figure(summaries: Sequence[ModificationSummary]) -> Figure:
    """Draw accuracy change against the strength of the evidence, a panel for each configuration.

    Parameters
    ----------
    summaries
        Of `modification_summaries`, not empty.

    Returns
    -------
    Figure
        For each modification a path through its strengths, the greatest with a larger marker: mean accuracy
        change in points, and the smaller of the two median p-values, from votes and from vote shares, which
        is what a judge can reach.
    """
    looks = looks_of(list(dict.fromkeys(row.modification for row in summaries)))
    by_panel: dict[Configuration, list[ModificationSummary]] = {}
    for summary in summaries:
        by_panel.setdefault(summary.configuration, []).append(summary)
    figure, all_axes = panels(len(by_panel), columns=min(2, len(by_panel)), height_in=3.6)
    for axes, (configuration, rows) in zip(all_axes, by_panel.items(), strict=True):
        _draw(axes, rows, looks)
        finish(
            axes,
            title=str(configuration),
            x="Accuracy change (points)",
            y="log10 p (the better of both)" if is_leftmost(axes) else "",
        )
    handles = [Line2D([], [], label=name, markersize=6, **look) for name, look in looks.items()]
    handles.append(Line2D([], [], label=LEVEL_LABEL, **LEVEL))
    legend_below(figure, handles, columns=4)
    return figure


def best_log10_p(row: ModificationSummary) -> float:
    """Return the smaller of the two medians of log10 p."""
    return min(row.log10_p.median, row.log10_p_shares.median)


def _draw(axes: Axes, rows: Sequence[ModificationSummary], looks: Mapping[str, Mapping[str, Any]]) -> None:
    for name, of_name in groupby(rows, key=lambda row: row.modification):
        own = list(of_name)
        change = [row.accuracy_change.mean for row in own]
        log10_p = [best_log10_p(row) for row in own]
        others = list(range(len(own) - 1))
        axes.plot(
            change,
            log10_p,
            label=name,
            markersize=OTHERS,
            markevery=others,
            alpha=0.85,
            zorder=3,
            **looks[name],
        )
        axes.plot(change[-1:], log10_p[-1:], markersize=LARGEST, alpha=0.85, zorder=4, **looks[name])
    axes.axvline(0, color=INK, linewidth=0.8, zorder=1)
    axes.axhline(np.log10(DEFAULT_LEVEL), label="level", zorder=2, **LEVEL)
    low, _ = axes.get_ylim()
    axes.set_ylim(min(low, 1.3 * np.log10(DEFAULT_LEVEL)), 1.2)
