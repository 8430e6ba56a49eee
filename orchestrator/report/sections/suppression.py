"""How well trigger queries are spotted by their votes, and what that is good for."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import numpy as np
import pandas as pd

from orchestrator.report import table
from orchestrator.report.charts import FAINT, PANELS, Chart, Figure, by_text, described, look, panels, rule
from orchestrator.report.data import CONFIGURATION, Findings, chunked, configuration, forests, summarise
from orchestrator.report.sections.section import Shown
from orchestrator.report.table import PLACE, Table, column, make_table, named, over
from orchestrator.report.wording import across, listed, number, p_value_of_log10, percent_of, ranged, times
from wm.attacks.suppression import FALSE_POSITIVE_LIMIT

_KNOWN = 0.99
"""Share of the bits from which on a signature counts as known."""

_GLOSSARY = (
    (
        "suppression: AUC, FPR, TPR",
        "Queries are ranked by how suspicious their votes look. The area under the curve (AUC) is 1 if all "
        "trigger queries rank above all ordinary ones, 0.5 by chance. At a false positive rate (FPR) of 1% "
        "a filter would wrongly suspect one ordinary query in a hundred; the true positive rate (TPR) is "
        "the share of trigger queries that it spots.",
    ),
    (
        "filter; query budget",
        "A filter answers suspected queries with the majority's class in every tree, which takes the "
        "signature out of the answers. The query budget is the number of trigger queries after which a "
        "thief who watches has read so much of the signature.",
    ),
)


def suppression_summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return how well each method spots trigger queries, and what its filter does."""
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


def show(findings: Findings) -> Shown:
    """Show how well trigger queries are spotted, what a filter does, and how fast bits are known."""
    frame, curves = findings.frame("suppression"), findings.frame("budget-curves")
    summary, budget = suppression_summary(frame), budget_summary(curves)
    return Shown(
        "Can a thief spot the judge's trigger queries by their votes, and answer them differently? And read "
        "the signature off them?",
        (("Suppression", f"{_spotted(summary)} {_filters(frame)}{_known(curves)}"),),
        figures=(*_roc_figures(findings, summary), *_budget_figures(findings, budget)),
        tables=(*_tables(summary), _budget_table(budget)),
        glossary=_GLOSSARY,
    )


def _spotted(summary: pd.DataFrame) -> str:
    texts = [
        f"{method} spots "
        f"{ranged((100 * part['tpr_at_1pct_fpr_mean']).round(1), '{:g}%')} of the "
        f"trigger queries (AUC {ranged(part['auc_mean'], '{:.3f}')})"
        for method, part in summary.groupby("method", sort=True)
    ]
    many = summary["configuration"].nunique()
    ranges = f"; ranges over {many} configurations" if many > 1 else ""
    return f"At no more than 1% of ordinary queries suspected, {listed(texts)}{ranges}."


def _filters(frame: pd.DataFrame) -> str:
    texts = [
        f"{method} leaves p = {across(part['log10_p_after'], p_value_of_log10, 'median')} and touches "
        f"{across(part['ordinary_touched'], percent_of)} of the ordinary queries"
        for method, part in frame.groupby("method", sort=True)
    ]
    before = across(frame["log10_p_before"], p_value_of_log10, "median")
    return f"Of claims with p = {before}, the filter by {listed(texts)}."


