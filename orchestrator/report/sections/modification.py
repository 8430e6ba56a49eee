"""What forests that a thief changed keep of watermark and accuracy."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import numpy as np
import pandas as pd

from orchestrator.report import table
from orchestrator.report.charts import (
    INK,
    PANELS,
    WIDTH,
    Chart,
    Figure,
    by_text,
    described,
    look,
    panels,
    rule,
)
from orchestrator.report.data import (
    CONFIGURATION,
    Findings,
    by_configuration,
    chunked,
    configuration,
    slug,
    summarise,
)
from orchestrator.report.sections import calibration
from orchestrator.report.sections.section import Shown
from orchestrator.report.table import PLACE, Cell, Column, column, make_table, named, over
from orchestrator.report.wording import across, counted, listed, p_value, signed
from wm.verification.alignment import DRAWS
from wm.verification.evidence import DEFAULT_LEVEL

MAX_DETAILED = 2
"""Configurations whose modifications are drawn one by one; overview and table have all."""

_ROWS = 5
"""Modifications of one figure: each has a row of panels."""

_CHEAP = -1.0
"""Accuracy change in points above which a modification costs a thief little."""

LOG_LEVEL = float(np.log10(DEFAULT_LEVEL))

UNITS = dict.fromkeys(
    ("shuffle", "drop", "replace", "regrow", "reduced-error", "collapse"), "share of trees"
) | {
    "truncate": "share of levels cut",
    "cost-complexity": "alpha",
    "noise": "sd of the feature",
    "quantise": "step, sd of the feature",
    "flip-leaves": "share of leaves",
    "distil-votes": "queries / thief's rows",
    "distil-labels": "queries / thief's rows",
}
"""What the strength of each modification of `wm.attacks.modification` is a measure of."""

_P_VALUES = (
    "p from votes is exact, or where trees are missing that of their best alignment in order against "
    f"{DRAWS:,} random signatures (at least {1 / (DRAWS + 1):g}); p from vote shares needs no order of the "
    "trees."
)

_GLOSSARY = (
    (
        "robustness: fidelity, bits, exact match, p from vote shares",
        "Of a forest that a thief changed: the share of test rows whose class stays; the share of the "
        "trigger set's votes that are as the signature wants; whether all of them are, which is the paper's "
        "rule; and the evidence if only the shares of votes are seen, which needs no order of the trees. "
        "Where trees are missing, p is that of their best alignment, against random signatures, and has a "
        "floor.",
    ),
)


def unit(modification: str) -> str:
    """Return what the strengths of a modification, or of each of several joined by "+", are."""
    return " + ".join(dict.fromkeys(UNITS.get(step, "strength") for step in modification.split("+")))


def modification_summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return what each modification leaves at each strength: modifications as they came, strengths rising.

    `change` is of accuracy, in percentage points; `exact` counts forests that match in every bit; `better` is
    the smaller of the two median p-values, as log10; `nulls` names the nulls of the p-values from votes.
    """
    names = {name: place for place, name in enumerate(dict.fromkeys(frame["modification"]))}
    ordered = frame.assign(
        change=100.0 * pd.to_numeric(frame["accuracy_change"]).astype(float),
        order=frame["modification"].map(names),
    ).sort_values(["order", "strength"], kind="stable")
    found = summarise(
        ordered,
        ["modification", "strengths"],
        ["change", "fidelity", "bits", "log10_p", "log10_p_shares", "n_trees"],
        sort=False,
        exact=("exact_match", "sum"),
        nulls=("p_null", lambda nulls: ", ".join(sorted(map(str, nulls.dropna().unique())))),
    )
    better = found[["log10_p_median", "log10_p_shares_median"]].min(axis=1)
    return found.assign(better=better, exact_share=found["exact"].astype(float) / found["n"])


