"""Whether p-values keep what they promise: how often they were small although the claim was false."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import altair as alt
import pandas as pd

from orchestrator.report import charts, table
from orchestrator.report.charts import Chart, Figure
from orchestrator.report.data import Findings, each_row
from orchestrator.report.sections.section import Shown
from orchestrator.report.table import Cell, Column, in_words, make_table
from orchestrator.report.wording import counted, listed, percent, sampled

LEVEL = 0.05
"""Level at which tables give the rate: the one for which the fewest forests suffice."""

VERIFY, DETECT, PRESENCE = "verify: ", "detect: ", "presence: "
"""Prefixes of the names of p-values, by where they belong."""

VOTES, ALIGNED, SHARES = f"{VERIFY}votes", f"{VERIFY}aligned", f"{VERIFY}probabilities"
PRESENCE_OVERALL, PRESENCE_HOLM = f"{PRESENCE}maximum", f"{PRESENCE}Holm"

POPULATIONS = ("honest", "other owners", "presence")


def of_strategy(row: Any) -> str:
    """Return the name of the exact p-value of one of the paper's strategies."""
    return f"{DETECT}{row.measure} {row.strategy} exact"


def false_positives(frame: pd.DataFrame, name: str) -> str | None:
    """Return how often a p-value was at most `LEVEL` over false claims; None if that was not counted."""
    rows = frame[(frame["p_value"] == name) & (frame["level"] == LEVEL)]
    if rows.empty:
        return None
    counts = [f"{row.hits:,} of {row.trials:,} ({row.population})" for row in rows.itertuples()]
    return ", ".join(counts) + (": too many" if rows["anti_conservative"].any() else "")


def columns(findings: Findings, title: str, name_of: Callable[[Any], str]) -> list[Column]:
    """Return the column of counted false positives next to a p-value; none without calibration."""
    frame = findings.frame("calibration")
    if frame.empty:
        return []

    def cell(row: Any) -> Cell:
        return table.sentence(false_positives(frame, name_of(row)))

    return [Column(f"{title} \N{LESS-THAN OR EQUAL TO} {LEVEL:g} by chance (false claims)", cell)]


def show(findings: Findings) -> Shown:
    """Show the counted false positives of every p-value."""
    frame = findings.frame("calibration")
    alarms = frame[frame["anti_conservative"].astype(bool)]
    verdicts = frame["anti_conservative"].map({True: "yes", False: "no"})
    caveat = (
        "Anti-conservative p-values, small more often than they promise beyond what chance explains: "
        f"{_alarms(alarms)}. Do not rely on them."
    )
    return Shown(
        headline=(("Calibration", _headline(findings, frame, alarms)),),
        caveats=() if alarms.empty else (caveat,),
        figures=tuple(_figures(findings, frame)),
        tables=(make_table("calibration-table", frame.assign(anti_conservative=verdicts)),),
    )


def _headline(findings: Findings, frame: pd.DataFrame, alarms: pd.DataFrame) -> str:
    planned: dict[str, int] = {}
    for attack in findings.attacks("calibration")[:1]:
        planned = dict(zip(POPULATIONS, (attack.honest, attack.other_owners, attack.presence), strict=True))
    sizes = frame.groupby("population", sort=False)["trials"].max()
    counts = listed(
        f"{count:,}{'' if count == planned.get(str(name), count) else f' of {planned[str(name)]:,}'} ({name})"
        for name, count in sizes.items()
    )
    result = (
        "no rate is above its level beyond what chance explains"
        if alarms.empty
        else f"anti-conservative: {listed(dict.fromkeys(alarms['p_value']))}"
    )
    lowest = float(frame["level"].min())
    open_up_to = float(frame["high"].where(frame["hits"] == 0).astype(float).max())
    limits = (
        f" A count of none leaves rates of up to {percent(open_up_to, 1)} open: so few forests cannot "
        f"confirm level {lowest:g}."
        if open_up_to > lowest
        else ""
    )
    return (
        f"{counted(frame['p_value'].nunique(), 'p-value')} on false claims against {counts} forests: "
        f"{result}.{limits}"
    )


def _alarms(alarms: pd.DataFrame) -> str:
    """Return which p-values are small too often, with the rates that show it."""
    rows: list[Any] = list(alarms.itertuples())
    return listed(
        f"{row.p_value} ({row.population}: {row.hits:,} of {row.trials:,} at or below {row.level:g}, that is "
        f"{percent(row.rate, 1)}, 95% interval {percent(row.low, 1)} to {percent(row.high, 1)})"
        for row in rows
    )


def _figures(findings: Findings, frame: pd.DataFrame) -> Iterator[Figure]:
    of_verification = frame["p_value"].astype(str).str.startswith(VERIFY).astype(bool)
    for what, part in (("verification", frame[of_verification]), ("detection", frame[~of_verification])):
        if part.empty:
            continue
        sizes = part.groupby("population", sort=False)["trials"].max()
        alarms = part[part["anti_conservative"].astype(bool)]
        too_many = f"Too many: {in_words('calibration-table', alarms, ['hits', 'trials'])}."
        level = part["level"].max()
        yield charts.figure(
            "calibration",
            f"-{what}",
            partial(_chart, part),
            findings.origin(frame),
            part[part["level"] == level],
            level=level,
            too_many="None is larger than chance explains." if alarms.empty else too_many,
            part=what,
            sizes=listed(f"{count:,} forests ({population})" for population, count in sizes.items()),
        )


def _chart(frame: pd.DataFrame) -> Chart:
    """Draw rates and intervals of each p-value, a panel for each level."""
    names = list(dict.fromkeys(frame["p_value"]))
    populations = [name for name in POPULATIONS if (frame["population"] == name).any()]
    levels = sorted(frame["level"].unique(), reverse=True)
    shown = frame.assign(**{name: 100 * frame[name].astype(float) for name in ("rate", "low", "high")})
    shown["tooltip"] = [
        f"{row.p_value}, {row.population}: "
        + sampled(
            f"p at most {row.level:g} in",
            row.rate,
            (row.low, row.high),
            what="95% interval",
            n=row.trials,
            thing="forest",
            write="{:.3g}%".format,
        )
        for row in each_row(shown)
    ]

    def panel(level: float) -> Chart:
        axis = alt.Axis(labels=bool(level == levels[0]), ticks=False, domain=False, grid=True)
        base = alt.Chart(shown[shown["level"] == level]).encode(
            y=alt.Y("p_value:N", sort=names, title=None, axis=axis),
            yOffset=alt.YOffset("population:N", sort=populations),
        )
        rings = base.transform_filter("datum.anti_conservative").mark_point(
            shape="circle", size=260, color=charts.WARNING, strokeWidth=2
        )
        return alt.layer(
            charts.rule(x=100 * level),
            base.mark_rule(strokeWidth=1.5).encode(
                x="low:Q", x2="high:Q", **charts.look("population", populations, "color")
            ),
            charts.with_tooltips(
                base.mark_point(filled=True).encode(
                    x=alt.X("rate:Q", title="Rate (%)"),
                    **charts.look("population", populations, "color", "shape"),
                )
            ),
            rings.encode(x="rate:Q"),
        ).properties(
            width=(charts.WIDTH - 180) / len(levels),
            height=alt.Step(22 if len(populations) == 1 else 11 * len(populations)),
            title=alt.Title(f"level {100 * level:g}%", color=charts.INK),
        )

    return alt.hconcat(*[panel(float(level)) for level in levels]).resolve_scale(
        color="shared", shape="shared"
    )
