"""How well trigger queries are spotted by their votes, what a filter does, and how fast bits leak."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from orchestrator.report import charts
from orchestrator.report.charts import Chart, Figure
from orchestrator.report.data import CONFIGURATION, Findings, chunked, configuration, each_row, summarise
from orchestrator.report.sections.section import Answer, Grade, Question, Shown, nothing_to_survive
from orchestrator.report.table import make_table
from orchestrator.report.wording import (
    across,
    counted,
    listed,
    number,
    p_value_of_log10,
    percent,
    percent_of,
    ranged,
    sampled,
    times,
)
from wm.attacks.suppression import FALSE_POSITIVE_LIMIT
from wm.verification.evidence import DEFAULT_LEVEL

_KNOWN = 0.99
"""Share of the bits from which on a signature counts as known."""

_EACH = 10
"""Trigger queries up to which the table of known bits has each number; the figure has all."""


def suppression_summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return how well each method spots trigger queries, and the effect of its filter."""
    shares = ["auc", "tpr_at_1pct_fpr", "triggers_spotted", "ordinary_touched", "ordinary_votes_changed"]
    return summarise(
        frame,
        ["method"],
        [*shares, "log10_p_before", "log10_p_after", "bits", "null_bits"],
        triggers=("triggers", "first"),
        ordinary=("ordinary", "first"),
    )


def budget_summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return how much of the signature is known after each number of trigger queries."""
    return summarise(
        frame,
        ["method", "trigger_queries"],
        ["bits", "null_bits", "spotted"],
        low=("low", "min"),
        high=("high", "max"),
    )


def in_steps(budget: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of up to `_EACH` trigger queries, of 20, 50, 100, 200 and so on, and of all of them."""
    number = budget["trigger_queries"]
    last = number.groupby([*(budget[name] for name in CONFIGURATION), budget["method"]]).transform("max")
    steps = [lead * 10**power for power in range(1, 9) for lead in (1, 2, 5)]
    return budget[(number <= _EACH) | number.isin(steps) | (number == last)]


def show(findings: Findings) -> Shown:
    """Show how well trigger queries are spotted, what a filter does, and how fast bits are known."""
    frame, curves = findings.frame("suppression"), findings.frame("budget-curves")
    summary, budget = suppression_summary(frame), budget_summary(curves)
    return Shown(
        answers=(filter_answer(frame),),
        headline=(("Suppression", f"{_spotted(summary)} {_filters(frame)}{_known(curves)}"),),
        figures=(*_roc_figures(findings, summary), *_budget_figures(findings, curves, budget)),
        tables=(
            make_table("suppression-table", summary),
            make_table("filter-table", summary),
            make_table("budget-table", in_steps(budget)),
        ),
    )


def filter_answer(frame: pd.DataFrame) -> Answer:
    """Return how many of the significant claims the most damaging filter leaves so.

    Of filters that leave as many, the most damaging is the one that leaves the largest median p-value.
    """
    significant = frame[frame["log10_p_before"] <= np.log10(DEFAULT_LEVEL)]
    if significant.empty:
        return nothing_to_survive("significant")
    judged = significant.assign(kept=significant["log10_p_after"] <= np.log10(DEFAULT_LEVEL))
    effects = judged.groupby("method", sort=True).agg(kept=("kept", "mean"), left=("log10_p_after", "median"))
    method = effects.sort_values(["kept", "left"], ascending=[True, False], kind="stable").index[0]
    worst = judged[judged["method"] == method]
    kept = int(worst["kept"].sum())
    return Answer(
        Question.SURVIVES,
        Grade.GOOD if kept == len(worst) else Grade.MIXED if kept else Grade.BAD,
        f"{kept} of {len(worst)}",
        f"claims stay significant where suspicious queries get other answers ({method})",
        f"p = {across(worst['log10_p_after'], p_value_of_log10, 'median')}; touches "
        f"{across(worst['ordinary_touched'], percent_of)} of ordinary queries",
    )


def _spotted(summary: pd.DataFrame) -> str:
    texts = [
        f"{method} spots {ranged((100 * part['tpr_at_1pct_fpr_mean']).round(1), '{:g}%')} of the trigger "
        f"queries (AUC {ranged(part['auc_mean'], '{:.3f}')})"
        for method, part in summary.groupby("method", sort=True)
    ]
    many = summary["configuration"].nunique()
    ranges = f"; ranges over {many} configurations" if many > 1 else ""
    return f"With at most 1% of ordinary queries suspected, {listed(texts)}{ranges}."


def _filters(frame: pd.DataFrame) -> str:
    texts = [
        f"{method} leaves p = {across(part['log10_p_after'], p_value_of_log10, 'median')} and touches "
        f"{across(part['ordinary_touched'], percent_of)} of the ordinary queries"
        for method, part in frame.groupby("method", sort=True)
    ]
    before = across(frame["log10_p_before"], p_value_of_log10, "median")
    return f"Of claims with p = {before}, the filter by {listed(texts)}."


def _known(curves: pd.DataFrame) -> str:
    """Return after how many trigger queries each method knows the signature, in how many forests.

    That is the mean over orders of the queries; of all queries at once the filter's table has what is known.
    """
    texts = []
    for method, part in curves.groupby("method", sort=True):
        forest = [*CONFIGURATION, "repeat"]
        needed = part[part["bits"] >= _KNOWN].groupby(forest)["trigger_queries"].min()
        queries = "query" if (needed == 1).all() else "queries"
        after = "" if needed.empty else f", after {across(needed, number)} trigger {queries}"
        texts.append(f"{method} in {times(len(needed), part.groupby(forest).ngroups, 'forest')}{after}")
    if not texts:
        return ""
    known = f"at least {percent_of(_KNOWN)} of the signature is known by {listed(texts)}"
    return f" In the mean over random orders of the queries, {known}."


