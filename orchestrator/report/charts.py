"""Parts of all charts, made with Altair: looks that differ in grey too, lines, panels, tooltips."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from orchestrator.files import write_whole
from orchestrator.report.data import Findings, chunked
from orchestrator.report.rendering import Chart as Chart  # for all sections
from orchestrator.report.rendering import interactive, render
from orchestrator.report.table import in_words
from orchestrator.report.wording import declared

WIDTH = 680
"""Width of a chart without its axes, about that of a page's text."""

_MARKED = 24
"""Points of a stepped line that have tooltips: such a line may have hundreds."""

PANELS = 6
"""Panels of one figure: more would not fit a page."""

INK, FAINT = "#1a1a1a", "#8a8a8a"
COLOURS = ("#0b4a8f", "#b35900", "#3b7d4f", "#7a3b8f", "#1a1a1a")
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
DASHES = ((1, 0), (7, 3), (8, 3, 2, 3), (2, 2), (6, 2, 1, 2, 1, 2))

WARNING = "#b00020"


@dataclass(frozen=True, eq=False)
class Figure:
    """A chart with what belongs to it."""

    name: str
    """File name without ending."""
    title: str
    """A few words."""
    caption: str
    """What is drawn, with units, sample sizes and seed: stands alone."""
    alt_text: str
    """The content in words, for those who do not see it."""
    draw: Callable[[], Chart] = field(repr=False)
    """Returns the chart: making it takes longer than everything else."""

    def save(self, path: Path) -> None:
        """Write it as a file of the path's ending, one of `FORMATS`.

        Raises
        ------
        ValueError
            It has another ending.
        OutputError
            The file cannot be written.
        """
        write_whole(path, render(self.draw(), path.suffix[1:].lower(), description=self.alt_text))

    def _repr_html_(self) -> str:
        """Return it as notebooks show it: as the report does, with its caption."""
        return interactive(self)


def figure(
    key: str,
    ending: str,
    draw: Callable[[], Chart],
    origin: str,
    rows: pd.DataFrame | None = None,
    **values: Any,
) -> Figure:
    """Return a figure with its declared texts.

    Parameters
    ----------
    key, ending
        Its name there, and what follows that in its own name.
    draw
        Returns its chart.
    origin
        The end of its caption, see `Findings.origin`.
    rows
        Aggregated frame that its alt text puts into words.
    **values
        Filled into its texts.
    """
    texts = declared()["figures"][key]
    if rows is not None:
        table, *columns = texts["words"]
        values["words"] = in_words(table, rows, columns)
    title, caption, alt_text = (texts[name].format(**values) for name in ("title", "caption", "alt"))
    return Figure(f"{key}{ending}", title, f"{caption} {origin}", alt_text, draw)


def figures(
    key: str,
    findings: Findings,
    frame: pd.DataFrame,
    summary: pd.DataFrame,
    draw: Callable[[pd.DataFrame], Chart],
    *,
    size: int = PANELS,
    **values: Any,
) -> Iterator[Figure]:
    """Yield a figure for each `size` ways of embedding; `draw` and its alt text get their summary."""
    for ending, some, rows in chunked(frame, summary, size):
        yield figure(key, ending, partial(draw, rows), findings.origin(some), rows, **values)


def with_tooltips(marks: Chart) -> Chart:
    """Return marks whose text is their rows' column `tooltip`; other marks have none.

    In a file it is the mark's label, which `marks.js` shows and screen readers read; viewers of Altair's own
    charts show it as a tooltip.
    """
    shown = marks.encode(description=alt.Description("tooltip:N"), tooltip=alt.Tooltip("tooltip:N"))
    kind = {"type": shown.mark} if isinstance(shown.mark, str) else shown.mark.to_dict()
    shown.mark = alt.MarkDef(**kind | {"aria": True})
    return shown


def thinned(frame: pd.DataFrame, each: str) -> pd.Series[bool]:
    """Mark at most `_MARKED` rows for each value of a column, evenly spread, with both ends."""
    groups = frame.groupby(each, sort=False)
    place, size = groups.cumcount(), groups[each].transform("size")
    every = np.ceil(size / (_MARKED - 1))
    kept: pd.Series[bool] = (place % every == 0) | (place == size - 1)
    return kept


def look(field: str, names: Sequence[str], *channels: str) -> dict[str, Any]:
    """Return encodings that draw each of some names with a colour, a marker and a dash of its own.

    Parameters
    ----------
    channels
        Some of ``color``, ``shape`` and ``strokeDash``; all of them without.
    """
    ranges: dict[str, tuple[type[Any], Sequence[Any]]] = {
        "color": (alt.Color, COLOURS),
        "shape": (alt.Shape, SHAPES),
        "strokeDash": (alt.StrokeDash, DASHES),
    }
    found = {}
    for channel in channels or tuple(ranges):
        encoding, looks = ranges[channel]
        scale = alt.Scale(
            domain=list(names), range=[looks[place % len(looks)] for place in range(len(names))]
        )
        found[channel] = encoding(f"{field}:N", scale=scale, title=None)
    return found


def panels(
    parts: Iterable[tuple[str, pd.DataFrame]],
    draw: Callable[[pd.DataFrame], Chart],
    *,
    columns: int = 2,
    height: int = 200,
) -> Chart:
    """Return a chart with a panel for each title and frame, at most `columns` in a row, with one legend."""
    every = list(parts)
    columns = min(columns, len(every))
    width = WIDTH / columns - (0 if columns == 1 else 45)
    drawn = [draw(part).properties(title=title, width=width, height=height) for title, part in every]
    return alt.concat(*drawn, columns=columns).resolve_scale(
        color="shared", shape="shared", strokeDash="shared"
    )