def show(findings: Findings) -> Shown:
    """Show what a thief has to do for the claim to fail, and what that costs."""
    frame = findings.frame("modification")
    summary = modification_summary(frame)
    results = make_table(
        "modification-table",
        "What each modification leaves of the accuracy and of the watermark, over repeats and tries",
        [
            *PLACE,
            named("Modification", "modification"),
            Column(
                "Strength",
                lambda row: Cell(row.strengths, None if "+" in row.strengths else float(row.strengths)),
                names_row=True,
            ),
            column("n (forests)", "n", table.count),
            over("Accuracy change, points", "change", table.points, summary),
            over("Fidelity", "fidelity", table.rate, summary),
            over("Bits", "bits", table.rate, summary),
            column("Exact matches", "exact", table.count),
            over("p, votes", "log10_p", table.log10_p, summary, "median"),
            column("Null of p", "nulls", str),
            over("p, vote shares", "log10_p_shares", table.log10_p, summary, "median"),
            over("Trees", "n_trees", table.mean, summary),
        ],
        summary,
    )
    return Shown(
        _lead(findings, summary),
        (("Robustness", _headline(frame, summary)),),
        figures=(*_overview_figures(findings, frame, summary), *_detail_figures(findings, frame)),
        tables=(results,),
        glossary=_GLOSSARY,
    )


def _lead(findings: Findings, summary: pd.DataFrame) -> str:
    configurations = summary["configuration"].nunique()
    some = (
        f" Of {configurations} configurations the first {MAX_DETAILED} are drawn modification by "
        "modification; the overview and the table have all."
        if configurations > MAX_DETAILED
        else ""
    )
    names = {
        "p from votes": calibration.VOTES,
        "p of an alignment": calibration.ALIGNED,
        "p from vote shares": calibration.SHARES,
    }
    counts = [
        f"{title}: {found}"
        for title, name in names.items()
        if (found := calibration.false_positives(findings.frame("calibration"), name)) is not None
    ]
    chance = (
        f" Of false claims, so many had p \N{LESS-THAN OR EQUAL TO} {calibration.LEVEL:g} by chance: "
        f"{'; '.join(counts)}."
        if counts
        else ""
    )
    return (
        "What does a thief have to do to the stolen forest for the claim to fail, and what accuracy does "
        "that cost? Bits and exact match are the paper's; the p-values are what a judge goes "
        f"by.{some}{chance}"
    )


def _headline(frame: pd.DataFrame, summary: pd.DataFrame) -> str:
    kept = (frame["log10_p"] <= LOG_LEVEL) | (frame["log10_p_shares"] <= LOG_LEVEL)
    text = (
        f"Over {counted(frame['modification'].nunique(), 'modification')}, the exact match survives in "
        f"{int(frame['exact_match'].sum()):,} of {counted(len(frame), 'run')}; p from votes or from vote "
        f"shares stays at or below {p_value(DEFAULT_LEVEL)} in {int(kept.sum()):,}."
    )
    lost = summary[summary[["log10_p_min", "log10_p_shares_min"]].min(axis=1) > LOG_LEVEL]
    lost = lost.dropna(subset="change_mean")
    if lost.empty:
        return f"{text} None brings both p-values above that in all of its runs."
    best = lost.iloc[int(lost["change_mean"].argmax())]
    change = across([best["change_mean"], best["change_min"], best["change_max"]], signed)
    if best["change_min"] != best["change_max"]:
        ends = f"{signed(best['change_min'])} to {signed(best['change_max'])}"
        change = f"{signed(best['change_mean'])} ({ends})"
    cheap = lost.loc[lost["change_mean"] >= _CHEAP, "modification"].nunique()
    return (
        f"{text} The cheapest that brings both above that in all of its runs ({best['n']:,}) is "
        f"{best['modification']} at {best['strengths']} ({best['configuration']}), with {change} points of "
        f"accuracy. At no more than {abs(_CHEAP):g} point: {counted(cheap, 'modification')}."
    )


