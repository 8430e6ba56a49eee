"""What forests that a thief changed keep of watermark and accuracy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from orchestrator.report import charts
from orchestrator.report.charts import Chart, Figure
from orchestrator.report.data import (
    CONFIGURATION,
    Findings,
    by_configuration,
    chunked,
    configuration,
    each_row,
    slug,
    summarise,
)
from orchestrator.report.sections import calibration
from orchestrator.report.sections.section import Answer, Grade, Question, Shown, nothing_to_survive
from orchestrator.report.table import make_table
from orchestrator.report.wording import counted, listed, p_value, p_value_of_log10, sampled, signed
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
    "hedge": "distance from one half",
}
"""Unit of the strength of each modification of `wm.attacks.modification`."""

_P_VALUES = (
    "p from votes is exact, or where trees are missing that of their best alignment in order against "
    f"{DRAWS:,} random signatures (at least {1 / (DRAWS + 1):g}); p from vote shares needs no order of the "
    "trees."
)


def unit(modification: str) -> str:
    """Return the unit of the strengths of a modification, or of several joined by "+"."""
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
    """Show at what cost a thief makes the claim fail."""
    frame = findings.frame("modification")
    summary, proven = modification_summary(frame), _proven(findings, frame)

    return Shown(
        answers=(robust_answer(proven),),
        headline=(("Robustness", _headline(frame, proven)),),
        lead=" ".join(_lead(findings, summary)),
        figures=(*_overview_figures(findings, frame, summary), *_detail_figures(findings, frame)),
        tables=(make_table("modification-table", summary),),
    )


def _lead(findings: Findings, summary: pd.DataFrame) -> Iterator[str]:
    configurations = summary["configuration"].nunique()
    if configurations > MAX_DETAILED:
        yield (
            f"Of {configurations} configurations the first {MAX_DETAILED} are drawn modification by "
            "modification; the overview and the table have all."
        )
    counts = [
        f"{title}: {found}"
        for title, name in (
            ("p from votes", calibration.VOTES),
            ("p of an alignment", calibration.ALIGNED),
            ("p from vote shares", calibration.SHARES),
        )
        if (found := calibration.false_positives(findings.frame("calibration"), name)) is not None
    ]
    if counts:
        yield f"False claims with p \N{LESS-THAN OR EQUAL TO} {calibration.LEVEL:g}: {'; '.join(counts)}."


def _kept(frame: pd.DataFrame) -> pd.Series[bool]:
    """Return in which runs one of the p-values stays significant."""
    return (frame["log10_p"] <= LOG_LEVEL) | (frame["log10_p_shares"] <= LOG_LEVEL)


def _proven(findings: Findings, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the runs on forests of which the claim was significant before, or some changed copy is.

    Evidence from vote shares is recorded of changed copies alone: where one has it, there was some to lose.
    """
    claims, place = findings.frame("accuracy"), [*CONFIGURATION, "repeat"]
    found = pd.concat([claims.loc[claims["log10_p"] <= LOG_LEVEL, place], frame.loc[_kept(frame), place]])
    return frame.merge(found.drop_duplicates(), on=place)


