"""How often p-values were small over false claims, with exact intervals, beside what they promise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from orchestrator.report.calibrated import DETECT, VERIFY
from orchestrator.report.figures.style import INK, LOOKS, WIDTH_IN, finish, legend_below

_ROW_IN = 0.26
_POPULATIONS = {"honest": LOOKS[0], "other owners": LOOKS[1], "presence": LOOKS[2]}
ALARM: dict[str, Any] = {
    "color": "#b00020",
    "marker": "o",
    "markersize": 13,
    "markerfacecolor": "none",
    "markeredgewidth": 1.6,
    "linestyle": "",
}
"""Ring around a rate that is too large to be chance."""


def calibration_figure(frame: pd.DataFrame) -> Figure:
    """Draw rates and intervals of each p-value, a panel for each level.

    Parameters
    ----------
    frame
        Rows of `orchestrator.results.calibration`, not empty.

    Returns
    -------
    Figure
        In percent: for each population (labelled) a marker at the rate and a bar over its interval; a line
        at the level, below which a rate ought to be; a ring around anti-conservative rates, whose names are
        bold.
    """
    names = list(dict.fromkeys(frame["p_value"]))
    levels = sorted(frame["level"].unique(), reverse=True)
    populations = [name for name in _POPULATIONS if (frame["population"] == name).any()]
    per_row = 1.0 + 0.25 * (len(populations) - 1)
    figure = Figure(
        figsize=(WIDTH_IN, _ROW_IN * per_row * len(names) + 1.5), layout="constrained", facecolor="white"
    )
    grid = figure.subplots(1, len(levels), squeeze=False, sharey=True)[0]
    for axes, level in zip(grid, levels, strict=True):
        _draw(axes, frame[frame["level"] == level], names, populations, float(level))
        finish(axes, title=f"level {100 * level:g}%", x="Rate (%)")
        axes.grid(visible=False, axis="y")
    too_many = set(frame.loc[frame["anti_conservative"].astype(bool), "p_value"])
    grid[0].set_yticks(range(len(names)), [_shown(name) for name in names])
    for label, name in zip(grid[0].get_yticklabels(), names, strict=True):
        label.set_fontweight("bold" if name in too_many else "normal")
    grid[0].set_ylim(len(names) - 0.4, -0.6)
    legend_below(figure, _handles(populations, any_alarm=bool(too_many)))
    return figure


def _shown(name: str) -> str:
    return name.removeprefix(VERIFY).removeprefix(DETECT)


def _draw(axes: Axes, rows: pd.DataFrame, names: list[str], populations: list[str], level: float) -> None:
    for population in populations:
        own = rows[rows["population"] == population]
        places = np.array([_place(name, population, rows, names) for name in own["p_value"]])
        rate, low, high = (100 * own[name].to_numpy(dtype=np.float64) for name in ("rate", "low", "high"))
        look = _POPULATIONS[population]
        axes.hlines(places, low, high, color=look.colour, linewidth=1.4, zorder=2)
        style = look.line(linestyle="", markersize=4.5)
        axes.plot(rate, places, label=population, zorder=3, **style)
        alarming = own["anti_conservative"].to_numpy(dtype=bool)
        axes.plot(rate[alarming], places[alarming], label="too many", zorder=4, **ALARM)
    axes.axvline(100 * level, color=INK, linestyle=(0, (5, 3)), linewidth=1.1, label="level", zorder=1)
    top = 100 * max(float(rows["high"].max()), level)
    axes.set_xlim(-0.04 * top, 1.05 * top)
    axes.tick_params(axis="y", length=0)


def _place(name: str, population: str, rows: pd.DataFrame, names: list[str]) -> float:
    """Return where a rate is drawn: populations of one p-value stand below each other."""
    beside = list(rows.loc[rows["p_value"] == name, "population"])
    return names.index(name) + 0.3 * (beside.index(population) - (len(beside) - 1) / 2)


def _handles(populations: list[str], *, any_alarm: bool) -> list[Line2D]:
    handles = [
        Line2D(
            [],
            [],
            label=population,
            **_POPULATIONS[population].line(linestyle="-", linewidth=1.4, markersize=4.5),
        )
        for population in populations
    ]
    handles.append(
        Line2D(
            [], [], color=INK, linestyle=(0, (5, 3)), linewidth=1.1, label="level: no rate should be above"
        )
    )
    if any_alarm:
        handles.append(Line2D([], [], label="more than chance explains", **(ALARM | {"markersize": 9})))
    return handles
