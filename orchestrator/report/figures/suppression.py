"""ROC curves of telling trigger queries from ordinary ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullLocator
from numpy.typing import NDArray

from orchestrator.report.figures.style import (
    FAINT,
    INK,
    SMALL,
    finish,
    is_leftmost,
    legend_below,
    numbered_looks,
    panels,
)
from orchestrator.report.grid import Configuration
from wm.attacks.suppression import FALSE_POSITIVE_LIMIT

_TICKS = (0.0, 0.005, 0.01, 0.1, 1.0)

_MARKERS = 8
"""Markers on one curve, about: curves have a step for each query."""

Curve = tuple[NDArray[np.float64], NDArray[np.float64]]


def curves_of(frame: pd.DataFrame) -> list[Curve]:
    """Return the (false, true) positive rates of each repeat's curve, for one configuration and method."""
    return [
        (
            part["false_positive_rate"].to_numpy(dtype=np.float64),
            part["true_positive_rate"].to_numpy(dtype=np.float64),
        )
        for _, part in frame.groupby("repeat", sort=True)
    ]


def mean_curve(curves: Sequence[Curve]) -> Curve:
    """Return the mean of ROC curves at each false positive rate where one of them steps.

    A curve's height at a rate is the largest share of triggers spotted by a threshold that suspects no
    larger a share of ordinary queries.
    """
    rates = np.unique(np.concatenate([false for false, _ in curves]))
    heights = [true[np.searchsorted(false, rates, side="right") - 1] for false, true in curves]
    return rates, np.mean(heights, axis=0)


def suppression_figure(parts: Sequence[tuple[Configuration, pd.DataFrame]]) -> Figure:
    """Draw a panel of ROC curves for each configuration.

    Parameters
    ----------
    parts
        Configurations with their rows of `orchestrator.results.roc_curves`; at least one.

    Returns
    -------
    Figure
        For each method the mean over repeats (labelled) and, if there are several, each repeat as a faint
        line. The axis is linear up to the limit of 1% that a filter may suspect wrongly, logarithmic beyond.
    """
    looks = numbered_looks(sorted({method for _, part in parts for method in part["method"].unique()}))
    figure, all_axes = panels(len(parts), height_in=2.8)
    for axes, (configuration, part) in zip(all_axes, parts, strict=True):
        axes.axvspan(0, FALSE_POSITIVE_LIMIT, color="#e9e9e9", linewidth=0, zorder=0)
        axes.axvline(FALSE_POSITIVE_LIMIT, color=INK, linewidth=1.0, zorder=1)
        chance = np.concatenate([np.linspace(0, 0.01, 20), np.geomspace(0.01, 1, 60)])
        axes.plot(chance, chance, color=FAINT, linewidth=1, linestyle=(0, (1, 2)), label="chance")
        for place, (method, rows) in enumerate(part.groupby("method", sort=True)):
            curves = curves_of(rows)
            look = looks[str(method)]
            if len(curves) > 1:
                for false, true in curves:
                    axes.plot(
                        false, true, drawstyle="steps-post", color=look.colour, alpha=0.3, linewidth=0.8
                    )
            rates, heights = mean_curve(curves)
            every = max(2, len(rates) // _MARKERS)
            # The lower of coinciding lines is wider, so that both are seen.
            width = 1.4 + 0.5 * (len(looks) - 1 - place)
            style = look.line(markevery=(min(place, len(rates) - 1), every), markersize=4.5, linewidth=width)
            axes.plot(rates, heights, drawstyle="steps-post", label=str(method), zorder=3, **style)
        _scale(axes)
        finish(
            axes,
            title=str(configuration),
            x="False positive rate (ordinary queries)",
            y="True positive rate (trigger queries)" if is_leftmost(axes) else "",
        )
    handles: list[Line2D | Patch] = [
        Line2D([], [], label=method, **look.line(markersize=4.5)) for method, look in looks.items()
    ]
    handles += [
        Line2D([], [], color=FAINT, linewidth=1, linestyle=(0, (1, 2)), label="chance"),
        Patch(facecolor="#e9e9e9", edgecolor=INK, label="at most 1% false positives"),
    ]
    legend_below(figure, handles)
    return figure


def _scale(axes: Axes) -> None:
    axes.set_xscale("symlog", linthresh=FALSE_POSITIVE_LIMIT, linscale=0.8)
    axes.set_xlim(0, 1)
    axes.set_ylim(-0.03, 1.03)
    axes.set_xticks(_TICKS, ["0", "0.5%", "1%", "10%", "100%"], fontsize=SMALL)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"])
