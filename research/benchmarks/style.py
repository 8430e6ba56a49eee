"""What all figures share: looks that are told apart in grey, panels, legends outside of the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK = "#1a1a1a"
FAINT = "#8a8a8a"
GRID = "#d9d9d9"

WIDTH_IN = 7.2
"""Width of a figure in inches: two columns of a paper, the whole of a page."""

SMALL = 9.0
NORMAL = 10.0
"""Sizes of text in points."""


@dataclass(frozen=True)
class Look:
    """How a line is drawn: colour, dashes and marker all differ, so that one of them suffices."""

    colour: str
    dashes: str | tuple[int, tuple[int, ...]]
    marker: str

    def line(self, **more: Any) -> dict[str, Any]:
        """Return keyword arguments for `Axes.plot`."""
        return {
            "color": self.colour,
            "linestyle": self.dashes,
            "marker": self.marker,
            "markersize": 5.5,
            "linewidth": 1.8,
        } | more


LOOKS = (
    Look("#0b4a8f", "-", "o"),
    Look("#b35900", "--", "s"),
    Look("#3b7d4f", "-.", "^"),
    Look("#7a3b8f", ":", "D"),
    Look("#1a1a1a", (0, (6, 2, 1, 2, 1, 2)), "v"),
)


def panels(
    count: int, *, columns: int = 2, height_in: float = 2.6, share_y: bool = True
) -> tuple[Figure, list[Axes]]:
    """Return a figure with `count` panels in rows of up to `columns`, and their axes in reading order."""
    across = min(columns, max(1, count))
    down = -(-count // across)
    figure = Figure(figsize=(WIDTH_IN, height_in * down + 0.7), layout="constrained", facecolor="white")
    grid = figure.subplots(down, across, squeeze=False, sharey=share_y)
    axes: list[Axes] = list(grid.flat)
    for spare in axes[count:]:
        spare.set_axis_off()
    return figure, axes[:count]


def is_leftmost(axes: Axes) -> bool:
    """Return whether axes are in the first column of their figure."""
    place = axes.get_subplotspec()
    return place is None or place.is_first_col()


def finish(axes: Axes, *, title: str = "", x: str = "", y: str = "") -> None:
    """Give axes their title, labels with units, a light grid behind the data, and no box."""
    if title:
        axes.set_title(title, fontsize=NORMAL, loc="left", color=INK)
    axes.set_xlabel(x, fontsize=NORMAL, color=INK)
    axes.set_ylabel(y, fontsize=NORMAL, color=INK)
    axes.tick_params(labelsize=SMALL, colors=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, color=GRID, linewidth=0.6)
    axes.set_axisbelow(True)


def legend_below(figure: Figure, handles: Sequence[Artist], *, columns: int = 3) -> None:
    """Put a legend under all panels, where it covers no data."""
    figure.legend(
        handles=list(handles),
        loc="outside lower center",
        ncols=columns,
        fontsize=SMALL,
        frameon=False,
        handlelength=3.2,
    )


def numbered_looks(names: Sequence[str]) -> dict[str, Look]:
    """Return a look for each name, the same for the same names; they repeat beyond `len(LOOKS)`."""
    return {name: LOOKS[index % len(LOOKS)] for index, name in enumerate(names)}