def _sample(frame: pd.DataFrame) -> str:
    """Return what a point is a mean of."""
    repeats, tries = (int(frame[name].nunique()) for name in ("repeat", "attempt"))
    if repeats * tries == 1:
        return "One repeat and one try: there is no spread."
    return (
        f"Lines: means (log10 p: medians) over {counted(repeats, 'repeat')} and "
        f"{counted(tries, 'try', 'tries')} each; bands: min to max."
    )


def _overview_figures(findings: Findings, frame: pd.DataFrame, summary: pd.DataFrame) -> Iterator[Figure]:
    for ending, some in chunked(frame, PANELS):
        rows = summary.merge(some[CONFIGURATION].drop_duplicates(), on=CONFIGURATION)
        last = rows.groupby(["configuration", "modification"], sort=False).tail(1)
        yield Figure(
            f"tradeoff{ending}",
            "What weakening the evidence costs a thief",
            "Each path is a modification of the stolen forest through its strengths, the greatest with the "
            "large marker: mean change of accuracy in points against log10 of the smaller of two median "
            f"p-values, from votes and from vote shares. Above the dashed line (level {DEFAULT_LEVEL:g}) "
            f"the claim is lost; right of it and near 0 points, at little cost. {_sample(frame)} "
            f"{_P_VALUES} {findings.origin(some)}",
            described(
                "Paths of accuracy change against log10 p, each at its greatest strength",
                last,
                ["configuration", "modification", "strengths"],
                {"points": ("change_mean", signed), "log10 p": ("better", "{:.1f}".format)},
            ),
            _overview_chart(rows),
        )


def _overview_chart(summary: pd.DataFrame) -> Chart:
    names = list(dict.fromkeys(summary["modification"]))
    last = ~summary.duplicated(["configuration", "modification"], keep="last")
    shown = summary.assign(size=np.where(last, 130, 35))

    def draw(part: pd.DataFrame) -> Chart:
        base = alt.Chart(part).encode(
            x=alt.X("change_mean:Q", title="Accuracy change (points)"),
            y=alt.Y("better:Q", title="log10 p (the better of both)"),
        )
        return alt.layer(
            base.mark_line(strokeWidth=1).encode(
                order=alt.Order("strength_rank:Q"), **look("modification", names, "color", "strokeDash")
            ),
            base.mark_point(opacity=0.85).encode(
                size=alt.Size("size:Q", scale=None, legend=None),
                **look("modification", names, "color", "shape"),
            ),
            rule(x=0, dash=[1, 0]),
            rule(y=LOG_LEVEL),
        )

    ranked = shown.assign(strength_rank=shown.groupby(["configuration", "modification"]).cumcount())
    return panels(by_text(ranked), draw, height=280)


def _detail_figures(findings: Findings, frame: pd.DataFrame) -> Iterator[Figure]:
    for first, part in list(by_configuration(frame))[:MAX_DETAILED]:
        names = list(dict.fromkeys(part["modification"]))
        for start in range(0, len(names), _ROWS):
            some = names[start : start + _ROWS]
            summary = modification_summary(part[part["modification"].isin(some)])
            ending = f"-{start // _ROWS + 1}" if len(names) > _ROWS else ""
            yield Figure(
                f"modification-{slug(first)}{ending}",
                f"Modified forests ({configuration(first)}): {listed(some)}",
                "For each modification over its strength (below each panel): left, change of accuracy in "
                "points; middle, percent of test rows whose majority stays (fidelity), of the trigger set's "
                "votes that are as the signature wants (bits), and of modified forests that match in every "
                f"bit (exact match); right, log10 of the p-values. Hollow: of an alignment. "
                f"Dashed: level {DEFAULT_LEVEL:g}. "
                f"{_sample(part)} {_P_VALUES} {findings.origin(part)}",
                described(
                    "Line charts over strength",
                    summary,
                    ["modification", "strengths"],
                    {
                        "accuracy points": ("change_mean", signed),
                        "fidelity": ("fidelity_mean", table.rate),
                        "bits": ("bits_mean", table.rate),
                        "exact matches": ("exact", table.count),
                        "log10 p from votes": ("log10_p_median", "{:.1f}".format),
                        "from shares": ("log10_p_shares_median", "{:.1f}".format),
                    },
                ),
                detail_chart(summary),
            )


