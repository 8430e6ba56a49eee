"""What was embedded, and its cost in accuracy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import altair as alt
import pandas as pd

from orchestrator.report.charts import Chart, Figure, figure, look, panels, series
from orchestrator.report.data import Findings, summarise
from orchestrator.report.sections.section import NOTHING_YET, Answer, Grade, Question, Shown
from orchestrator.report.table import make_table
from orchestrator.report.wording import MINUS, counted, listed, percent, ranged, sampled, signed

AXES = {
    "trigger_share": ("ones_share", "Trigger rows (% of training rows)", "trigger rows"),
    "ones_share": ("trigger_share", "Ones in the signature (% of bits)", "ones in the signature"),
}
"""Axes of accuracy charts: the coordinate that a panel holds fixed, label, and noun."""

FORESTS = {
    "watermarked": "watermarked",
    "standard": "standard (honest)",
    "capped": "capped (honest, same limits)",
}

LITTLE, MUCH = 1.0, 3.0
"""Points of accuracy up to which a watermark costs little, and from which it costs much."""

_MIN_SPAN = 0.02
"""Smallest height of the axis: a difference of one test row must not look like a cliff."""


def points(frame: pd.DataFrame, baseline: str) -> pd.Series[float]:
    """Return watermarked minus baseline accuracy of each row, in percentage points."""
    return 100.0 * (frame["accuracy_watermarked"].astype(float) - frame[baseline].astype(float))


def accuracy_summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return accuracies, differences in points, and cost of each way of embedding."""
    more = {f"minus_{name}": points(frame, f"accuracy_{name}") for name in ("standard", "capped")}
    accuracies = [f"accuracy_{name}" for name in FORESTS]
    found = summarise(
        frame.assign(**more),
        (),
        [*accuracies, *more, "rounds", "seconds"],
        trigger_size=("trigger_size", "first"),
    )
    # Deviations are in points, as differences are.
    return found.assign(**{f"{name}_std": 100 * found[f"{name}_std"] for name in accuracies})


def _embedded(findings: Findings) -> str:
    frame, split = findings.frame("accuracy"), findings.split
    planned = int((findings.frame("jobs")["kind"] == "embed").sum())
    rows = (
        ""
        if split is None
        else f" ({split.rows_train:,} training and {split.rows_test:,} test rows, "
        f"{counted(split.features, 'feature')})"
    )
    if frame.empty:
        return f"No watermark of {planned} planned, on data set {findings.dataset}{rows}."
    shares, ones = (
        listed(percent(share) for share in sorted(frame[name].unique()))
        for name in ("trigger_share", "ones_share")
    )
    return (
        f"{len(frame)} of {counted(planned, 'planned watermark')} on data set {findings.dataset}{rows}: "
        f"scheme {listed(findings.spec.embedding.scheme)}, forests of "
        f"{ranged(frame['n_estimators'])} trees, trigger sets of "
        f"{ranged(frame['trigger_size'])} rows ({shares} of the training rows), "
        f"{ones} ones in the signature, {counted(findings.repeats, 'repeat')}."
    )


def _cost(frame: pd.DataFrame) -> str:
    texts = [
        f"{signed(points(frame, f'accuracy_{name}').mean())} points against the {name} forest "
        f"({percent(frame[f'accuracy_{name}'].mean(), 2)})"
        for name in ("standard", "capped")
    ]
    single = points(frame, "accuracy_standard")
    means = (
        ""
        if len(frame) == 1
        else f" Means over {counted(len(frame), 'forest')}; single differences to the standard forest from "
        f"{signed(single.min())} to {signed(single.max())} points."
    )
    return f"Accuracy {percent(frame['accuracy_watermarked'].mean(), 2)}: {listed(texts)}.{means}"


def cost_answer(frame: pd.DataFrame) -> Answer:
    """Return the mean difference to the standard forest; `frame` is the accuracy frame, not empty."""
    against = points(frame, "accuracy_standard")
    mean = float(against.mean())
    grade = Grade.BAD if mean <= -MUCH else Grade.MIXED if mean < -LITTLE else Grade.GOOD
    return Answer(
        Question.COST,
        grade,
        signed(mean),
        "points of accuracy against an honest forest",
        f"{ranged(against, '{:+.2f}').replace('-', MINUS)} over {counted(len(frame), 'forest')}",
    )


