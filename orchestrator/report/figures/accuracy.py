"""Accuracy of watermarked forests over the grid, beside the two honest forests."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from orchestrator.report.figures.style import LOOKS, Look, finish, is_leftmost, legend_below, panels
from orchestrator.report.summaries import Spread
from orchestrator.report.wording import percent


class Axis(StrEnum):
    """What accuracy is drawn over; the value is the frame's column."""

    TRIGGER_SHARE = "trigger_share"
    ONES_SHARE = "ones_share"

    @property
    def other(self) -> Axis:
        """The coordinate that a panel holds fixed."""
        return Axis.ONES_SHARE if self is Axis.TRIGGER_SHARE else Axis.TRIGGER_SHARE

    @property
    def label(self) -> str:
        """Label with its unit."""
        return {
            Axis.TRIGGER_SHARE: "Trigger rows (% of training rows)",
            Axis.ONES_SHARE: "Ones in the signature (% of bits)",
        }[self]

    @property
    def noun(self) -> str:
        """What the shares are shares of."""
        return "trigger rows" if self is Axis.TRIGGER_SHARE else "ones"


_LEAST_SPAN = 0.02
"""Least height of the axis: a difference of one test row must not look like a cliff."""


@dataclass(frozen=True)
class _Series:
    column: str
    name: str
    look: Look
    shift: float
    """Moves points sideways, as a share of the axis, so that series do not cover each other."""


SERIES = (
    _Series("accuracy_standard", "standard (honest)", LOOKS[1], -0.025),
    _Series("accuracy_capped", "capped (honest, same limits)", LOOKS[2], 0.025),
    _Series("accuracy_watermarked", "watermarked", LOOKS[0], 0.0),
)


def panels_of(frame: pd.DataFrame, axis: Axis) -> list[tuple[str, pd.DataFrame]]:
    """Return title and rows of each panel: a scheme at a fixed value of the other coordinate.

    Only those along which `axis` takes several values, unless there is none such: then all.
    """
    if frame.empty:
        return []
    parts = [part for _, part in frame.groupby(["scheme", axis.other.value], sort=True)]
    along = [part for part in parts if part[axis.value].nunique() > 1] or parts
    return [
        (
            f"{part['scheme'].iloc[0]}, {percent(float(part[axis.other.value].iloc[0]))} {axis.other.noun}",
            part,
        )
        for part in along
    ]


def accuracy_figure(frame: pd.DataFrame, axis: Axis) -> Figure:
    """Draw accuracy over one coordinate of the grid.

    Parameters
    ----------
    frame
        Of `orchestrator.results.accuracy`, not empty.
    axis
        What to draw it over.

    Returns
    -------
    Figure
        In each panel three lines of means (labels as in `SERIES`), a point for each repeat, and one
        standard deviation each way where there are several repeats.
    """
    shown = panels_of(frame, axis)
    figure, all_axes = panels(len(shown))
    for axes, (title, part) in zip(all_axes, shown, strict=True):
        _draw(axes, part, axis)
        finish(
            axes, title=title, x=axis.label, y="Accuracy (share of test rows)" if is_leftmost(axes) else ""
        )
    handles: list[Line2D | Patch] = [
        Line2D([], [], label=series.name, **series.look.line()) for series in reversed(SERIES)
    ]
    if frame["repeat"].nunique() > 1:
        handles += [
            Line2D([], [], linestyle="", marker="o", markersize=3, color="#555555", label="each repeat"),
            Patch(facecolor="#0b4a8f", alpha=0.18, label="± 1 standard deviation"),
        ]
    legend_below(figure, handles)
    return figure


def _draw(axes: Axes, part: pd.DataFrame, axis: Axis) -> None:
    at = np.sort(part[axis.value].unique().astype(float)) * 100
    alone = len(at) == 1
    width = 1.0 if alone else float(at[-1] - at[0])
    for series in SERIES:
        groups = [group[series.column] for _, group in part.groupby(axis.value, sort=True)]
        spreads = [Spread.of(group) for group in groups]
        mean = np.array([spread.mean for spread in spreads])
        sd = np.array([spread.sd or 0.0 for spread in spreads])
        x = at + series.shift * width
        axes.plot(x, mean, label=series.name, zorder=3, **series.look.line())
        if series.column == "accuracy_watermarked":
            axes.fill_between(x, mean - sd, mean + sd, color=series.look.colour, alpha=0.18, linewidth=0)
        elif sd.any():
            axes.errorbar(x, mean, yerr=sd, fmt="none", ecolor=series.look.colour, elinewidth=1, capsize=3)
        if any(spread.n > 1 for spread in spreads):
            dots = np.concatenate(
                [np.full(len(group), place) for place, group in zip(x, groups, strict=True)]
            )
            axes.scatter(dots, np.concatenate(groups), s=9, color=series.look.colour, alpha=0.6, zorder=2)
    axes.set_xticks(at, [f"{value:g}" for value in at])
    pad = 0.2 * width if alone else 0.08 * width
    axes.set_xlim(at[0] - pad, at[-1] + pad)
    low, high = axes.get_ylim()
    spare = max(0.0, _LEAST_SPAN - (high - low)) / 2
    axes.set_ylim(low - spare, high + spare)
