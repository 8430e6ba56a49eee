"""Figures draw the frames' own numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from orchestrator.report.figures.accuracy import SERIES, Axis, accuracy_figure
from orchestrator.report.figures.detection import detection_figure
from orchestrator.report.figures.forgery import FILLS, forgery_figure
from orchestrator.report.figures.suppression import Curve, mean_curve, suppression_figure
from orchestrator.report.findings import Findings, gather
from orchestrator.report.grid import by_configuration
from orchestrator.report.render import FORMATS, render
from orchestrator.report.summaries import detection_summaries


@pytest.fixture(scope="module")
def findings(make_campaign: Callable[..., Any]) -> Findings:
    made = make_campaign()
    return gather(made.store, made.record)


def _heights(axes: Axes) -> dict[str, np.ndarray[Any, Any]]:
    return {str(line.get_label()): np.asarray(line.get_ydata()) for line in axes.lines}


def _panels(figure: Figure) -> list[Axes]:
    return [axes for axes in figure.axes if axes.axison]


@pytest.mark.parametrize("axis", list(Axis))
def test_accuracy_lines_are_means_over_repeats(findings: Findings, axis: Axis) -> None:
    frame = findings.accuracy
    shown = _panels(accuracy_figure(frame, axis))
    parts = [part for _, part in frame.groupby(axis.other.value)]
    assert len(shown) == len(parts) == 2
    for axes, part in zip(shown, parts, strict=True):
        lines = _heights(axes)
        for series in SERIES:
            expected = part.groupby(axis.value)[series.column].mean()
            np.testing.assert_allclose(lines[series.name], expected)


def test_accuracy_has_a_point_for_each_repeat(findings: Findings) -> None:
    frame = findings.accuracy
    first = _panels(accuracy_figure(frame, Axis.TRIGGER_SHARE))[0]
    part = frame[frame["ones_share"] == 0.3]
    drawn = np.concatenate([np.asarray(dots.get_offsets())[:, 1] for dots in first.collections[-1:]])
    np.testing.assert_allclose(np.sort(drawn), np.sort(part["accuracy_watermarked"]))


def test_accuracy_of_one_configuration_is_drawn_too(findings: Findings) -> None:
    one = findings.accuracy.iloc[:1]
    (axes,) = _panels(accuracy_figure(one, Axis.TRIGGER_SHARE))
    assert _heights(axes)["watermarked"].tolist() == one["accuracy_watermarked"].tolist()
    low, high = axes.get_ylim()
    assert high - low >= 0.02


def test_detection_bars_are_mean_bits_and_chance_is_half_of_the_decided(findings: Findings) -> None:
    summaries = detection_summaries(findings.detection)
    shown = _panels(detection_figure(summaries))
    assert len(shown) == 4
    groups = findings.detection.groupby(["trigger_share", "ones_share"])
    for axes, (_, part) in zip(shown, groups, strict=True):
        means = part.groupby(["measure", "strategy"])[["correct", "wrong", "uncertain"]].mean()
        for bars in axes.containers:
            widths = [bar.get_width() for bar in bars]
            np.testing.assert_allclose(widths, means[str(bars.get_label())])
        marks = [float(np.asarray(line.get_xdata())[0]) for line in axes.lines[1::2]]
        np.testing.assert_allclose(marks, (means["correct"] + means["wrong"]) / 2)


def test_single_roc_curve_is_drawn_as_it_is(make_campaign: Callable[..., Any]) -> None:
    made = make_campaign(repeats=1)
    curves = gather(made.store, made.record).roc_curves
    parts = list(by_configuration(curves))
    for axes, (_, part) in zip(_panels(suppression_figure(parts)), parts, strict=True):
        for method, rows in part.groupby("method"):
            (line,) = [line for line in axes.lines if line.get_label() == method]
            assert line.get_xdata().tolist() == rows["false_positive_rate"].tolist()
            assert line.get_ydata().tolist() == rows["true_positive_rate"].tolist()


@st.composite
def _curves(draw: st.DrawFn) -> Curve:
    steps = draw(st.integers(0, 6))
    rates = st.lists(st.floats(0, 1), min_size=steps, max_size=steps).map(sorted)
    return np.array([0.0, *draw(rates), 1.0]), np.array([0.0, *draw(rates), 1.0])


@given(st.lists(_curves(), min_size=1, max_size=4))
def test_mean_curve_is_the_mean_of_the_best_allowed_heights(curves: list[Curve]) -> None:
    rates, heights = mean_curve(curves)
    for rate, height in zip(rates, heights, strict=True):
        best = [true[false <= rate].max() for false, true in curves]
        assert height == pytest.approx(np.mean(best))
    assert (np.diff(heights) >= -1e-12).all()


def test_forgery_lines_are_the_frame_over_signatures(findings: Findings) -> None:
    ((_, frame), *_) = by_configuration(findings.forgery)
    shown = _panels(forgery_figure(frame))
    assert len(shown) == 4
    for column, (_, part) in enumerate(frame.groupby("engine")):
        lines = _heights(shown[column])
        forged = part.groupby("eps")["forged"]
        np.testing.assert_allclose(lines["mean"], forged.mean())
        np.testing.assert_allclose(lines["maximum"], forged.max())
        possible = (part["instances"] - part["impossible"]).groupby(part["eps"]).mean()
        np.testing.assert_allclose(lines["possible"], possible)
        assert set(lines["true size"]) == {int(part["trigger_size"].iloc[0])}
        faint = [line for line in shown[column].lines if str(line.get_label()).startswith("_")]
        drawn = sorted(tuple(line.get_ydata()) for line in faint)
        each = [tuple(one.sort_values("eps")["forged"]) for _, one in part.groupby(["signature", "repeat"])]
        assert drawn == sorted(each)


def test_forgery_band_spans_the_quantiles_over_signatures(findings: Findings) -> None:
    ((_, frame), *_) = by_configuration(findings.forgery)
    sat = frame[frame["engine"] == "sat"].groupby("eps")["forged"]
    (band,) = _panels(forgery_figure(frame))[0].collections
    corners = band.get_paths()[0].vertices
    for eps, low, high in zip(sat.groups, sat.quantile(0.1), sat.quantile(0.9), strict=True):
        there = corners[np.isclose(corners[:, 0], eps), 1]
        assert there.min() == pytest.approx(low)
        assert there.max() == pytest.approx(high)


def test_every_query_is_in_the_bars_as_what_it_is(findings: Findings) -> None:
    ((_, frame), *_) = by_configuration(findings.forgery)
    shown = _panels(forgery_figure(frame))
    for axes, (_, part) in zip(shown[2:], frame.groupby("engine"), strict=True):
        sums = part.groupby("eps")[["forged", "impossible", "timeout", "memout", "error", "instances"]].sum()
        heights = {str(bars.get_label()): [bar.get_height() for bar in bars] for bars in axes.containers}
        for name, drawn in heights.items():
            np.testing.assert_allclose(drawn, sums[name] / sums["instances"])
        np.testing.assert_allclose(np.sum(list(heights.values()), axis=0), 1.0)


def test_unanswered_queries_are_neither_impossible_nor_left_out(findings: Findings) -> None:
    ((_, frame), *_) = by_configuration(findings.forgery)
    half = frame.assign(instances=2 * frame["instances"])
    lower = _panels(forgery_figure(half))[2]
    heights = {str(bars.get_label()): bars for bars in lower.containers}
    np.testing.assert_allclose([bar.get_height() for bar in heights["pending"]], 0.5)


def test_fillings_differ_in_hatch_or_in_lightness() -> None:
    looks = {(fill.hatch, _lightness(fill.colour)) for fill in FILLS.values()}
    assert len(looks) == len(FILLS)


def _lightness(colour: str) -> int:
    red, green, blue = mpl.colors.to_rgb(colour)
    return round(10 * (0.2126 * red + 0.7152 * green + 0.0722 * blue))


@pytest.mark.parametrize("file_format", FORMATS)
def test_rendering_is_repeatable_and_leaves_settings_alone(findings: Findings, file_format: str) -> None:
    before = dict(mpl.rcParams)
    summaries = detection_summaries(findings.detection)
    pictures = [
        render(detection_figure(summaries), file_format, title="bits <&>", caption="n = 3") for _ in range(2)
    ]
    assert pictures[0] == pictures[1]
    assert dict(mpl.rcParams) == before


def test_unknown_picture_format_is_refused(findings: Findings) -> None:
    with pytest.raises(ValueError, match="unknown picture format 'gif'; known are: png, svg, pdf"):
        render(Figure(), "gif")


def test_frames_are_not_changed_by_drawing(findings: Findings) -> None:
    before = findings.forgery.copy()
    for _, part in by_configuration(findings.forgery):
        forgery_figure(part)
    pd.testing.assert_frame_equal(findings.forgery, before)