def by_text(frame: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the rows of each way of embedding with its text, in the frame's order."""
    return [(str(name), part) for name, part in frame.groupby("configuration", sort=False)]


def series(
    frame: pd.DataFrame,
    x: alt.X,
    y: Mapping[str, Any],
    names: Sequence[str],
    *,
    field: str = "series",
    ends: str = "",
    is_step: bool = False,
) -> Chart:
    """Return a line with a colour, dash and marker of its own for each of some names.

    Parameters
    ----------
    frame
        The column of `x`, `field`, the value `middle`, with `ends` also `low` and `high`, and `tooltip`.
    x, y
        The horizontal axis; options of the vertical one.
    names
        Values of `field` in the order of their looks.
    ends
        ``bar`` or ``band``: how low and high are drawn; not at all without.
    is_step
        Whether a value holds up to the next one; such lines have no markers.
    """
    interpolate: Any = "step-after" if is_step else "linear"
    base = alt.Chart(frame.assign(kept=thinned(frame, field)) if is_step else frame).encode(x=x)
    middle = base.encode(y=alt.Y("middle:Q", **y))
    line = middle.mark_line(interpolate=interpolate)
    layers = [line.encode(**look(field, names, "color", "strokeDash"))]
    if ends:
        known = base.transform_filter("isValid(datum.low)")
        drawn = (
            known.mark_rule(opacity=0.6)
            if ends == "bar"
            else known.mark_area(opacity=0.15, interpolate=interpolate)
        )
        low = alt.Y("low:Q", **y)
        layers.insert(0, drawn.encode(y=low, y2="high:Q", **look(field, names, "color")))
    if is_step:
        unseen = middle.transform_filter("datum.kept").mark_point(filled=True, fillOpacity=0)
        layers.append(with_tooltips(unseen))
    else:
        points = middle.mark_point(filled=True, size=35).encode(**look(field, names, "color", "shape"))
        layers.append(with_tooltips(points))
    return alt.layer(*layers)


def faint(
    frame: pd.DataFrame,
    x: alt.X,
    y: Mapping[str, Any],
    each: Sequence[str],
    colour: Any,
    *,
    is_step: bool = False,
) -> Chart:
    """Return a faint line through `middle` for each value of some columns."""
    line = alt.Chart(frame).mark_line(
        interpolate="step-after" if is_step else "linear", strokeWidth=0.8, opacity=0.4
    )
    return line.encode(x=x, y=alt.Y("middle:Q", **y), color=colour, detail=[f"{name}:N" for name in each])


def stack(
    frame: pd.DataFrame, key: str, parts: Mapping[str, str], fills: Mapping[str, str], *, title: str = ""
) -> Chart:
    """Return stacked bars of `amount` for each `key`: of each part its column, with its filling.

    A part tells its amount and that of the whole bar: after `title` and the key, before the frame's column
    `sample`, if it has one.
    """
    total = frame[list(parts.values())].sum(axis=1)
    sample = frame["sample"] if "sample" in frame else [""] * len(frame)
    long = pd.concat(
        frame[[key]].assign(
            part=name,
            order=place,
            amount=frame[source],
            tooltip=[
                f"{title}{where}: {name} {amount:,.4g} of {whole:,.4g}{ending}"
                for where, amount, whole, ending in zip(frame[key], frame[source], total, sample, strict=True)
            ],
        )
        for place, (name, source) in enumerate(parts.items())
    )
    scale = alt.Scale(domain=list(fills), range=list(fills.values()))
    bars = alt.Chart(long).mark_bar(stroke=INK, strokeWidth=0.6)
    return with_tooltips(
        bars.encode(color=alt.Color("part:N", title=None, sort=None, scale=scale), order=alt.Order("order:Q"))
    )


def counted_bars(
    hits: pd.Series[bool], names: pd.Series[str], parts: tuple[str, str], fill: str, *, title: str, step: int
) -> Chart:
    """Return a bar for each of some names, in their order: how often something holds, and how often not.

    Parameters
    ----------
    parts
        What hits and others are called.
    fill
        Colour of the hits.
    title, step
        Of the horizontal axis; height of a bar.
    """
    counts = hits.groupby(names, sort=False).agg(["sum", "size"])
    found, size = counts["sum"].to_numpy(int), counts["size"].to_numpy(int)
    key = str(names.name)
    bars = pd.DataFrame({key: [str(name) for name in counts.index], parts[0]: found, parts[1]: size - found})
    drawn = stack(bars, key, dict(zip(parts, parts, strict=True)), {parts[0]: fill, parts[1]: "#e3e3e3"})
    axis = alt.Axis(tickCount=min(6, int(size.max())), format="d")
    return drawn.encode(
        x=alt.X("amount:Q", title=title, axis=axis), y=alt.Y(f"{key}:N", title=None, sort=None)
    ).properties(width=WIDTH * 0.6, height=alt.Step(step))


def rule(*, x: float | None = None, y: float | None = None, dash: Sequence[int] = (7, 3)) -> Chart:
    """Return a dashed line across a panel at a value of one axis."""
    channel = {"x": "at:Q"} if y is None else {"y": "at:Q"}
    data = pd.DataFrame({"at": [x if y is None else y]})
    return alt.Chart(data).mark_rule(strokeDash=list(dash), color=INK).encode(**channel)
