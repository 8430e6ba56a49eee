"""Size of the forged trigger set over eps as a step curve, from the least distance of each instance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from orchestrator.report.figures.forgery import BAND, MEAN, MOST, TRUE_SIZE
from orchestrator.report.figures.style import FAINT, INK, SMALL, finish, is_leftmost, legend_below, panels
from orchestrator.report.summaries import SizeCurve

_MOST_LINES = 40
"""Signatures drawn one by one; of more, only the band can be told apart."""

_OPEN: dict[str, Any] = {
    "facecolor": "#ffd9a8",
    "hatch": "////",
    "edgecolor": "#b35900",
    "linewidth": 0.0,
    "alpha": 0.6,
}


def distances_figure(curves: Sequence[SizeCurve]) -> Figure:
    """Draw a panel of step curves for each configuration and engine.

    Parameters
    ----------
    curves
        Of `size_curves`, not empty.

    Returns
    -------
    Figure
        Mean, maximum and 10-90% band over signatures of the sizes that are known, each signature as a faint
        line, the true trigger set's size, and a hatched band from the mean that is known up to the mean that
        there would be if every instance without a decision were forged. The axis on the right gives the
        sizes in percent of the true one.
    """
    several = len({curve.engine for curve in curves}) > 1
    figure, all_axes = panels(len(curves), height_in=3.0, columns=min(2, len(curves)), share_y=False)
    for axes, curve in zip(all_axes, curves, strict=True):
        _draw(axes, curve)
        finish(
            axes,
            title=f"{curve.configuration}{f'; {curve.engine}' if several else ''}",
            x="eps (largest change of any feature)",
            y="Forged set size (instances)" if is_leftmost(axes) else "",
        )
    legend_below(figure, _handles(curves))
    return figure


def _draw(axes: Axes, curve: SizeCurve) -> None:
    spreads = curve.spreads()
    if len(curve.known) <= _MOST_LINES:
        for sizes in curve.known:
            axes.plot(
                curve.eps, sizes, color=FAINT, alpha=0.45, linewidth=0.8, drawstyle="steps-post", zorder=2
            )
    if len(curve.known) > 1:
        axes.fill_between(
            curve.eps,
            [spread.low for spread in spreads],
            [spread.high for spread in spreads],
            step="post",
            color=MEAN.colour,
            alpha=0.16,
            linewidth=0,
            zorder=1,
            label=BAND,
        )
        most = [spread.most for spread in spreads]
        axes.plot(curve.eps, most, drawstyle="steps-post", label="maximum", zorder=4, **MOST.stroke())
    mean = np.array([spread.mean for spread in spreads])
    axes.plot(curve.eps, mean, drawstyle="steps-post", label="mean", zorder=5, **MEAN.stroke(linewidth=2.2))
    possible = curve.possible.mean(axis=0)
    if curve.undecided:
        axes.fill_between(curve.eps, mean, possible, step="post", zorder=2, label="could be", **_OPEN)
    top = max(1.0, float(curve.known.max()), float(possible.max()))
    if curve.trigger_size is not None:
        axes.axhline(curve.trigger_size, label="true size", zorder=3, **TRUE_SIZE)
        top = max(top, curve.trigger_size)
        _share_axis(axes, curve.trigger_size)
    axes.set_ylim(-0.03 * top, 1.08 * top)
    axes.set_xlim(0, float(curve.eps[-1]))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))


def _share_axis(axes: Axes, trigger_size: int) -> None:
    def to_percent(size: Any) -> Any:
        return 100 * size / trigger_size

    def to_size(share: Any) -> Any:
        return share * trigger_size / 100

    spec = axes.get_subplotspec()
    shares = axes.secondary_yaxis("right", functions=(to_percent, to_size))
    shares.tick_params(labelsize=SMALL, colors=INK)
    shares.yaxis.set_major_formatter("{x:.0f}%")
    shares.spines["right"].set_visible(False)
    if spec is None or spec.is_last_col():
        shares.set_ylabel("of the true size", fontsize=SMALL, color=INK)


def _handles(curves: Sequence[SizeCurve]) -> list[Line2D | Patch]:
    several = any(len(curve.known) > 1 for curve in curves)
    handles: list[Line2D | Patch] = [Line2D([], [], label="mean" if several else "forged", **MEAN.stroke())]
    if several:
        handles += [
            Line2D([], [], label="maximum", **MOST.stroke()),
            Patch(facecolor=MEAN.colour, alpha=0.16, label=BAND),
        ]
        if any(len(curve.known) <= _MOST_LINES for curve in curves):
            handles.append(Line2D([], [], color=FAINT, linewidth=0.8, label="each signature"))
    handles.append(Line2D([], [], label="true trigger set", **TRUE_SIZE))
    if any(curve.undecided for curve in curves):
        handles.append(Patch(label="could be: no decision (mean)", **_OPEN))
    return handles
