"""The scoreboard: schemes side by side, by the evidence that each attack leaves and what it costs."""

from __future__ import annotations

from functools import partial

import altair as alt
import numpy as np
import pandas as pd

from orchestrator.report import charts
from orchestrator.report.charts import Chart
from orchestrator.report.data import Findings, each_row
from orchestrator.report.sections.section import Shown
from orchestrator.report.table import make_table
from orchestrator.report.wording import listed, p_value, p_value_of_log10
from orchestrator.results.schemes import NO_ATTACK, cheapest, evasion
from wm.attacks.claims import RELEASED
from wm.verification.evidence import DEFAULT_LEVEL

LOSSES = {0.0: "0", 0.005: "0.5", 0.01: "1", 0.02: "2", 0.05: "5", 1.0: "any"}
"""Accuracy that a thief may lose, and its name in points."""

_STEPS = (-50.0, -20.0, -10.0, float(np.log10(DEFAULT_LEVEL)))
_FILLS = ("#0b3c5d", "#2f7196", "#7fb2cc", "#c9dfea", "#f4d6b8")
"""Colours between the steps of log10 p, the last above the level: no proof is left."""

_NAMED = 6
"""Most attacks that the summary names for each scheme."""

_CHEAP = 0.01
"""Loss of accuracy that a thief hardly minds."""


def has_several(findings: Findings) -> bool:
    """Return whether a campaign has several schemes to compare."""
    return len(findings.spec.embedding.scheme) > 1


def show(findings: Findings) -> Shown:
    """Show what each attack leaves of each scheme."""
    board = findings.frame("schemes")
    left = cheapest(board, list(LOSSES))
    text = _headline(board, left)
    figure = charts.figure(
        "schemes",
        "",
        partial(heat_map, board, left),
        findings.origin(findings.frame("accuracy")),
        level=p_value(DEFAULT_LEVEL),
        summary=text,
    )
    table = board.assign(
        change=100.0 * board["accuracy_change"],
        change_std=100.0 * board["accuracy_change_std"],
        log10_p_median=board["log10_p"],
        log10_p_count=board["repeats"],
    )
    return Shown(
        headline=(("Schemes", text),),
        lead=text,
        figures=() if left.empty else (figure,),
        tables=(make_table("schemes-table", table),),
    )


def _headline(board: pd.DataFrame, left: pd.DataFrame) -> str:
    parts, level = [], np.log10(DEFAULT_LEVEL)
    for scheme, rows in board.groupby("scheme", sort=False):
        start = rows.drop_duplicates("attack").set_index("attack")["log10_p"]
        mine = left[(left["scheme"] == scheme) & (left["loss"] == _CHEAP)]
        mine = mine[mine["attack"].map(lambda attack, start=start: _before(attack, start)) <= level]
        lost = mine[mine["log10_p"] > level]
        taken = (
            f"{len(lost)} of {len(mine)} attacks leave no proof: {listed(_first(list(lost['attack'])))}"
            if len(lost)
            else f"each of {len(mine)} attacks leaves a proof"
        )
        parts.append(
            f"Scheme {scheme} starts at p = {p_value_of_log10(start[NO_ATTACK])}"
            + (
                f"; at a loss of at most {100 * _CHEAP:g} point of accuracy {taken}."
                if len(mine)
                else ", without a proof that an attack could take."
            )
        )
    return " ".join(parts)


def _before(attack: str, start: pd.Series[float]) -> float:
    """Return log10 p before an attack: of an evasion by the same kind of answers, where that was judged."""
    released = evasion(RELEASED, attack.rpartition(", by ")[2])
    return float(start.get(released, start[NO_ATTACK]))


def _first(names: list[str]) -> list[str]:
    return names if len(names) <= _NAMED else [*names[:_NAMED], f"{len(names) - _NAMED} more"]


def heat_map(board: pd.DataFrame, left: pd.DataFrame) -> Chart:
    """Draw a panel for each scheme: attacks by the accuracy that a thief may lose, coloured by log10 p."""
    attacks = sorted(left["attack"].unique(), key=list(board["attack"]).index)
    shown = left.assign(points=left["loss"].map(LOSSES), text=left["log10_p"].map("{:.0f}".format))
    shown["text"] = shown["text"].replace("-0", "0")
    shown["tooltip"] = [
        f"{row.scheme}, {row.attack}, at most {row.points} points lost: p = {p_value_of_log10(row.log10_p)}"
        for row in each_row(shown)
    ]

    def draw(part: pd.DataFrame) -> Chart:
        base = alt.Chart(part).encode(
            x=alt.X("points:O", sort=list(LOSSES.values()), title="Accuracy lost, at most (points)").axis(
                labelAngle=0
            ),
            y=alt.Y("attack:N", sort=attacks, title=None).scale(domain=attacks).axis(labelLimit=400),
        )
        colour = alt.Color("log10_p:Q", title="log10 p").scale(
            type="threshold", domain=list(_STEPS), range=list(_FILLS)
        )
        dark = alt.condition(f"datum.log10_p < {_STEPS[1]}", alt.value("white"), alt.value(charts.INK))
        return alt.layer(
            charts.with_tooltips(base.mark_rect(stroke="white").encode(color=colour)),
            base.mark_text(fontSize=9).encode(text="text:N", color=dark),
        )

    parts = [(str(name), part) for name, part in shown.groupby("scheme", sort=False)]
    return charts.panels(parts, draw, columns=1, height=14 * len(attacks))
