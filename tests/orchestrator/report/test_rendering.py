"""Charts as parts of pages, of notebooks, and as files."""

from __future__ import annotations

import re
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.report.charts import Figure, series, stack, thinned, with_tooltips
from orchestrator.report.rendering import inline, render
from orchestrator.report.wording import sampled
from tests.report_page import Page

_HOSTILE = "<script>alert(1)</script> \"'& value"


def _figure(chart: alt.Chart, name: str = "one") -> Figure:
    return Figure(name, "A title", "A caption.", f"Bars. {_HOSTILE}", lambda: chart)


def _bars(*, clip: bool = False) -> alt.Chart:
    frame = pd.DataFrame({"x": [1, 2], "y": ["a", "b"], "tooltip": [_HOSTILE, "two"]})
    bars = alt.Chart(frame).mark_bar(clip=clip).encode(x="x:Q", y="y:N")
    return alt.layer(with_tooltips(bars), bars.mark_line())


def test_only_marks_that_tell_something_are_labelled() -> None:
    page = Page(inline(_figure(_bars())))
    assert page.tooltips == [_HOSTILE, "two"]
    assert page.charts == [f"Bars. {_HOSTILE}"]
    assert not page.all_of("script")


def test_charts_of_one_page_share_no_ids() -> None:
    parts = [inline(_figure(_bars(clip=True), name)) for name in ("one", "two")]
    ids = [re.findall(r'\bid="([^"]*)"', part) for part in parts]
    assert ids[0]
    assert not set(ids[0]) & set(ids[1])
    assert inline(_figure(_bars(clip=True), "one")) == parts[0]
    for found, part in zip(ids, parts, strict=True):
        assert set(re.findall(r"url\(#([^)]*)\)", part)) <= set(found)


def test_a_notebook_gets_the_same_chart_with_all_that_it_needs(tmp_path: Path) -> None:
    figure = _figure(_bars())
    html = figure._repr_html_()
    assert inline(figure) in html
    assert Page(html).tooltips == [_HOSTILE, "two"]
    assert not re.search(r'(src|href)="(?!#)|https?:', html)
    figure.save(tmp_path / "chart.SVG")
    assert (tmp_path / "chart.SVG").read_bytes() == render(_bars(), "svg", description=figure.alt_text)
    with pytest.raises(ValueError, match="unknown figure format"):
        figure.save(tmp_path / "chart.gif")


def test_tooltips_of_the_chart_itself_are_the_same_texts() -> None:
    layers = _bars().to_dict()["layer"]
    assert layers[0]["encoding"]["tooltip"]["field"] == "tooltip"
    assert "tooltip" not in layers[1]["encoding"]


@given(st.lists(st.sampled_from("ab"), min_size=1, max_size=200))
def test_a_thinned_line_keeps_its_ends_and_few_points(names: list[str]) -> None:
    frame = pd.DataFrame({"line": names, "x": np.arange(len(names))})
    kept = frame[thinned(frame, "line")]
    for _, part in frame.groupby("line"):
        mine = kept[kept["line"] == part["line"].iloc[0]]["x"]
        assert {part["x"].min(), part["x"].max()} <= set(mine)
        assert len(mine) <= 25
        assert len(part) > 20 or len(mine) == len(part)


def test_a_stepped_line_tells_its_points_without_markers() -> None:
    frame = pd.DataFrame({"x": range(100), "middle": range(100), "line": "mean"})
    frame["tooltip"] = [f"at {place}" for place in frame["x"]]
    chart = series(frame, alt.X("x:Q"), {}, ["mean"], field="line", is_step=True)
    tooltips = Page(inline(_figure(chart))).tooltips
    assert (tooltips[0], tooltips[-1]) == ("at 0", "at 99")
    assert 10 < len(tooltips) <= 25


def test_parts_of_a_bar_tell_their_amount_and_the_whole() -> None:
    frame = pd.DataFrame({"eps": [0.1, 0.3], "yes": [1, 0], "no": [3, 4]})
    chart = stack(
        frame,
        "eps",
        {"forged": "yes", "impossible": "no"},
        {"forged": "#000", "impossible": "#eee"},
        title="eps ",
    )
    tooltips = Page(inline(_figure(chart.encode(x="eps:O", y="amount:Q")))).tooltips
    assert sorted(tooltips) == [
        "eps 0.1: forged 1 of 4",
        "eps 0.1: impossible 3 of 4",
        "eps 0.3: forged 0 of 4",
        "eps 0.3: impossible 4 of 4",
    ]


@pytest.mark.parametrize(
    ("given_", "more", "text"),
    [
        ((0.5, None), {}, "mean 0.5"),
        ((0.5, (0.25, 0.75)), {"n": 1}, "mean 0.5 (0.25 to 0.75), n = 1 repeat"),
        ((0.5, (0.5, 0.5)), {"n": 3, "thing": "run"}, "mean 0.5, n = 3 runs"),
        ((0.5, (np.nan, np.nan)), {"n": 1}, "mean 0.5, n = 1 repeat"),
        ((0.5, (0.4, 0.6)), {"what": "one sd"}, "mean 0.5 (one sd: 0.4 to 0.6)"),
        ((0.5, (0.4, 0.6)), {"write": "{:.0%}".format}, "mean 50% (40% to 60%)"),
    ],
)
def test_samples_are_told_with_spread_and_size_where_there_are_any(given_, more, text: str) -> None:
    assert sampled("mean", *given_, **more) == text