def _lost(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of modifications that bring both p-values above the level in all of their runs."""
    lost = summary[summary[["log10_p_min", "log10_p_shares_min"]].min(axis=1) > LOG_LEVEL]
    return lost.dropna(subset="change_mean")


def robust_answer(proven: pd.DataFrame) -> Answer:
    """Return how many modified forests stay significant; bad if a cheap modification never leaves one so.

    `proven` has the runs on forests that had such evidence.
    """
    if proven.empty:
        return nothing_to_survive("significant")
    kept, lost = int(_kept(proven).sum()), _lost(modification_summary(proven))
    is_cheap = bool((lost["change_mean"] >= _CHEAP).any())
    dearest = f"; cheapest way out {signed(lost['change_mean'].max())} points" if len(lost) else ""
    return Answer(
        Question.SURVIVES,
        Grade.BAD if is_cheap else Grade.GOOD if kept == len(proven) else Grade.MIXED,
        f"{kept} of {len(proven)}",
        f"changed copies keep p \N{LESS-THAN OR EQUAL TO} {p_value(DEFAULT_LEVEL)}",
        f"{counted(proven['modification'].nunique(), 'modification')}{dearest}",
    )


def _headline(frame: pd.DataFrame, proven: pd.DataFrame) -> str:
    matching = (
        f"Over {counted(frame['modification'].nunique(), 'modification')}, the exact match survives in "
        f"{int(frame['exact_match'].sum()):,} of {counted(len(frame), 'run')}; "
    )
    if proven.empty:
        return f"{matching}no claim had p at or below {p_value(DEFAULT_LEVEL)} before: there is none to lose."
    of = f" of the {len(proven):,} on forests that had such evidence" if len(proven) < len(frame) else ""
    text = (
        f"{matching}p from votes or from vote shares stays at or below {p_value(DEFAULT_LEVEL)} in "
        f"{int(_kept(proven).sum()):,}{of}."
    )
    lost = _lost(modification_summary(proven))
    if lost.empty:
        return f"{text} None brings both p-values above that in all of its runs."
    best = lost.iloc[int(lost["change_mean"].argmax())]
    change, low, high = (signed(best[f"change_{what}"]) for what in ("mean", "min", "max"))
    ends = "" if low == high else f" ({low} to {high})"
    cheap = lost.loc[lost["change_mean"] >= _CHEAP, "modification"].nunique()
    return (
        f"{text} The cheapest that brings both above that in all of its runs ({best['n']:,}) is "
        f"{best['modification']} at {best['strengths']} ({best['configuration']}), with {change}{ends} "
        f"points of accuracy. At no more than {abs(_CHEAP):g} point: {counted(cheap, 'modification')}."
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
    for ending, some, rows in chunked(frame, summary, charts.PANELS):
        yield charts.figure(
            "tradeoff",
            ending,
            partial(_overview_chart, rows),
            findings.origin(some),
            rows.groupby(["configuration", "modification"], sort=False).tail(1),
            level=DEFAULT_LEVEL,
            sample=_sample(frame),
            p_values=_P_VALUES,
        )


def _overview_chart(summary: pd.DataFrame) -> Chart:
    names = list(dict.fromkeys(summary["modification"]))
    path = ["configuration", "modification"]
    shown = summary.assign(
        size=np.where(summary.duplicated(path, keep="last"), 35, 130),
        strength_rank=summary.groupby(path).cumcount(),
        tooltip=[_tooltip(row) for row in summary.itertuples()],
    )

    def draw(part: pd.DataFrame) -> Chart:
        base = alt.Chart(part).encode(
            x=alt.X("change_mean:Q", title="Accuracy change (points)"),
            y=alt.Y("better:Q", title="log10 p (the better of both)"),
        )
        return alt.layer(
            base.mark_line(strokeWidth=1).encode(
                order=alt.Order("strength_rank:Q"),
                **charts.look("modification", names, "color", "strokeDash"),
            ),
            charts.with_tooltips(
                base.mark_point(opacity=0.85).encode(
                    size=alt.Size("size:Q", scale=None, legend=None),
                    **charts.look("modification", names, "color", "shape"),
                )
            ),
            charts.rule(x=0, dash=[1, 0]),
            charts.rule(y=LOG_LEVEL),
        )

    return charts.panels(charts.by_text(shown), draw, height=280)


def _tooltip(row: Any) -> str:
    """Return what a modification of one strength costs, and leaves."""
    change = sampled(
        "accuracy",
        row.change_mean,
        (row.change_min, row.change_max),
        write=lambda points: f"{signed(points)}",
    )
    left = p_value_of_log10(row.better)
    return (
        f"{row.modification} {row.strengths}: {change} points, median p = {left}, n = {counted(row.n, 'run')}"
    )


def _detail_figures(findings: Findings, frame: pd.DataFrame) -> Iterator[Figure]:
    for first, part in list(by_configuration(frame))[:MAX_DETAILED]:
        names = list(dict.fromkeys(part["modification"]))
        for start in range(0, len(names), _ROWS):
            some = names[start : start + _ROWS]
            summary = modification_summary(part[part["modification"].isin(some)])
            yield charts.figure(
                "modification",
                f"-{slug(first)}{f'-{start // _ROWS + 1}' if len(names) > _ROWS else ''}",
                partial(detail_chart, summary),
                findings.origin(part),
                summary,
                configuration=configuration(first),
                modifications=listed(some),
                level=DEFAULT_LEVEL,
                sample=_sample(part),
                p_values=_P_VALUES,
            )


_PANELS = ("Accuracy change (points)", "Kept (%)", "log10 p")
_WRITTEN = (lambda points: f"{signed(points)} points", "{:.1f}%".format, p_value_of_log10)
"""How each panel's values are written."""

_SERIES = {
    "accuracy change": (0, "change", "mean", 1.0),
    "fidelity": (1, "fidelity", "mean", 100.0),
    "bits": (1, "bits", "mean", 100.0),
    "exact match": (1, "exact_share", "", 100.0),
    "p from votes": (2, "log10_p", "median", 1.0),
    "p from vote shares": (2, "log10_p_shares", "median", 1.0),
}
"""Each line: its panel, column, middle, and factor."""


def detail_chart(summary: pd.DataFrame) -> Chart:
    """Draw a row of three panels for each modification."""
    long = []
    for name, (place, source, centre, scale) in _SERIES.items():
        ends = {"middle": centre, "low": "min", "high": "max"}
        drawn = {
            end: scale * summary[f"{source}_{what}" if centre else source].astype(float)
            for end, what in ends.items()
        }
        aligned = summary["nulls"].str.contains("aligned") & (name == "p from votes")
        part = summary[["modification", "strengths", "n"]].assign(panel=place, series=name, aligned=aligned)
        long.append(part.assign(**drawn))
    data = pd.concat(long)
    data["tooltip"] = [
        f"{row.modification} {row.strengths}: "
        + sampled(
            row.series, row.middle, (row.low, row.high), n=row.n, thing="run", write=_WRITTEN[row.panel]
        )
        for row in each_row(data)
    ]
    spans = (_span(data, 0, -1.0, 1.0), [0.0, 100.0], _span(data, 2, 1.3 * LOG_LEVEL, 0.3))
    levels = (0.0, None, LOG_LEVEL)

    def panel(part: pd.DataFrame, place: int, below: str) -> Chart:
        shown, level = part[part["panel"] == place], levels[place]
        labels = alt.Axis(labelAngle=0, labelExpr="split(datum.label, '+')")
        x = alt.X("strengths:N", sort=None, title=below, axis=labels)
        y: dict[str, Any] = {"title": _PANELS[place], "scale": alt.Scale(domain=spans[place], nice=False)}
        # Hollow: the p-value is that of an alignment, which has a floor.
        hollow = alt.Chart(shown).transform_filter("datum.aligned").mark_point(filled=True, size=12)
        return alt.layer(
            charts.series(shown, x, y, list(_SERIES), ends="band"),
            hollow.encode(x=x, y=alt.Y("middle:Q", **y), color=alt.value("white")),
            *([] if level is None else [charts.rule(y=level)]),
        ).properties(width=charts.WIDTH / 3 - 50, height=120)

    rows = [
        alt.hconcat(
            *[panel(part, place, unit(str(name))) for place in range(len(_PANELS))],
            title=alt.Title(str(name), color=charts.INK),
        )
        for name, part in data.groupby("modification", sort=False)
    ]
    return alt.vconcat(*rows).resolve_scale(color="shared", shape="shared", strokeDash="shared")


def _span(data: pd.DataFrame, panel: int, low: float, high: float) -> list[float]:
    """Return the range of a panel's values and a given one: one test row must not look like a cliff."""
    values = data.loc[data["panel"] == panel, ["middle", "low", "high"]].to_numpy(dtype=np.float64)
    return [float(np.nanmin([low, values.min()])), float(np.nanmax([high, values.max()]))]