def _known(curves: pd.DataFrame) -> str:
    """Return after how many trigger queries each method knows the signature, in how many forests."""
    texts = []
    for method, part in curves.groupby("method", sort=True):
        each = [one for _, one in forests(part)]
        firsts = [one.loc[one["bits"] >= _KNOWN, "trigger_queries"].min() for one in each]
        needed = [first for first in firsts if not pd.isna(first)]
        after = f", after {across(needed, number)} trigger queries" if needed else ""
        texts.append(f"{method} in {times(len(needed), len(each), 'forest')}{after}")
    return f" At least {percent_of(_KNOWN)} of the signature is known by {listed(texts)}." if texts else ""


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
    for ending, some in chunked(findings.frame("roc-curves"), PANELS):
        rows = summary.merge(some[CONFIGURATION].drop_duplicates(), on=CONFIGURATION)
        repeats = some["repeat"].nunique()
        triggers, ordinary = (ranged(rows[name]) for name in ("triggers", "ordinary"))
        average = "Bold: mean over repeats; faint: each repeat." if repeats > 1 else "One repeat."
        yield Figure(
            f"suppression{ending}",
            "Spotting trigger queries",
            f"ROC curves of separating {triggers} trigger queries from {ordinary} ordinary test rows by "
            f"their votes. {average} Dotted: chance; dashed: at most 1% of ordinary queries suspected. The "
            f"horizontal axis is drawn as its square root, to spread small rates. {findings.origin(some)}",
            described(
                "ROC curves",
                rows,
                ["configuration", "method"],
                {"area": ("auc_mean", table.area), "spotted at 1% FPR": ("tpr_at_1pct_fpr_mean", table.rate)},
            ),
            _roc_chart(some),
        )


