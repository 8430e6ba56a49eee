"""The leading direction of the vote matrix, tree by tree, with the true bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from orchestrator.report.figures.style import FAINT, INK, WIDTH_IN, finish, legend_below
from orchestrator.report.grid import Configuration

BITS: tuple[dict[str, Any], ...] = (
    {"color": "#b35900", "marker": "o", "markerfacecolor": "white", "markeredgewidth": 1.3, "markersize": 5},
    {"color": "#0b4a8f", "marker": "^", "markersize": 5.5},
)
"""How trees with bit 0 and bit 1 are drawn: colour, form and filling differ."""

LEADING, OTHERS = "#0b4a8f", "#d5d5d5"


@dataclass(frozen=True, eq=False)
class Spectrum:
    """One vote spectrum.

    Attributes
    ----------
    configuration, mode
        Of which forests, and where the points came from.
    strengths
        Shares of the variance along the leading directions, the largest first.
    scores, bits : (m,)
        Of each tree: its entry in the leading direction, and its true bit.
    """

    configuration: Configuration
    mode: str
    strengths: NDArray[np.float64]
    scores: NDArray[np.float64]
    bits: NDArray[np.int64]

    @property
    def guessed(self) -> float:
        """Share of bits that the split at the median gets right, up to complement."""
        above = self.scores > np.median(self.scores)
        right = float((above == (self.bits == 1)).mean())
        return max(right, 1 - right)


def spectrum_figure(spectra: Sequence[Spectrum]) -> Figure:
    """Draw a row of two panels for each spectrum: the trees by their entries, and the strengths.

    Parameters
    ----------
    spectra
        At least one.

    Returns
    -------
    Figure
        Left: trees in the order of their entries, true bits by marker and colour, a line at the median where
        the attacker divides them. Right: percent of the variance along each direction.
    """
    figure = Figure(figsize=(WIDTH_IN, 2.15 * len(spectra) + 0.6), layout="constrained", facecolor="white")
    grid = figure.subplots(len(spectra), 2, squeeze=False, width_ratios=[2.3, 1])
    for (left, right), spectrum in zip(grid, spectra, strict=True):
        _draw_trees(left, spectrum)
        _draw_strengths(right, spectrum.strengths)
        finish(
            left,
            title=f"{spectrum.configuration}; {spectrum.mode}",
            y="Entry in leading direction",
        )
        finish(right, y="Variance (%)")
        right.grid(visible=False, axis="x")
    grid[-1, 0].set_xlabel("Trees in the order of their entries")
    grid[-1, 1].set_xlabel("Direction")
    legend_below(figure, _handles(), columns=4)
    return figure


def _draw_trees(axes: Axes, spectrum: Spectrum) -> None:
    order = np.argsort(spectrum.scores, kind="stable")
    scores, bits = spectrum.scores[order], spectrum.bits[order]
    places = np.arange(1, len(order) + 1)
    axes.axhline(0, color=FAINT, linewidth=0.8, zorder=1)
    for bit, look in enumerate(BITS):
        chosen = bits == bit
        axes.plot(places[chosen], scores[chosen], linestyle="", label=f"bit {bit}", zorder=3, **look)
    axes.axvline((len(order) + 1) / 2, color=INK, linestyle=(0, (5, 3)), linewidth=1.2, label="median")
    axes.set_xlim(0, len(order) + 1)


def _draw_strengths(axes: Axes, strengths: NDArray[np.float64]) -> None:
    directions = np.arange(1, len(strengths) + 1)
    colours = [LEADING, *[OTHERS] * (len(strengths) - 1)]
    axes.bar(directions, 100 * strengths, color=colours, edgecolor=INK, linewidth=0.6)
    axes.set_xlim(0.2, len(strengths) + 0.8)
    step = 5 if len(strengths) > 6 else 1
    axes.set_xticks([1, *range(step, len(strengths) + 1, step)] if step > 1 else directions)


def _handles() -> list[Line2D | Patch]:
    return [
        *(
            Line2D([], [], linestyle="", label=f"tree with bit {bit}", **look)
            for bit, look in enumerate(BITS)
        ),
        Line2D([], [], color=INK, linestyle=(0, (5, 3)), linewidth=1.2, label="split at the median"),
        Patch(facecolor=LEADING, edgecolor=INK, label="leading direction"),
    ]
