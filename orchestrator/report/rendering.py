"""Charts as files, and as parts of pages whose marks have tooltips."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, Protocol

import altair as alt
import vl_convert
from markupsafe import Markup

Chart = Any
"""A chart of Altair, whose methods return one of many types, or say that they return any."""

FORMATS = ("png", "svg", "pdf")
_SCALE = 2.0
"""Pixels of a PNG for each unit of a chart."""


@cache
def _theme() -> dict[str, Any]:
    """Return the looks of all charts, as Vega-Lite's configuration."""
    return tomllib.loads(own("theme.toml"))


def render(chart: Chart, file_format: str, *, description: str = "") -> bytes:
    """Return a chart as a file's content: the same bytes for the same chart.

    Parameters
    ----------
    file_format
        One of `FORMATS`.
    description
        Goes into an SVG as its label.
    """
    if file_format not in FORMATS:
        raise ValueError(f"unknown figure format {file_format!r}; known are: {', '.join(FORMATS)}")
    with alt.data_transformers.disable_max_rows():
        spec = chart.to_dict(validate=False)  # the tests validate all charts; it takes a while
    spec["config"] = _theme()
    spec["description"] = description
    if file_format == "png":
        return bytes(vl_convert.vegalite_to_png(spec, scale=_SCALE))
    if file_format == "pdf":
        # The converter lists what a page refers to in an order that differs from run to run.
        entries = re.compile(rb"(?:^ +/(?:fo|gs|xo|cs|sh|p)\d+ .*\n)+", re.MULTILINE)
        return entries.sub(_sorted, bytes(vl_convert.vegalite_to_pdf(spec)))
    return str(vl_convert.vegalite_to_svg(spec)).encode()


def _sorted(lines: re.Match[bytes]) -> bytes:
    return b"".join(sorted(lines[0].splitlines(keepends=True)))


class Drawn(Protocol):
    """What a figure is to this module."""

    @property
    def name(self) -> str:
        """File name without ending."""

    @property
    def title(self) -> str:
        """A few words."""

    @property
    def caption(self) -> str:
        """What is drawn."""

    @property
    def alt_text(self) -> str:
        """The content in words."""

    def draw(self) -> Chart:
        """Return the chart."""


def own(name: str) -> str:
    """Return the text of a file in this package."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def inline(figure: Drawn) -> Markup:
    """Return a figure's chart as SVG for a page: labelled, with ids that no other figure of the page has."""
    return as_part(render(figure.draw(), "svg").decode(), figure)


def as_part(svg: str, figure: Drawn) -> Markup:
    """Return an SVG file of a figure as part of a page."""
    bare = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg)
    # vl-convert numbers ids on from chart to chart: equal charts would not be equal.
    ids = {one: f"{figure.name}-{place}" for place, one in enumerate(re.findall(r'\bid="([^"]*)"', bare), 1)}
    mine = re.sub(
        r'(\bid="|url\(#|href="#)([^")]*)', lambda found: f"{found[1]}{ids.get(found[2], found[2])}", bare
    )
    label = escape(figure.alt_text)
    labelled = mine.replace("<svg ", f'<svg role="graphics-document" aria-label="{label}" ', 1)
    return Markup(labelled)  # noqa: S704 - made here: Vega escapes the texts of marks


def interactive(figure: Drawn) -> str:
    """Return a figure with caption, style and script, for a notebook; it needs no network."""
    return (
        f"<style>{own('marks.css')}</style>"
        f'<figure class="chart">{inline(figure)}'
        f"<figcaption><strong>{escape(figure.title)}.</strong> {escape(figure.caption)}</figcaption></figure>"
        f"<script>{own('marks.js')}</script>"
    )
