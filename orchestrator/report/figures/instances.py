"""Forged images beside the originals that they were made from."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from orchestrator.report.figures.style import FAINT, INK, SMALL, WIDTH_IN
from orchestrator.results.forged_sets import Forgery
from wm.datasets import Split

PER_ROW = 3
"""Instances side by side, three pictures each."""

MOST = 9
"""Instances in a picture."""

COLUMNS = ("original", "forged", "change")


def image_side(feature_names: Sequence[str]) -> int | None:
    """Return the width of the square image that the features are, None if they are no such image.

    Pixels are told by their names, as MNIST's and scikit-learn's digits have them ("pixel...").
    """
    side = math.isqrt(len(feature_names))
    is_image = side**2 == len(feature_names) and all(name.startswith("pixel") for name in feature_names)
    return side if is_image and side > 1 else None


def spread_out(forgeries: Sequence[Forgery], count: int = MOST) -> list[Forgery]:
    """Return up to `count` forgeries from the nearest to the farthest, evenly over their ranks."""
    ordered = sorted(forgeries, key=lambda one: (one.distance, one.row))
    if len(ordered) <= count:
        return ordered
    return [ordered[int(place)] for place in np.linspace(0, len(ordered) - 1, count).round()]


def instances_figure(forgeries: Sequence[Forgery], split: Split) -> Figure:
    """Draw forged images: original, forged instance, and the change.

    Parameters
    ----------
    forgeries
        One or more, of rows that are images (`image_side`); more than `MOST` would not fit a page.
    split
        The campaign's, for the names of features and classes.

    Returns
    -------
    Figure
        Ink from 0 (white) to 1 (black); the change from -1 (white) by 0 (grey) to +1 (black), so that it is
        read without colour. Above each: row, class, and distance, the largest change of a pixel.

    Raises
    ------
    ValueError
        The rows are no images.
    """
    side = image_side(split.feature_names)
    if side is None:
        raise ValueError(f"{len(split.feature_names)} features are no square image")
    across = min(PER_ROW, len(forgeries))
    down = -(-len(forgeries) // across)
    figure = Figure(figsize=(WIDTH_IN, 1.02 * down + 0.45), layout="constrained", facecolor="white")
    # A narrow column keeps neighbours apart.
    wide, gap = [1.0] * len(COLUMNS), 0.12
    grid = figure.add_gridspec(down, across * (len(COLUMNS) + 1), width_ratios=[*wide, gap] * across)
    for number, one in enumerate(forgeries):
        row, column = divmod(number, across)
        first = column * (len(COLUMNS) + 1)
        axes = [figure.add_subplot(grid[row, first + place]) for place in range(len(COLUMNS))]
        _draw(axes, one, side)
        axes[1].set_title(
            f"row {one.row} ({split.class_names[one.label]}), {one.distance:.3f}", fontsize=SMALL, color=INK
        )
        if row == down - 1 or number + across >= len(forgeries):
            for place, name in zip(axes, COLUMNS, strict=True):
                place.set_xlabel(name, fontsize=SMALL, color=INK)
    return figure


def _draw(axes: Sequence[Axes], one: Forgery, side: int) -> None:
    pictures = (one.original, one.forged, one.forged - one.original)
    for place, values, least in zip(axes, pictures, (0.0, 0.0, -1.0), strict=True):
        place.imshow(values.reshape(side, side), cmap="gray_r", vmin=least, vmax=1.0, interpolation="nearest")
        place.set_xticks([])
        place.set_yticks([])
        for spine in place.spines.values():
            spine.set_color(FAINT)
