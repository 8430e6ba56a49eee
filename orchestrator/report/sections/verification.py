"""Whether claims verify: the evidence of each against its forest, and against an honest one."""

from __future__ import annotations

import math
from functools import partial

import altair as alt
import pandas as pd

from orchestrator.report.charts import WIDTH, Chart, figure, look, rule, with_tooltips
from orchestrator.report.data import Findings, configuration
from orchestrator.report.sections import calibration
from orchestrator.report.sections.section import Answer, Grade, Question, Shown
from orchestrator.report.table import make_table
from orchestrator.report.wording import p_value, p_value_of_log10
from wm.embedding import SCHEMES
from wm.verification.evidence import DEFAULT_LEVEL

_LOG_LEVEL = math.log10(DEFAULT_LEVEL)

_OF_BITS = [name for name, scheme in SCHEMES.items() if scheme.marks_rows and scheme.trees_vote]
"""Schemes whose trees show every bit of a signature or codebook."""


def show(findings: Findings) -> Shown:
    """Show the evidence of each claim against its forest, and against an honest one."""
    frame = findings.frame("accuracy")
    by_chance = calibration.columns(findings, "p-value", lambda _: calibration.VOTES)
    text = _verified(frame)
    return Shown(
        answers=(verified_answer(frame),),
        headline=(("Verification", text),),
        figures=(
            figure(
                "evidence",
                "",
                partial(evidence_chart, frame),
                findings.origin(frame),
                level=p_value(DEFAULT_LEVEL),
                summary=text,
            ),
        ),
        tables=(make_table("verification-table", frame, *by_chance),),
    )


def _verified(frame: pd.DataFrame) -> str:
    marked = frame[frame["scheme"].isin(_OF_BITS)]
    whole = int((marked["matched_bits"] == marked["total_bits"]).sum())
    weakest = p_value_of_log10(float(frame["log10_p"].max()))
    honest = p_value_of_log10(float(frame["log10_p_standard"].min()))
    matched, total = int(marked["matched_bits"].sum()), int(marked["total_bits"].sum())
    found = int((frame["log10_p"] <= _LOG_LEVEL).sum())
    level = f"p \N{LESS-THAN OR EQUAL TO} {p_value(DEFAULT_LEVEL)}"
    if len(frame) == 1:
        bits = "" if marked.empty else f"{matched:,} of {total:,} bits match, "
        return (
            f"{bits}p = {weakest}: {'' if found else 'not '}significant "
            f"({level}). The same claim against the honest standard forest: p = {honest}."
        )
    bits = (
        f"In {whole} of {len(marked)} watermarked forests every bit matches ({matched:,} of {total:,} bits "
        "in all); "
    )
    return (
        f"{'' if marked.empty else bits}{found} of {len(frame)} claims are significant ({level}); the "
        f"weakest evidence is p = {weakest}. The same claims against the honest standard forests: smallest "
        f"p = {honest}."
    )


def verified_answer(frame: pd.DataFrame) -> Answer:
    """Return how many claims are significant against their forests; `frame` is of accuracy, not empty."""
    found, honest = frame["log10_p"] <= _LOG_LEVEL, frame["log10_p_standard"] <= _LOG_LEVEL
    grade = Grade.BAD if honest.any() or not found.any() else Grade.GOOD if found.all() else Grade.MIXED
    strongest, weakest = (
        p_value_of_log10(float(end)) for end in (frame["log10_p"].min(), frame["log10_p"].max())
    )
    return Answer(
        Question.VERIFIED,
        grade,
        f"{int(found.sum())} of {len(frame)}",
        f"claims have p \N{LESS-THAN OR EQUAL TO} {p_value(DEFAULT_LEVEL)}, {int(honest.sum())} of them "
        "against an honest forest",
        f"p = {weakest}" if weakest == strongest else f"p from {strongest} to {weakest}",
    )


def evidence_chart(frame: pd.DataFrame) -> Chart:
    """Draw the evidence of each claim against its watermarked forest, and against the honest one."""
    columns = {"watermarked": "log10_p", "standard (honest)": "log10_p_standard"}
    long = pd.concat(
        pd.DataFrame(
            {
                "where": [configuration(row) for row in frame.itertuples()],
                "forest": forest,
                "evidence": -frame[column].astype(float),
                "tooltip": [
                    f"{configuration(row)}, repeat {row.repeat}, {forest}: p = "
                    f"{p_value_of_log10(getattr(row, column))}"
                    for row in frame.itertuples()
                ],
            }
        )
        for forest, column in columns.items()
    )
    points = alt.Chart(long).mark_point(filled=True, size=50, opacity=0.7)
    drawn = points.encode(
        x=alt.X("evidence:Q", title="Evidence (\N{MINUS SIGN}log10 of p)"),
        y=alt.Y("where:N", title=None, sort=None),
        **look("forest", list(columns), "color", "shape"),
    )
    return alt.layer(with_tooltips(drawn), rule(x=-_LOG_LEVEL)).properties(
        width=WIDTH * 0.6, height=alt.Step(22)
    )
