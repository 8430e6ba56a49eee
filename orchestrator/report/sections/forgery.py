"""Forgery of signatures that were prescribed: sizes over eps, smallest distances, forged images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import altair as alt
import pandas as pd

from orchestrator.report.charts import WIDTH, Chart, Figure, figure, stack
from orchestrator.report.data import Findings, by_configuration, configuration, each_row, slug, summarise
from orchestrator.report.sections import distances, images
from orchestrator.report.sections.distances import SizeCurve, size_line
from orchestrator.report.sections.section import Answer, Grade, Question, Shown
from orchestrator.report.table import make_table
from orchestrator.report.wording import counted, listed, number, percent, ranged

UNDECIDED = ("timeout", "memout", "error")
"""Outcomes of a query that leave open whether there is a forged instance."""

FILLS = {
    "forged": "#061f45",
    "impossible": "#e3e3e3",
    "timeout": "#e0a458",
    "memout": "#8a7a50",
    "error": "#8a2a1a",
    "pending": "#ffffff",
}
"""Outcomes of a query in the order of stacking, with fillings of different lightness; pending have none."""


def with_pending(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the forgery frame with `ended`, `pending`, `undecided` and `possible` of each signature."""
    struck = frame[list(UNDECIDED)].sum(axis=1)
    ended = frame["forged"] + frame["impossible"] + struck
    pending = frame["instances"] - ended
    return frame.assign(
        ended=ended, pending=pending, undecided=struck + pending, possible=frame["forged"] + struck + pending
    )