def mean_curve(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over repeats of the ROC curves of one method and way of embedding.

    A curve's height at a rate is the largest share of triggers spotted by a threshold that suspects no larger
    a share of ordinary queries; the mean is taken at each rate where one of the curves steps.
    """
    rates = np.unique(frame["false_positive_rate"].to_numpy(dtype=np.float64))
    heights = [
        one["true_positive_rate"].to_numpy(dtype=np.float64)[
            np.searchsorted(one["false_positive_rate"].to_numpy(dtype=np.float64), rates, side="right") - 1
        ]
        for _, one in frame.groupby("repeat", sort=True)
    ]
    return pd.DataFrame({"false_positive_rate": rates, "true_positive_rate": np.mean(heights, axis=0)})


def _roc_figures(findings: Findings, summary: pd.DataFrame) -> Iterator[Figure]:
    for ending, some, rows in chunked(findings.frame("roc-curves"), summary, charts.PANELS):
        yield charts.figure(
            "suppression",
            ending,
            partial(_roc_chart, some),
            findings.origin(some),
            rows,
            triggers=ranged(rows["triggers"]),
            ordinary=ranged(rows["ordinary"]),
        )


def _roc_chart(frame: pd.DataFrame) -> Chart:
    methods = sorted(frame["method"].unique())
    shown = frame.assign(
        configuration=[configuration(row) for row in frame.itertuples()], middle=frame["true_positive_rate"]
    )
    x = alt.X(
        "false_positive_rate:Q",
        title="False positive rate (ordinary queries)",
        scale=alt.Scale(type="sqrt", domain=[0, 1]),
        axis=alt.Axis(values=[0, FALSE_POSITIVE_LIMIT, 0.1, 0.5, 1], format="~%"),
    )
    y: dict[str, Any] = {"title": "True positive rate (trigger queries)", "axis": alt.Axis(format="~%")}
    rates = np.linspace(0, 1, 41) ** 2
    chance = alt.Chart(pd.DataFrame({"false_positive_rate": rates, "middle": rates}))

    def draw(part: pd.DataFrame) -> Chart:
        means = pd.concat(
            mean_curve(rows).assign(method=method) for method, rows in part.groupby("method", sort=True)
        ).rename(columns={"true_positive_rate": "middle"})
        repeats = counted(part["repeat"].nunique(), "repeat")
        means["tooltip"] = [
            f"{row.method}: {percent(row.middle, 1)} of trigger queries spotted with "
            f"{percent(row.false_positive_rate, 1)} of ordinary ones suspected (mean of {repeats})"
            for row in each_row(means)
        ]
        every = max(2, len(means) // (8 * len(methods)))
        marked = pd.concat(
            rows.iloc[place::every] for place, (_, rows) in enumerate(means.groupby("method", sort=True))
        )
        value = alt.Y("middle:Q", **y)
        return alt.layer(
            chance.mark_line(strokeDash=[1, 3], strokeWidth=1, color=charts.FAINT).encode(x=x, y=value),
            charts.rule(x=FALSE_POSITIVE_LIMIT),
            charts.faint(
                part, x, y, ["repeat"], charts.look("method", methods, "color")["color"], is_step=True
            ),
            charts.series(means, x, y, methods, field="method", is_step=True),
            alt.Chart(marked)
            .mark_point(filled=True, size=30)
            .encode(x=x, y=value, **charts.look("method", methods, "color", "shape")),
        )

    return charts.panels(charts.by_text(shown), draw, height=220)


def _budget_figures(findings: Findings, frame: pd.DataFrame, summary: pd.DataFrame) -> Iterator[Figure]:
    orders = ranged([attack.orders for attack in findings.attacks("suppression")] or [0])
    return charts.figures("budget", findings, frame, summary, _budget_chart, orders=orders)


def _budget_chart(summary: pd.DataFrame) -> Chart:
    methods = sorted(summary["method"].unique())
    side = {name: 0.16 * (place - (len(methods) - 1) / 2) for place, name in enumerate(methods)}
    shown = summary.assign(
        # Next to each other, so that bars of several methods do not cover one another.
        at=summary["trigger_queries"] + summary["method"].map(side).astype(float),
        middle=100 * summary["bits_mean"],
        low=100 * summary["low"].astype(float),
        high=100 * summary["high"].astype(float),
    )
    shown["tooltip"] = [
        f"{row.method}, {counted(row.trigger_queries, 'trigger query', 'trigger queries')}: "
        + sampled("mean", row.middle, (row.low, row.high), what="any order", n=row.n, write="{:.1f}%".format)
        for row in each_row(shown)
    ]
    x = alt.X("at:Q", title="Trigger queries answered", axis=alt.Axis(tickMinStep=1, format="d"))
    y: dict[str, Any] = {
        "title": "Signature known (% of bits)",
        "scale": alt.Scale(domain=[45, 103], nice=False),
    }

    def draw(part: pd.DataFrame) -> Chart:
        lines = charts.series(part, x, y, methods, field="method", ends="bar")
        return alt.layer(lines, charts.rule(y=100 * float(part["null_bits_mean"].max())))

    return charts.panels(charts.by_text(shown), draw)