def accuracy(findings: Findings) -> Shown:
    """Show the cost of the watermark."""
    frame = findings.frame("accuracy")
    caveat = "Each configuration was embedded only once: another seed may give other numbers."
    caveats = () if findings.repeats > 1 else (caveat,)
    headline = (("Embedded", _embedded(findings)),)
    if frame.empty:
        return Shown(headline=headline, caveats=caveats, lead=NOTHING_YET)
    summary = accuracy_summary(frame)
    return Shown(
        answers=(cost_answer(frame),),
        headline=(*headline, ("Cost in accuracy", _cost(frame))),
        caveats=caveats,
        figures=tuple(_figures(findings, frame, summary)),
        tables=(make_table("accuracy-table", summary), make_table("embeddings-table", frame)),
    )


def _figures(findings: Findings, frame: pd.DataFrame, summary: pd.DataFrame) -> Iterator[Figure]:
    rows = "" if findings.split is None else f"{counted(findings.split.rows_test, 'test row')} "
    varying = [axis for axis in AXES if frame[axis].nunique() > 1]
    for axis in varying or ["trigger_share"]:
        yield figure(
            "accuracy",
            f"-over-{axis.replace('_', '-')}",
            partial(accuracy_chart, frame, axis),
            findings.origin(frame),
            summary,
            noun=AXES[axis][2],
            tested=rows,
        )


def accuracy_chart(frame: pd.DataFrame, axis: str) -> Chart:
    """Draw accuracy over one coordinate of the grid.

    Parameters
    ----------
    frame
        Of `orchestrator.results.accuracy`, not empty.
    axis
        A key of `AXES`. Panels without several values of it are left out if others have some.
    """
    fixed, label, _ = AXES[axis]
    other = "ones" if axis == "trigger_share" else AXES[fixed][2]
    parts = [part for _, part in frame.groupby(["scheme", fixed], sort=True)]
    along = [part for part in parts if part[axis].nunique() > 1] or parts
    titled = [
        (f"{part['scheme'].iloc[0]}, {percent(float(part[fixed].iloc[0]))} {other}", part) for part in along
    ]
    accuracies = frame[[f"accuracy_{name}" for name in FORESTS]].astype(float)
    low, high = float(accuracies.min().min()), float(accuracies.max().max())
    spare = 0.1 * (high - low) + max(0.0, _MIN_SPAN - (high - low)) / 2
    names = list(FORESTS.values())
    y: dict[str, Any] = {
        "title": "Accuracy (share of test rows)",
        "scale": alt.Scale(domain=[low - spare, high + spare], nice=False, zero=False),
    }

    def draw(part: pd.DataFrame) -> Chart:
        places = sorted(part[axis].unique())
        step = 100 * (places[-1] - places[0]) or 1.0
        long = pd.concat(
            pd.DataFrame(
                {
                    # Next to each other, so that forests do not cover one another.
                    "at": 100 * part[axis].astype(float) + 0.02 * step * side,
                    "place": 100 * part[axis].astype(float),
                    "middle": part[f"accuracy_{name}"].astype(float),
                    "forest": forest,
                }
            )
            for (name, forest), side in zip(FORESTS.items(), (0, -1, 1), strict=True)
        )
        domain = [100 * places[0] - 0.1 * step, 100 * places[-1] + 0.1 * step]
        x = alt.X(
            "at:Q",
            title=label,
            scale=alt.Scale(domain=domain, zero=False, nice=False),
            axis=alt.Axis(values=[100 * at for at in places], format="~g"),
        )
        groups = long.groupby(["forest", "at", "place"], sort=False)["middle"]
        means = groups.agg(middle="mean", std="std", n="size").reset_index()
        means = means.assign(low=means["middle"] - means["std"], high=means["middle"] + means["std"])
        means["tooltip"] = [_tooltip(row, other=AXES[axis][2]) for row in means.itertuples()]
        each = alt.Chart(long).mark_point(size=9, opacity=0.6)
        return alt.layer(
            each.encode(x=x, y=alt.Y("middle:Q", **y), **look("forest", names, "color")),
            series(means, x, y, names, field="forest", ends="bar"),
        )

    return panels(titled, draw)


def _tooltip(row: Any, other: str) -> str:
    mean = sampled(
        "mean accuracy",
        row.middle,
        (row.low, row.high),
        what="one standard deviation",
        n=row.n,
        write=lambda share: percent(share, 2),
    )
    return f"{row.forest}, {row.place:g}% {other}: {mean}"
