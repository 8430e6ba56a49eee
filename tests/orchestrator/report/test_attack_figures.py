"""Figures of the attacks beyond the paper draw the frames' own numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from orchestrator.report.figures.budget import budget_figure
from orchestrator.report.figures.calibration import calibration_figure
from orchestrator.report.figures.distances import distances_figure
from orchestrator.report.figures.guesses import COLUMNS, guesses_figure
from orchestrator.report.figures.modification import modification_figure
from orchestrator.report.figures.spectrum import BITS, spectrum_figure
from orchestrator.report.figures.tradeoff import LARGEST, looks_of, tradeoff_figure
from orchestrator.report.findings import Findings, gather
from orchestrator.report.grid import by_configuration
from orchestrator.report.pictures import all_pictures
from orchestrator.report.pictures.detection import spectra_of
from orchestrator.report.render import render
from orchestrator.report.strengths import MEANINGS, meaning
from orchestrator.report.summaries import (
    SizeCurve,
    budget_summaries,
    guess_summaries,
    modification_summaries,
    size_curves,
)
from wm.attacks.modification import MODIFICATIONS


def _lines(axes: Axes) -> dict[str, tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    return {
        str(line.get_label()): (np.asarray(line.get_xdata()), np.asarray(line.get_ydata()))
        for line in axes.lines
    }


def _panels(figure: Figure) -> list[Axes]:
    return [axes for axes in figure.axes if axes.axison]


def _curves(findings: Findings) -> list[SizeCurve]:
    return size_curves(findings.distances, findings.least_forgery, findings.cap)


def test_guesses_are_means_with_ends_and_null(attacked: Findings) -> None:
    shown = _panels(guesses_figure(guess_summaries(attacked.guesses)))
    assert len(shown) == 4
    for number, (_, part) in enumerate(by_configuration(attacked.guesses)):
        for axes, column in zip(shown[2 * number : 2 * number + 2], COLUMNS, strict=True):
            values = column.scale * part.groupby("measure", sort=False)[column.spread].mean()
            lines = _lines(axes)
            np.testing.assert_allclose([lines[name][0][0] for name in values.index], values)
            ranges = [line.get_xdata() for line in axes.lines if line.get_label() == "range"]
            groups = part.groupby("measure", sort=False)[column.spread]
            np.testing.assert_allclose(ranges, column.scale * np.c_[groups.min(), groups.max()])
            nulls = [line.get_xdata()[0] for line in axes.lines if line.get_label() == "null"]
            assert nulls == (pytest.approx([58.8] * len(values)) if column.spread == "bits" else [])
            assert axes.get_xlim()[1] > column.scale


def test_spectrum_has_every_tree_with_its_own_bit(attacked: Findings) -> None:
    spectra = spectra_of(attacked)
    first = attacked.spectra[attacked.spectra["repeat"] == 0]
    assert len(spectra) == len(first) == 4
    shown = _panels(spectrum_figure(spectra[:2]))
    for number, row in enumerate(list(first.itertuples())[:2]):
        trees, bars = shown[2 * number], shown[2 * number + 1]
        lines, scores, bits = _lines(trees), np.array(row.scores), np.array(row.bits)
        for bit in (0, 1):
            places, drawn = lines[f"bit {bit}"]
            np.testing.assert_allclose(drawn, np.sort(scores[bits == bit]))
            np.testing.assert_allclose(np.sort(scores)[places.astype(int) - 1], drawn)
        assert lines["median"][0][0] == 10.5
        heights = [bar.get_height() for bar in bars.patches]
        np.testing.assert_allclose(heights, 100 * np.array(row.strengths))
    assert BITS[0]["marker"] != BITS[1]["marker"]


def test_share_guessed_is_the_better_of_both_complements(attacked: Findings) -> None:
    for spectrum in spectra_of(attacked):
        order = np.argsort(spectrum.scores)
        right = int(spectrum.bits[order[10:]].sum()) + int((1 - spectrum.bits[order[:10]]).sum())
        assert spectrum.guessed == max(right, 20 - right) / 20


def test_budget_is_means_with_the_ends_of_any_order(attacked: Findings) -> None:
    shown = _panels(budget_figure(budget_summaries(attacked.budget_curves)))
    for axes, (_, part) in zip(shown, by_configuration(attacked.budget_curves), strict=True):
        lines = _lines(axes)
        bars = iter(axes.collections)
        for method, own in part.groupby("method"):
            groups = own.groupby("trigger_queries")
            np.testing.assert_allclose(lines[str(method)][1], 100 * groups["bits"].mean())
            np.testing.assert_array_equal(np.round(lines[str(method)][0]), list(groups.groups))
            ends = [segment[:, 1] for segment in next(bars).get_segments()]
            np.testing.assert_allclose(ends, 100 * np.c_[groups["low"].min(), groups["high"].max()])
        assert lines["null"][1][0] == pytest.approx(58.8)


def test_step_curves_are_counts_of_least_distances(attacked: Findings) -> None:
    curves = _curves(attacked)
    shown = _panels(distances_figure(curves))
    for axes, curve, (_, part) in zip(shown, curves, by_configuration(attacked.distances), strict=True):
        lines = _lines(axes)
        sizes = part.groupby(["repeat", "signature"])["distance"]
        for eps, mean, most in zip(*lines["mean"], lines["maximum"][1], strict=True):
            counts = sizes.apply(lambda least, eps=eps: int((least <= eps).sum()))
            assert (mean, most) == (pytest.approx(counts.mean()), counts.max())
        assert set(lines["true size"][1]) == {curve.trigger_size}
        faint = [line.get_ydata().tolist() for line in axes.lines if line.get_color() == "#8a8a8a"]
        assert sorted(faint) == sorted(curve.known.tolist())
        assert {line.get_drawstyle() for line in axes.lines if len(line.get_xdata()) > 2} == {"steps-post"}


def _corners(axes: Axes, name: str) -> np.ndarray[Any, Any]:
    (band,) = [area for area in axes.collections if area.get_label() == name]
    return np.asarray(band.get_paths()[0].vertices)


def test_censored_instances_are_the_band_between_known_and_possible(attacked: Findings) -> None:
    curve = _curves(attacked)[0]
    assert curve.undecided > 0
    (axes,) = _panels(distances_figure([curve]))
    last = _corners(axes, "could be")
    ends = last[np.isclose(last[:, 0], curve.eps[-1]), 1]
    assert (ends.min(), ends.max()) == (
        pytest.approx(curve.known[:, -2:].mean(axis=0).min()),
        pytest.approx(curve.possible.mean(axis=0)[-2:].max()),
    )
    decided = replace(curve, possible=curve.known, censored=0, pending=0)
    (axes,) = _panels(distances_figure([decided]))
    assert "could be" not in [area.get_label() for area in axes.collections]


def test_right_axis_is_the_share_of_the_true_size(attacked: Findings) -> None:
    curve = _curves(attacked)[0]
    assert curve.trigger_size is not None
    figure = distances_figure([curve])
    figure.draw_without_rendering()
    (axes,) = _panels(figure)
    (shares,) = axes.child_axes
    np.testing.assert_allclose(shares.get_ylim(), 100 * np.array(axes.get_ylim()) / curve.trigger_size)


_SERIES = (
    (0, "accuracy change", "accuracy_change", 100.0, "mean"),
    (1, "fidelity", "fidelity", 100.0, "mean"),
    (1, "bits", "bits", 100.0, "mean"),
    (1, "exact match", "exact_match", 100.0, "mean"),
    (2, "p from votes", "log10_p", 1.0, "median"),
    (2, "p from vote shares", "log10_p_shares", 1.0, "median"),
)


def _parts(findings: Findings) -> Iterator[tuple[list[Axes], pd.DataFrame]]:
    """Yield the three panels of each modification of the first configuration, with its rows."""
    (_, part), *_ = by_configuration(findings.modification)
    shown = _panels(modification_figure(modification_summaries(part)))
    for number, (_, rows) in enumerate(part.groupby("modification", sort=False)):
        yield shown[3 * number : 3 * number + 3], rows


def test_robustness_curves_are_the_frame_over_repeats_and_tries(attacked: Findings) -> None:
    for axes, rows in _parts(attacked):
        groups = rows.groupby("strength")
        for column, name, source, scale, centre in _SERIES:
            at, drawn = _lines(axes[column])[name]
            np.testing.assert_allclose(drawn, scale * groups[source].agg(centre).astype(float))
            assert at.tolist() == list(range(len(groups)))
        labels = [label.get_text().replace("\n", "+") for label in axes[0].get_xticklabels()]
        assert labels == list(rows.sort_values("strength")["strengths"].unique())
        bands = [_ends(band.get_paths()[0].vertices) for band in axes[2].collections]
        sources = [groups[source] for source in ("log10_p", "log10_p_shares")]
        for band, found in zip(bands, sources, strict=True):
            np.testing.assert_allclose(band, np.c_[found.min(), found.max()])


def _ends(corners: np.ndarray[Any, Any]) -> list[tuple[float, float]]:
    """Return the lowest and highest corner of a band at each place."""
    at = np.unique(corners[:, 0])
    return [(corners[corners[:, 0] == x, 1].min(), corners[corners[:, 0] == x, 1].max()) for x in at]


def test_p_values_of_alignments_are_hollow_and_no_others(attacked: Findings) -> None:
    for axes, rows in _parts(attacked):
        hollow = _lines(axes[2])["aligned"][1]
        assert len(hollow) == (rows["strength"].nunique() if set(rows["p_null"]) == {"aligned"} else 0)


def test_single_try_has_no_band(attacked: Findings) -> None:
    frame = attacked.modification
    single = frame[(frame["repeat"] == 0) & (frame["attempt"] == 0)]
    (_, part), *_ = by_configuration(single)
    for axes in _panels(modification_figure(modification_summaries(part))):
        assert not axes.collections


def test_tradeoff_paths_take_the_better_p_value_and_mark_the_greatest_strength(attacked: Findings) -> None:
    shown = _panels(tradeoff_figure(modification_summaries(attacked.modification)))
    for axes, (_, part) in zip(shown, by_configuration(attacked.modification), strict=True):
        for name, rows in part.groupby("modification", sort=False):
            groups = rows.groupby("strength")
            change, log10_p = _lines(axes)[str(name)]
            best = np.minimum(groups["log10_p"].median(), groups["log10_p_shares"].median())
            np.testing.assert_allclose(change, 100 * groups["accuracy_change"].mean())
            np.testing.assert_allclose(log10_p, best)
            ends = [
                (float(np.asarray(line.get_xdata())[0]), float(np.asarray(line.get_ydata())[0]))
                for line in axes.lines
                if line.get_markersize() == LARGEST
            ]
            assert (change[-1], log10_p[-1]) in ends


def test_modifications_are_told_apart_without_colour() -> None:
    looks = looks_of([f"modification {number}" for number in range(20)])
    assert len({(look["marker"], look["markerfacecolor"] == "white") for look in looks.values()}) == 20


def test_calibration_has_rates_intervals_and_rings(attacked: Findings) -> None:
    frame = attacked.calibration
    figure = calibration_figure(frame)
    names = list(dict.fromkeys(frame["p_value"]))
    for axes, level in zip(_panels(figure), (0.05, 0.01, 0.001), strict=True):
        rows, lines = frame[frame["level"] == level], _lines(axes)
        intervals = iter(axes.collections)
        for population, own in rows.groupby("population", sort=False):
            rates, places = lines[str(population)]
            np.testing.assert_allclose(rates, 100 * own["rate"])
            assert [names[round(place)] for place in places] == own["p_value"].tolist()
            ends = [segment[:, 0] for segment in next(intervals).get_segments()]
            np.testing.assert_allclose(ends, 100 * own[["low", "high"]])
        rings = [line for line in axes.lines if line.get_label() == "too many"]
        drawn = np.concatenate([line.get_xdata() for line in rings])
        alarms = rows[rows["anti_conservative"]]
        np.testing.assert_allclose(drawn, 100 * alarms["rate"])
        assert len(drawn) == 1
        assert lines["level"][0][0] == pytest.approx(100 * level)
    bold = {
        label.get_text() for label in figure.axes[0].get_yticklabels() if label.get_fontweight() == "bold"
    }
    assert bold == {"depth A exact"}


def test_every_modification_says_what_its_strength_is() -> None:
    assert set(MEANINGS) == set(MODIFICATIONS)
    assert meaning("drop+noise") == "share of trees + sd of the feature"
    assert meaning("drop+replace") == "share of trees"


def test_pictures_of_attacks_are_drawn_twice_the_same(make_attacked: Callable[..., Any]) -> None:
    made = make_attacked(repeats=2, is_small=True)
    drawn = [
        {
            picture.name: render(picture.figure, "svg")
            for picture in all_pictures(gather(made.store, made.record))
        }
        for _ in range(2)
    ]
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == 11
