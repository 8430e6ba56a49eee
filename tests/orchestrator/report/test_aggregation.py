"""Frames aggregated on small samples, and charts that draw them."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.report.charts import COLOURS, DASHES, SHAPES, look
from orchestrator.report.data import Findings, by_configuration, chunked, summarise
from orchestrator.report.rendering import FORMATS, render
from orchestrator.report.sections import (
    cost,
    detection,
    distances,
    embedding,
    forgery,
    free_forgery,
    leakage,
    suppression,
)
from orchestrator.report.sections import modification as robustness
from orchestrator.report.sections.distances import SizeCurve, size_curves
from wm.attacks.modification import MODIFICATIONS

_GRID = {"scheme": "paper", "trigger_share": 0.02, "ones_share": 0.5}
_STATUSES = ("forged", "impossible", "timeout", "memout", "error")


def _data(chart: Any) -> pd.DataFrame:
    """Return all rows that a chart draws, each with the columns that it has."""
    rows = [pd.DataFrame(rows) for rows in chart.to_dict()["datasets"].values()]
    return pd.concat(rows, ignore_index=True)


@given(st.lists(st.floats(-100, 100) | st.none(), min_size=1, max_size=20))
def test_summary_is_of_what_is_known(values: list[float | None]) -> None:
    frame = pd.DataFrame([_GRID | {"value": value} for value in values]).astype({"value": object})
    (row,) = summarise(frame, (), ["value"]).itertuples()
    known = np.array([value for value in values if value is not None])
    assert (row.n, row.value_count) == (len(values), len(known))
    assert row.configuration == "paper, 2% trigger rows, 50% ones"
    for name, of in (("mean", np.mean), ("median", np.median), ("min", np.min), ("max", np.max)):
        found = getattr(row, f"value_{name}")
        assert found == pytest.approx(of(known)) if len(known) else np.isnan(found)
    assert (
        row.value_std == pytest.approx(np.std(known, ddof=1)) if len(known) > 1 else np.isnan(row.value_std)
    )


def test_order_within_a_configuration_is_the_frames_unless_sorted() -> None:
    rows = [
        _GRID | {"trigger_share": share, "method": method, "value": 1.0}
        for method in "ba"
        for share in (0.02, 0.01)
    ]
    for sort, methods in ((False, ["b", "a"] * 2), (True, ["a", "b"] * 2)):
        found = summarise(pd.DataFrame(rows), ["method"], ["value"], sort=sort)
        assert found["trigger_share"].tolist() == [0.01, 0.01, 0.02, 0.02]
        assert found["method"].tolist() == methods


def test_many_configurations_are_spread_over_several_figures() -> None:
    frame = pd.DataFrame([_GRID | {"trigger_share": share / 100} for share in range(1, 8)])
    several = [(ending, len(part), len(rows)) for ending, part, rows in chunked(frame, frame, 6)]
    assert several == [("-1", 6, 6), ("-2", 1, 1)]
    assert [ending for ending, _, _ in chunked(frame, frame, 7)] == [""]


def _curve(answers: list[list[tuple[str, float | None]]], asked: int, **more: Any) -> SizeCurve:
    """Return the curve of signatures whose instances ended so, out of `asked` each."""
    rows = [
        _GRID
        | {"repeat": 0, "signature": signature, "engine": "sat", "instance": instance, "row": instance}
        | {"status": status, "distance": distance, "seconds": 1.0, "reason": ""}
        for signature, ended in enumerate(answers)
        for instance, (status, distance) in enumerate(ended)
    ]
    planned = [
        _GRID | {"repeat": 0, "signature": signature, "engine": "sat", "instances": asked, "trigger_size": 3}
        for signature in range(len(answers))
    ]
    frame = pd.DataFrame(rows).astype({"distance": float})
    (curve,) = size_curves(frame, pd.DataFrame(planned), 1.0, **more)
    return curve


@st.composite
def _answers(draw: st.DrawFn) -> list[list[tuple[str, float | None]]]:
    def answer(status: str) -> tuple[str, float | None]:
        known = status == "forged" or (status in _STATUSES[2:] and draw(st.booleans()))
        return status, draw(st.sampled_from([0.0, 0.125, 0.3, 0.5, 0.75, 1.0])) if known else None

    statuses = st.lists(st.sampled_from(_STATUSES), min_size=1, max_size=5)
    return [
        [answer(status) for status in ended] for ended in draw(st.lists(statuses, min_size=1, max_size=4))
    ]


@given(_answers(), st.integers(0, 2), st.floats(0, 1))
def test_sizes_are_what_is_known_and_what_could_be(
    answers: list[list[tuple[str, float | None]]], pending: int, eps: float
) -> None:
    asked = max(map(len, answers)) + pending
    curve = _curve(answers, asked)
    known, possible = curve.at(eps)
    for ended, at_least, at_most in zip(answers, known, possible, strict=True):
        within = [distance is not None and distance <= eps for _, distance in ended]
        assert at_least == sum(within)
        # What no limit struck is decided; everything else may be forged at once.
        decided_against = sum(
            status == "impossible" or (status == "forged" and not near)
            for (status, _), near in zip(ended, within, strict=True)
        )
        assert at_most == asked - decided_against
    everything = [status for ended in answers for status, _ in ended]
    assert curve.forged == everything.count("forged")
    assert curve.impossible == everything.count("impossible")
    assert curve.undecided == asked * len(answers) - curve.forged - curve.impossible
    assert curve.pending == asked * len(answers) - len(everything)


@given(_answers())
def test_curves_only_rise_and_the_possible_is_never_below_the_known(
    answers: list[list[tuple[str, float | None]]],
) -> None:
    curve = _curve(answers, 5)
    assert (np.diff(curve.known, axis=1) >= 0).all()
    assert (np.diff(curve.possible, axis=1) >= 0).all()
    assert (curve.possible >= curve.known).all()
    assert (curve.eps[0], curve.eps[-1]) == (0.0, 1.0)


def test_parity_is_the_first_eps_with_as_many_as_the_true_set() -> None:
    three = [("forged", 0.2), ("forged", 0.4), ("forged", 0.6)]
    assert _curve([three, three[:1]], 3).parity == 0.6
    assert _curve([three[:2]], 3).parity is None


def test_long_curves_are_thinned_but_keep_the_places_asked_for() -> None:
    many = [("forged", float(distance)) for distance in np.linspace(0.001, 0.999, 2000)]
    curve = _curve([many], 2000, places=(0.5,))
    assert len(curve.eps) < 450
    assert curve.at(0.5)[0].tolist() == [1000]
    assert curve.known[0, -1] == 2000


def test_step_curves_draw_mean_maximum_band_and_what_could_be(attacked: Findings) -> None:
    curve = distances.curves_of(attacked)[0]
    assert curve.undecided > 0
    data = _data(distances.distances_chart([curve])).set_index("line")
    np.testing.assert_allclose(data.loc["mean", "middle"], curve.known.mean(axis=0))
    np.testing.assert_allclose(data.loc["maximum", "middle"], curve.known.max(axis=0))
    np.testing.assert_allclose(
        data.loc["mean", ["low", "high"]].T.astype(float), np.quantile(curve.known, [0.1, 0.9], axis=0)
    )
    np.testing.assert_allclose(data.loc[distances.LINES[2], "middle"], curve.possible.mean(axis=0))
    each = [data.loc[f"signature {place}", "middle"].tolist() for place in range(len(curve.known))]
    assert each == curve.known.tolist()


def test_forms_count_forests_once(attacked: Findings) -> None:
    frame = attacked.frame("leakage")
    summary = leakage.form_summary(frame, attacked.frame("accuracy"))
    assert summary["form"].tolist() == ["as trained", "released", "standard"] * 2
    assert (summary["n"] == 3).all()
    assert summary["severity"].tolist() == ["critical", "none", "info"] * 2
    assert summary["leaking"].tolist() == [3, 0, 0] * 2
    # The file says 8, which is right at 2% only.
    assert summary["revealed"].tolist() == [3, 0, 0] * 2
    assert summary["right"].tolist() == [0, 0, 0, 3, 0, 0]
    each = frame.drop_duplicates(["trigger_share", "form", "repeat"])
    found = each.groupby(["trigger_share", "form"], sort=False)["triggers_found"].mean()
    np.testing.assert_allclose(np.sort(summary["triggers_found_mean"]), np.sort(found))


def test_findings_are_ordered_from_the_worst_and_counted(attacked: Findings) -> None:
    frame = attacked.frame("leakage")
    first = leakage.finding_summary(frame).iloc[:3]
    assert first["severity"].tolist() == ["critical", "high", "info"]
    assert set(zip(first["found"], first["examined"], strict=True)) == {(3, 3)}
    gone = (frame["finding"] == "root-weights") & (frame["repeat"] == 0)
    row = leakage.finding_summary(frame[~gone]).set_index("finding").loc["root-weights"].iloc[0]
    assert (row["found"], row["examined"]) == (2, 3)


def test_presence_separates_all_together_from_single_statistics(attacked: Findings) -> None:
    *_, presence = detection.parts_of(attacked.frame("detection"))
    summary = detection.presence_summary(presence)
    assert summary["statistic"].tolist()[:2] == ["all together", "spectrum strength"]
    assert set(summary["honest"]) == {19}


def test_rules_are_named_and_of_empty_sets_that_nothing_was_forged(attacked: Findings) -> None:
    summary = free_forgery.free_summary(attacked.frame("free-forgery")).set_index("method").iloc[:5]
    empty = summary.loc["local search"]
    assert (empty["made"], empty["stopped_by"], empty["size_max"]) == (0, "nothing was forged", 0)
    assert np.isnan(empty["log10_p_mean"])
    rules = summary[["stopped_by", "stopped_but_for_commitment"]]
    assert rules.loc["all zeros"].tolist() == [
        "commitment, quota of ones and p-value",
        "quota of ones and p-value",
    ]
    assert rules.loc["best pattern"].tolist() == ["commitment", "no rule: it stands"]
    assert rules.loc["clones"].tolist() == ["commitment and distinct cells", "distinct cells"]


def test_rules_that_stop_some_sets_are_counted(attacked: Findings) -> None:
    frame = attacked.frame("free-forgery").copy()
    is_one = (frame["method"] == "clones") & (frame["repeat"] == 0)
    frame.loc[is_one, ["stopped_by", "stopped_but_for_commitment"]] = ""
    clones = free_forgery.free_summary(frame).set_index("method").loc["clones"].iloc[0]
    assert clones["stopped_by"] == "commitment (2 of 3) and distinct cells (2 of 3); 1 of 3 stand"


def test_strengths_rise_whatever_their_order_in_the_frame(attacked: Findings) -> None:
    frame = attacked.frame("modification")
    for rows in (frame, frame.sample(frac=1, random_state=np.random.RandomState(3))):
        summary = robustness.modification_summary(rows)
        noise = summary.loc[summary["modification"] == "noise", "strengths"]
        assert noise.tolist()[:5] == ["0.003", "0.01", "0.03", "0.1", "0.3"]
        assert set(summary["n"]) == {6}


def test_every_modification_says_what_its_strength_is() -> None:
    assert set(robustness.UNITS) == set(MODIFICATIONS)
    assert robustness.unit("drop+noise") == "share of trees + sd of the feature"
    assert robustness.unit("drop+replace") == "share of trees"


def test_only_the_first_configurations_are_drawn_modification_by_modification(attacked: Findings) -> None:
    frame = attacked.frame("modification")
    more = pd.concat([frame.assign(trigger_share=frame["trigger_share"] + 0.02 * step) for step in range(4)])
    shown = robustness.show(attacked.with_frames(modification=more))
    names = [figure.name for figure in shown.figures]
    assert names[:2] == ["tradeoff-1", "tradeoff-2"]
    assert len(names) == 4
    assert "Of 8 configurations the first 2 are drawn modification by modification" in shown.lead
    assert len(shown.tables[0].rows) == 8 * 9


def test_alignments_are_marked_and_no_others(attacked: Findings) -> None:
    (_, part), *_ = by_configuration(attacked.frame("modification"))
    data = _data(robustness.detail_chart(robustness.modification_summary(part)))
    marked = data.loc[data["aligned"] == True, ["modification", "series"]].drop_duplicates()  # noqa: E712
    assert marked.to_numpy().tolist() == [["drop+noise", "p from votes"]]


def test_the_time_of_a_signature_is_that_of_signatures_that_were_asked() -> None:
    """Of five signatures, two have answers that follow from another eps alone: they took no time."""
    seconds, followed = (4.0, 0.0, 1.0, 2.0, 0.0), (0, 10, 5, 9, 10)
    rows = [
        _GRID
        | {"repeat": 0, "engine": "sat", "eps": 0.3}
        | dict.fromkeys(("timeout", "memout", "error"), 0)
        | {"signature": number, "instances": 10, "trigger_size": 7, "forged": 4, "impossible": 6}
        | {"seconds": seconds[number], "slowest_seconds": seconds[number], "followed": followed[number]}
        for number in range(5)
    ]
    (summary,) = forgery.forgery_summary(pd.DataFrame(rows)).itertuples()
    assert (summary.followed, summary.solving) == (34, 7.0)
    assert (summary.seconds_count, summary.seconds_median) == (3, 2.0)
    (summary,) = forgery.forgery_summary(pd.DataFrame([rows[1], rows[4]])).itertuples()
    assert (summary.followed, summary.solving, summary.seconds_count) == (20, 0.0, 0)


def test_forgery_draws_sizes_and_every_query_as_what_it_is(paper: Findings) -> None:
    (_, forged), *_ = by_configuration(paper.frame("forgery"))
    half = forged.assign(instances=2 * forged["instances"])
    data = _data(forgery.forgery_chart(half))
    means = data[data["line"] == "mean"]["middle"]
    np.testing.assert_allclose(np.sort(means), np.sort(half.groupby(["engine", "eps"])["forged"].mean()))
    outcomes = data.dropna(subset="part").groupby("part")["amount"].sum()
    for name in ("forged", "impossible", "timeout", "memout", "error"):
        assert outcomes[name] == half[name].sum()
    assert outcomes.sum() == half["instances"].sum()
    assert outcomes["pending"] == half["instances"].sum() / 2


def _lightness(colour: str) -> float:
    red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("fills", [forgery.FILLS, detection.BITS])
def test_fillings_differ_in_lightness(fills: dict[str, str]) -> None:
    shades = sorted(_lightness(colour) for colour in fills.values())
    assert np.diff(shades).min() >= 0.08


def test_lines_are_distinguished_without_colour() -> None:
    names = [f"modification {number}" for number in range(20)]
    chart = alt.Chart(pd.DataFrame({"name": names})).mark_point().encode(**look("name", names)).to_dict()
    shapes, dashes = (chart["encoding"][channel]["scale"]["range"] for channel in ("shape", "strokeDash"))
    assert len(set(zip(shapes, map(tuple, dashes), strict=True))) == 20
    assert min(map(len, (COLOURS, SHAPES, DASHES))) >= 5


@pytest.mark.parametrize("axis", list(embedding.AXES))
def test_accuracy_is_drawn_for_each_repeat_and_in_the_mean(attacked: Findings, axis: str) -> None:
    frame = attacked.frame("accuracy")
    data = _data(embedding.accuracy_chart(frame, axis))
    single, means = data[data["std"].isna()], data.dropna(subset="std")
    for name, title in embedding.FORESTS.items():
        drawn = single.loc[single["forest"] == title, "middle"]
        np.testing.assert_allclose(np.sort(drawn), np.sort(frame[f"accuracy_{name}"]))
    expected = frame.groupby(["trigger_share", "ones_share"] if axis == "trigger_share" else ["ones_share"])
    if axis == "trigger_share":
        own = means.loc[means["forest"] == "watermarked", "middle"]
        np.testing.assert_allclose(np.sort(own), np.sort(expected["accuracy_watermarked"].mean()))


@st.composite
def _rocs(draw: st.DrawFn) -> pd.DataFrame:
    frames = []
    for repeat in range(draw(st.integers(1, 4))):
        steps = draw(st.integers(0, 6))
        rates = st.lists(st.floats(0, 1), min_size=steps, max_size=steps).map(sorted)
        columns = {name: [0.0, *draw(rates), 1.0] for name in ("false_positive_rate", "true_positive_rate")}
        frames.append(pd.DataFrame(columns | {"repeat": repeat}))
    return pd.concat(frames)


@given(_rocs())
def test_mean_curve_is_the_mean_of_the_best_allowed_heights(curves: pd.DataFrame) -> None:
    mean = suppression.mean_curve(curves)
    for rate, height in mean.itertuples(index=False):
        best = curves[curves["false_positive_rate"] <= rate].groupby("repeat")["true_positive_rate"].max()
        assert height == pytest.approx(best.mean())
    assert (np.diff(mean["true_positive_rate"]) >= -1e-12).all()


def test_spectrum_has_every_tree_with_its_own_bit(attacked: Findings) -> None:
    frame = attacked.frame("spectra")
    first = frame[frame["repeat"] == 0]
    shown = list(detection.spectra(frame))
    assert len(shown) == len(first) == 4
    for (_, trees, strengths), row in zip(
        shown, first.sort_values("trigger_share", kind="stable").itertuples(), strict=True
    ):
        scores, bits = np.array(row.scores), np.array(row.bits)
        order = np.argsort(scores, kind="stable")
        np.testing.assert_allclose(trees["entry"], scores[order])
        assert trees["bit"].tolist() == [f"bit {bit}" for bit in bits[order]]
        assert strengths == row.strengths
        right = int(bits[order[10:]].sum()) + int((1 - bits[order[:10]]).sum())
        assert detection.split_guess(trees) == max(right, 20 - right) / 20


@pytest.mark.parametrize("file_format", FORMATS)
def test_rendering_is_repeatable(attacked: Findings, file_format: str) -> None:
    strategies, *_ = detection.parts_of(attacked.frame("detection"))
    chart = detection.strategy_chart(detection.strategy_summary(strategies))
    assert render(chart, file_format) == render(chart, file_format)


def test_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown figure format 'gif'; known are: png, svg, pdf"):
        render(None, "gif")


def test_cost_is_counted_in_plain_fits_for_each_unit_of_work(small: Findings) -> None:
    frame = small.frame("costs")
    assert frame["fit_seconds"].count() == 1, "the baseline's"
    summary = cost.cost_summary(frame.assign(fit_seconds=0.5)).set_index(["kind", "work"])
    assert summary["jobs"].sum() == len(frame)
    assert summary["total"].sum() == frame["seconds"].sum()
    steps = summary.loc[("modification", "drop+noise")]
    units = int(frame.loc[frame["work"] == "drop+noise", "units"].iloc[0])
    assert units == 2 * 4, "tries times strengths"
    assert steps["unit_s_mean"] == steps["total"] / units == steps["fits_mean"] / 2
    batches = frame[frame["work"] == "false claims: other owners"]
    assert batches["units"].tolist() == [10, 10]
    assert ("suppression", "disagreement, repeats, shadow (4 shadow models)") in summary.index
    unknown = cost.cost_summary(frame.assign(fit_seconds=np.nan))
    assert unknown["fits_mean"].isna().all()


def test_long_budgets_are_shown_in_steps(attacked: Findings) -> None:
    curves = attacked.frame("budget-curves")
    short = suppression.budget_summary(curves)
    assert suppression.in_steps(short).equals(short)
    first = curves.groupby(["trigger_share", "repeat", "method"]).head(1)
    long = pd.concat([first.assign(trigger_queries=number) for number in range(1, 195)])
    shown = suppression.in_steps(suppression.budget_summary(long))
    numbers = shown.groupby(["trigger_share", "method"])["trigger_queries"].agg(list)
    assert numbers.map(tuple).unique().tolist() == [(*range(1, 11), 20, 50, 100, 194)]


def test_shadow_models_are_named_only_where_they_are_trained(paper: Findings) -> None:
    work = paper.frame("costs").groupby("kind")["work"].unique()
    assert list(work["suppression"]) == ["disagreement, repeats"]


@pytest.mark.parametrize(
    ("instances", "forged", "caveats", "complete"), [(21, 21, 0, False), (2, 1, 1, False), (2, 2, 1, True)]
)
def test_sizes_that_an_option_limits_are_said_to_be_limited(instances, forged, caveats, complete):
    frame = pd.DataFrame({"trigger_size": [21, None], "instances": [instances, 0], "forged": [forged, 0]})
    texts, all_forged = forgery.tried_fewer(frame)
    assert (len(texts), all_forged) == (caveats, complete)
    for text in texts:
        assert text.startswith(
            "Only 2 rows were tried for a signature (option instances), the true set has 21:"
        )