def forgery_summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return forged set sizes for each engine and eps over signatures and repeats, and counts of all queries.

    Parameters
    ----------
    frame
        Of `orchestrator.results.forgery`, with eps.

    Returns
    -------
    DataFrame
        Of `summarise`: `forged` and `possible` over signatures that have any outcome, `seconds` over those
        of them that had to be asked anything; `signatures` and `repeats` that have any outcome. A query
        without a decision counts as not forged in `forged`, as forged in `possible`: lower and upper limits.
        Sums over all signatures planned: ``total_`` and an outcome, `instances`, `followed`, `solving`;
        `slowest` is the longest query in seconds.
    """
    whole = with_pending(frame)
    begun = whole["ended"] > 0
    asked = begun & (whole["followed"] < whole["ended"])
    taken = whole.assign(
        solving=whole["seconds"].where(begun),
        **{f"total_{name}": whole[name] for name in FILLS},
        **{name: whole[name].where(begun) for name in ("forged", "possible")},
        seconds=whole["seconds"].where(asked),
        of_signature=whole["signature"].where(begun),
        of_repeat=whole["repeat"].where(begun),
    )
    names = ["instances", "followed", "solving", "undecided", *(f"total_{name}" for name in FILLS)]
    sums: dict[str, Any] = {name: (name, "sum") for name in names}
    found = summarise(
        taken,
        ["engine", "eps"],
        ["forged", "possible", "seconds"],
        trigger_size=("trigger_size", "first"),
        signatures=("of_signature", "nunique"),
        repeats=("of_repeat", "nunique"),
        slowest=("slowest_seconds", "max"),
        low=("forged", lambda sizes: sizes.quantile(distances.LOW)),
        high=("forged", lambda sizes: sizes.quantile(distances.HIGH)),
        **sums,
    )
    true_size = pd.to_numeric(found["trigger_size"]).astype(float)
    return found.assign(share=found["forged_max"] / true_size, mean_share=found["forged_mean"] / true_size)


def show(findings: Findings) -> Shown:
    """Show forged set sizes at given distances and at any, and forged images."""
    everything = findings.frame("forgery")
    frame = everything[everything["eps"].notna()].reset_index(drop=True)
    summary, curves = forgery_summary(frame), distances.curves_of(findings)
    texts = [_of_engine(str(engine), part) for engine, part in summary.groupby("engine", sort=True)]
    if len(frame) < len(everything):
        texts.append(distances.headline(findings, curves))
    undecided, queries = int(summary["undecided"].sum()), int(summary["instances"].sum())
    few, all_forged = tried_fewer(everything)
    caveat = (
        f"{undecided:,} of {counted(queries, 'forgery query', 'forgery queries')} have no decision (timeout, "
        "memout, error or pending): forged set sizes are lower limits there."
    )
    return Shown(
        answers=tuple(forged_answers(summary, curves, all_forged=all_forged)),
        headline=(("Forgery", " ".join(texts)),),
        caveats=(*((caveat,) if undecided else ()), *few, *distances.caveats(curves)),
        figures=(*_figures(findings, frame), *distances.figures(findings, curves), *images.figures(findings)),
        tables=(
            *distances.tables(curves, distances.cap_of(findings)),
            make_table("forgery-table", summary),
            make_table("queries-table", summary),
        ),
    )


def tried_fewer(frame: pd.DataFrame) -> tuple[tuple[str, ...], bool]:
    """Return a caveat on signatures tried on fewer rows than the true set has, and if some forge all of them.

    Parameters
    ----------
    frame
        Of `orchestrator.results.forgery`.
    """
    few = frame[frame["trigger_size"].notna() & (frame["instances"] < frame["trigger_size"])]
    if few.empty:
        return (), False
    complete = int((few["forged"] == few["instances"]).sum())
    text = (
        f"Only {ranged(few['instances'])} rows were tried for a signature (option instances), the true set "
        f"has {ranged(few['trigger_size'].astype(int))}: forged sets cannot be larger. In {complete:,} of "
        f"{len(few):,} trials every row was forged."
    )
    return (text,), complete > 0


def forged_answers(
    summary: pd.DataFrame, curves: Sequence[SizeCurve], *, all_forged: bool
) -> Iterator[Answer]:
    """Yield the largest forged set as a share of the true one, over all signatures and distances tried.

    The mean beside it is that of the signatures of the same configuration at the same distance.

    Parameters
    ----------
    all_forged
        Whether every row that was tried for some signature was forged.
    """
    begun = summary[(summary["signatures"] > 0) & summary["share"].notna()]
    largest = [
        (
            float(row.share),
            float(row.mean_share),
            f"eps {row.eps:g}",
            int(row.signatures * row.repeats),
            row.configuration,
        )
        for row in each_row(begun)
    ]
    for curve in curves:
        if curve.trigger_size:
            sizes = curve.known[:, -1] / curve.trigger_size
            place = f"eps {curve.eps[-1]:g}"
            largest.append((float(sizes.max()), float(sizes.mean()), place, len(sizes), configuration(curve)))
    if not largest:
        return
    share, mean, place, signatures, where = max(largest)
    undecided = int(begun["undecided"].sum()) + sum(curve.undecided for curve in curves)
    several = len({each[-1] for each in largest})
    of = f" of {where}, the worst of {several} configurations" if several > 1 else ""
    is_whole = share >= 1 or all_forged
    grade = Grade.BAD if is_whole else Grade.OPEN if undecided else Grade.MIXED if share else Grade.GOOD
    yield Answer(
        Question.FORGED,
        grade,
        percent(share, 0),
        f"of the true set's size at most, for a signature that the forger had to take ({place})",
        f"mean {percent(mean, 0)} over {counted(signatures, 'signature')}{of}; "
        f"{undecided:,} queries undecided",
    )


def _of_engine(engine: str, rows: pd.DataFrame) -> str:
    begun = rows[rows["signatures"] > 0]
    if begun.empty:
        return f"Engine {engine}: no query has an outcome."
    undecided, queries = int(rows["undecided"].sum()), int(rows["instances"].sum())
    tail = f"{undecided:,} of {counted(queries, 'query', 'queries')} undecided."
    if not begun["forged_max"].any():
        tried = counted(int((begun["signatures"] * begun["repeats"]).max()), "signature")
        eps = ranged(begun["eps"])
        return f"Engine {engine}: none of {tried} forges any instance, at eps {eps}; {tail}"
    worst = begun.sort_values(["share", "eps"], ascending=[False, True], kind="stable").iloc[0]
    size = worst["trigger_size"]
    of_true = "" if pd.isna(size) else f" of {int(size)} ({percent(worst['share'], 0)})"
    largest = begun.groupby("eps")["forged_mean"].max()
    many = "(largest over configurations) " if rows["configuration"].nunique() > 1 else ""
    return (
        f"Engine {engine}: the most successful of "
        f"{counted(int(worst['signatures'] * worst['repeats']), 'signature')} forges "
        f"{worst['forged_max']:.0f}{of_true}, first at eps {worst['eps']:g}; mean set size "
        f"{many}{listed(f'{number(mean)} at eps {eps:g}' for eps, mean in largest.items())}; {tail}"
    )


def _figures(findings: Findings, frame: pd.DataFrame) -> Iterator[Figure]:
    given = [attack.timeout_s for attack in findings.attacks("forgery") if attack.eps != "minimal"]
    for first, part in by_configuration(frame):
        summary = forgery_summary(part)
        if not summary["signatures"].any():
            continue
        yield figure(
            "forgery",
            f"-{slug(first)}",
            partial(forgery_chart, part),
            findings.origin(part),
            summary,
            configuration=configuration(first),
            instances=ranged(part["instances"]),
            signatures=counted(summary["signatures"].max(), "signature"),
            repeats=counted(summary["repeats"].max(), "repeat"),
            limit=ranged(given) if given else "no",
        )


def forgery_chart(frame: pd.DataFrame) -> Chart:
    """Draw forged set sizes over eps for one configuration, a column of two panels for each engine."""
    summary, each = forgery_summary(frame), with_pending(frame)
    top = max([float(frame["instances"].max()), *frame["trigger_size"].dropna().astype(float)])
    engines = list(summary.groupby("engine", sort=True))
    width = WIDTH / len(engines) - 45
    total = {name: f"total_{name}" for name in FILLS}
    x = alt.X("eps:O", title="eps", axis=alt.Axis(labelAngle=0))
    share = alt.Axis(format="%", tickCount=2)
    y = alt.Y("amount:Q", title="Queries", stack="normalize", axis=share)

    def sizes(engine: str, rows: pd.DataFrame) -> Chart:
        begun = rows[rows["signatures"] > 0]
        own = each[(each["engine"] == engine) & (each["ended"] > 0)]
        mean, maximum, possible = distances.LINES
        n = begun["signatures"] * begun["repeats"]
        lines = [
            size_line(mean, begun["eps"], begun["forged_mean"], begun["low"], begun["high"], n=n),
            size_line(maximum, begun["eps"], begun["forged_max"], n=n),
            *(
                size_line(f"signature {place}", part["eps"], part["forged"])
                for place, part in own.groupby(["repeat", "signature"])
            ),
        ]
        if begun["undecided"].any():
            lines.append(size_line(possible, begun["eps"], begun["possible_mean"], n=n))
        size = pd.to_numeric(rows["trigger_size"]).astype(float).max()
        domain = alt.Scale(domain=[0, top])
        panel = distances.sizes_panel(pd.concat(lines), size, alt.Axis(), is_step=False, scale=domain)
        return panel.properties(width=width, height=230, title=f"engine {engine}")

    above = alt.hconcat(*[sizes(str(engine), rows) for engine, rows in engines])
    below = alt.hconcat(
        *[
            stack(rows, "eps", total, FILLS, title="eps ").encode(x=x, y=y).properties(width=width, height=90)
            for _, rows in engines
        ]
    )
    return alt.vconcat(
        above.resolve_scale(color="shared", shape="shared", strokeDash="shared"),
        below.resolve_scale(color="shared"),
    ).resolve_scale(color="independent", shape="independent", strokeDash="independent")