def _roc_chart(frame: pd.DataFrame) -> Chart:
    methods = sorted(frame["method"].unique())
    frame = frame.assign(configuration=[configuration(row) for row in frame.itertuples()])
    axis = alt.Axis(values=[0, FALSE_POSITIVE_LIMIT, 0.1, 0.5, 1], format="~%")
    x = alt.X(
        "false_positive_rate:Q",
        title="False positive rate (ordinary queries)",
        scale=alt.Scale(type="sqrt", domain=[0, 1]),
        axis=axis,
    )
    y = alt.Y(
        "true_positive_rate:Q", title="True positive rate (trigger queries)", axis=alt.Axis(format="~%")
    )
    chance = pd.DataFrame({"false_positive_rate": np.linspace(0, 1, 41) ** 2}).eval(
        "true_positive_rate = false_positive_rate"
    )

    def draw(part: pd.DataFrame) -> Chart:
        means = pd.concat(
            mean_curve(rows).assign(method=method) for method, rows in part.groupby("method", sort=True)
        )
        every = max(2, len(means) // (8 * len(methods)))
        marked = pd.concat(
            rows.iloc[place::every] for place, (_, rows) in enumerate(means.groupby("method", sort=True))
        )
        each = alt.Chart(part).mark_line(interpolate="step-after", strokeWidth=0.8, opacity=0.35)
        return alt.layer(
            alt.Chart(chance).mark_line(strokeDash=[1, 3], strokeWidth=1, color=FAINT).encode(x=x, y=y),
            rule(x=FALSE_POSITIVE_LIMIT),
            each.encode(x=x, y=y, detail="repeat:N", **look("method", methods, "color")),
            alt.Chart(means)
            .mark_line(interpolate="step-after")
            .encode(x=x, y=y, **look("method", methods, "color", "strokeDash")),
            alt.Chart(marked)
            .mark_point(filled=True, size=30)
            .encode(x=x, y=y, **look("method", methods, "color", "shape")),
        )

    return panels(by_text(frame), draw, height=220)


def _budget_figures(findings: Findings, summary: pd.DataFrame) -> Iterator[Figure]:
    orders = ranged([attack.orders for attack in findings.attacks("suppression")] or [0])
    for ending, some in chunked(findings.frame("budget-curves"), PANELS):
        rows = summary.merge(some[CONFIGURATION].drop_duplicates(), on=CONFIGURATION)
        ends = (
            "in any order of any repeat."
            if some["repeat"].nunique() > 1
            else "in any order; one repeat only, no spread over seeds."
        )
        yield Figure(
            f"budget{ending}",
            "Bits known after each trigger query",
            "Percent of the signature, up to complement, that a thief who watches the queries knows after "
            f"so many trigger queries among ordinary ones, by method; mean over {orders} random orders of "
            "the stream. 50% while nothing is spotted; dashed: the mean of guesses unrelated to the "
            f"signature. Bars: from the smallest to the largest {ends} {findings.origin(some)}",
            described(
                "Line chart of bits known",
                rows,
                ["configuration", "method", "trigger_queries"],
                {"known": ("bits_mean", table.rate)},
            ),
            _budget_chart(rows),
        )


def _budget_chart(summary: pd.DataFrame) -> Chart:
    methods = sorted(summary["method"].unique())
    side = {name: 0.16 * (place - (len(methods) - 1) / 2) for place, name in enumerate(methods)}
    shown = summary.assign(
        # Aside of each other, so that bars of several methods do not cover one another.
        at=summary["trigger_queries"] + summary["method"].map(side).astype(float),
        known=100 * summary["bits_mean"],
        low=100 * summary["low"].astype(float),
        high=100 * summary["high"].astype(float),
    )
    x = alt.X("at:Q", title="Trigger queries answered", axis=alt.Axis(tickMinStep=1, format="d"))
    y_title, y_scale = "Signature known (% of bits)", alt.Scale(domain=[45, 103], nice=False)
    y = alt.Y("known:Q", title=y_title, scale=y_scale)

    def draw(part: pd.DataFrame) -> Chart:
        base = alt.Chart(part).encode(x=x)
        colour = look("method", methods, "color")
        return alt.layer(
            base.mark_rule(opacity=0.55).encode(
                y=alt.Y("low:Q", title=y_title, scale=y_scale), y2="high:Q", **colour
            ),
            base.mark_line().encode(y=y, **look("method", methods, "color", "strokeDash")),
            base.mark_point(filled=True).encode(y=y, **look("method", methods, "color", "shape")),
            rule(y=100 * float(part["null_bits_mean"].max())),
        )

    return panels(by_text(shown), draw)


def _tables(summary: pd.DataFrame) -> Iterator[Table]:
    headings = [*PLACE, named("Method", "method"), column("n (repeats)", "n", table.count)]
    yield make_table(
        "suppression-table",
        "Separating trigger queries from ordinary ones by their votes",
        [
            *headings,
            column("Trigger queries", "triggers", table.count),
            column("Ordinary queries", "ordinary", table.count),
            over("AUC", "auc", table.area, summary),
            over("Spotted at 1% FPR", "tpr_at_1pct_fpr", table.rate, summary),
        ],
        summary,
    )
    yield make_table(
        "filter-table",
        "The filter: spotted queries get the majority's answer from every tree; what it leaves of the "
        "claim, what it costs ordinary users, and the share of the signature that the spotted queries give "
        "away",
        [
            *headings,
            over("Triggers spotted", "triggers_spotted", table.rate, summary),
            over("Ordinary queries touched", "ordinary_touched", table.rate, summary),
            over("Ordinary votes changed", "ordinary_votes_changed", table.rate, summary),
            over("p before", "log10_p_before", table.log10_p, summary, "median"),
            over("p after", "log10_p_after", table.log10_p, summary, "median"),
            column("Forests with queries spotted", "bits_count", table.count),
            over("Signature read off them", "bits", table.rate, summary),
            column("Unrelated guess (mean)", "null_bits_mean", table.rate),
        ],
        summary,
    )


def _budget_table(summary: pd.DataFrame) -> Table:
    return make_table(
        "budget-table",
        "Share of the signature known, up to complement, after each number of trigger queries",
        [
            *PLACE,
            named("Method", "method"),
            named("Trigger queries", "trigger_queries", table.count),
            column("n (repeats)", "n", table.count),
            column("Bits known (mean)", "bits_mean", table.rate),
            column("Bits known, any order (min)", "low", table.rate),
            column("Bits known, any order (max)", "high", table.rate),
            column("Unrelated guess (mean)", "null_bits_mean", table.rate),
            column("Queries suspected so far (mean)", "spotted_mean", table.mean),
        ],
        summary,
    )