_SERIES = {
    "accuracy change": ("Accuracy change (points)", "change", "mean", 1.0),
    "fidelity": ("Kept (%)", "fidelity", "mean", 100.0),
    "bits": ("Kept (%)", "bits", "mean", 100.0),
    "exact match": ("Kept (%)", "exact_share", "", 100.0),
    "p from votes": ("log10 p", "log10_p", "median", 1.0),
    "p from vote shares": ("log10 p", "log10_p_shares", "median", 1.0),
}
"""Each line: title of its panel, column, middle, and factor."""


def detail_chart(summary: pd.DataFrame) -> Chart:
    """Draw a row of three panels for each modification."""
    long = []
    for name, (title, column_name, centre, scale) in _SERIES.items():
        middle, low, high = (
            scale * summary[f"{column_name}_{what}" if centre else column_name].astype(float)
            for what in (centre, "min", "max")
        )
        long.append(
            summary[["modification", "strengths"]].assign(
                panel=title,
                series=name,
                middle=middle,
                low=low,
                high=high,
                aligned=summary["nulls"].str.contains("aligned") & (name == "p from votes"),
            )
        )
    data = pd.concat(long)
    spans = {
        "Accuracy change (points)": _span(data, "Accuracy change (points)", [-1.0, 1.0]),
        "Kept (%)": [0.0, 100.0],
        "log10 p": _span(data, "log10 p", [1.3 * LOG_LEVEL, 0.3]),
    }
    names = list(_SERIES)

    def panel(part: pd.DataFrame, title: str, below: str) -> Chart:
        x = alt.X(
            "strengths:N",
            sort=None,
            title=below,
            axis=alt.Axis(labelAngle=0, labelExpr="split(datum.label, '+')"),
        )
        y = alt.Y("middle:Q", title=title, scale=alt.Scale(domain=spans[title], nice=False))
        base = alt.Chart(part[part["panel"] == title]).encode(x=x)
        level = {"log10 p": LOG_LEVEL, "Kept (%)": None}.get(title, 0.0)
        return alt.layer(
            base.mark_area(opacity=0.15).encode(
                y=alt.Y("low:Q", title=title), y2="high:Q", **look("series", names, "color")
            ),
            base.mark_line(strokeWidth=1.6).encode(y=y, **look("series", names, "color", "strokeDash")),
            base.mark_point(filled=True, size=25).encode(y=y, **look("series", names, "color", "shape")),
            # Hollow: the p-value is that of an alignment, which has a floor.
            base.transform_filter("datum.aligned").mark_point(filled=True, size=9, color="white").encode(y=y),
            *([] if level is None else [rule(y=level)]),
        ).properties(width=WIDTH / 3 - 50, height=120)

    rows = [
        alt.hconcat(
            *[panel(part, title, unit(str(name))) for title in spans], title=alt.Title(str(name), color=INK)
        )
        for name, part in data.groupby("modification", sort=False)
    ]
    return alt.vconcat(*rows).resolve_scale(color="shared", shape="shared", strokeDash="shared")


def _span(data: pd.DataFrame, panel: str, least: list[float]) -> list[float]:
    """Return the range of a panel's values, and at least some: one test row must not look like a cliff."""
    values = data.loc[data["panel"] == panel, ["middle", "low", "high"]].to_numpy(dtype=np.float64)
    return [float(np.nanmin([least[0], values.min()])), float(np.nanmax([least[1], values.max()]))]
