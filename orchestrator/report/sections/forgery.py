"""Forgery of signatures that were prescribed: sizes over eps, smallest distances, forged images."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt
import pandas as pd

from orchestrator.report import table
from orchestrator.report.charts import COLOURS, FAINT, INK, WIDTH, Chart, Figure, described, look, rule
from orchestrator.report.data import Findings, by_configuration, configuration, slug, summarise
from orchestrator.report.sections import distances, images
from orchestrator.report.sections.section import Shown
from orchestrator.report.table import FOREST, PLACE, Table, column, make_table, named
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

LINES = ("mean", "maximum", "mean, if all undecided were forged")

_GLOSSARY = (
    (
        "forged set size",
        "Number of test rows for which an instance within eps was found whose votes spell an attacker's "
        "signature. Forgery pays when it nears the size of the true trigger set.",
    ),
    (
        "forged, impossible, timeout, memout, error, pending",
        "Outcomes of a query: an instance was found and replayed on the model; there is provably none; the "
        "time limit, the memory limit or a fault ended it without a decision; it has no outcome yet, or "
        "never will because its job failed or is blocked. Undecided queries are not impossible ones.",
    ),
    (
        "followed from another eps",
        "A query that was not asked: what is forged at one eps is forged at every larger one, and what is "
        "impossible is so at every smaller one. Such queries count by their outcome, not in solving times.",
    ),
    (
        "smallest distance; censored",
        "The exact smallest eps at which an instance can be forged: one search answers every eps. Where a "
        "limit ended the search the distance is censored: the size of the forged set then lies between what "
        "is known and what could be.",
    ),
)


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
        Sums over all signatures planned: ``total_`` and an outcome, `instances`, `followed`, `solving`.
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
    caveat = (
        f"{undecided:,} of {counted(queries, 'forgery query', 'forgery queries')} have no decision (timeout, "
        "memout, error or pending): forged set sizes are lower limits there."
    )
    return Shown(
        "Can a false owner make a trigger set of their own for the model? Each query asks for one forged "
        "instance within eps of a test row, or for the nearest one.",
        (("Forgery", " ".join(texts)),),
        (*((caveat,) if undecided else ()), *distances.caveats(curves)),
        figures=(*_figures(findings, frame), *distances.figures(findings, curves), *images.figures(findings)),
        tables=(
            *(distances.tables(curves, distances.cap_of(findings)) if curves else ()),
            *_tables(summary),
            _undecided_table(frame),
        ),
        glossary=_GLOSSARY,
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
        size = summary["trigger_size"].dropna()
        values = {
            "mean": ("forged_mean", table.mean),
            "maximum": ("forged_max", table.count),
            "undecided": ("undecided", table.count),
            "queries": ("instances", table.count),
        }
        text = described("Forged set size over eps", summary, ["engine", "eps"], values)
        yield Figure(
            f"forgery-{slug(first)}",
            f"Forged trigger sets ({configuration(first)})",
            "Above: number of instances forged for an attacker's signature within eps (largest change of "
            f"any feature, within [0, 1]), out of {ranged(part['instances'])} tried for each "
            f"signature; {counted(summary['signatures'].max(), 'signature')} in "
            f"{counted(summary['repeats'].max(), 'repeat')}; faint: each signature; band: 10% to 90% of "
            "them; dashed: the true trigger set. Below: all queries by outcome; time limit "
            f"{ranged(given) if given else 'no'} s each. Queries without a decision (timeout, memout, "
            "error, pending) count as not forged in mean and maximum, which are lower limits wherever there "
            f"are any; another line counts them as forged. {findings.origin(part)}",
            text if size.empty else f"{text} True trigger set: {int(size.iloc[0])}.",
            forgery_chart(part),
        )


def forgery_chart(frame: pd.DataFrame) -> Chart:
    """Draw forged set sizes over eps for one configuration, a column of two panels for each engine."""
    summary, each = forgery_summary(frame), with_pending(frame)
    top = max([float(frame["instances"].max()), *frame["trigger_size"].dropna().astype(float)])
    engines = list(summary.groupby("engine", sort=True))
    width = WIDTH / len(engines) - 45
    x = alt.X("eps:Q", title="eps (largest change of any feature)", scale=alt.Scale(zero=False))
    title = "Forged set size (instances)"
    y = alt.Y("size:Q", title=title, scale=alt.Scale(domain=[0, top]))

    def sizes(engine: str, rows: pd.DataFrame) -> Chart:
        begun = rows[rows["signatures"] > 0]
        own = each[(each["engine"] == engine) & (each["ended"] > 0)]
        lines = pd.concat(
            begun[["eps"]].assign(line=name, size=begun[of])
            for name, of in zip(LINES, ("forged_mean", "forged_max", "possible_mean"), strict=True)
            if of != "possible_mean" or begun["undecided"].any()
        )
        size = rows["trigger_size"].dropna()
        base = alt.Chart(lines).encode(x=x, y=y)
        return alt.layer(
            alt.Chart(begun[["eps", "low", "high"]].astype(float))
            .mark_area(opacity=0.16, color=COLOURS[0])
            .encode(x=x, y=alt.Y("low:Q", title=title), y2="high:Q"),
            alt.Chart(own[["eps", "forged", "signature", "repeat"]].rename(columns={"forged": "size"}))
            .mark_line(strokeWidth=0.8, opacity=0.4, color=FAINT)
            .encode(x=x, y=y, detail=["signature:N", "repeat:N"]),
            base.mark_line().encode(**look("line", LINES, "color", "strokeDash")),
            base.mark_point(filled=True).encode(**look("line", LINES, "color", "shape")),
            *([] if size.empty else [rule(y=float(size.iloc[0]))]),
        ).properties(width=width, height=230, title=f"engine {engine}")

    above = alt.hconcat(*[sizes(str(engine), rows) for engine, rows in engines])
    below = alt.hconcat(*[_outcomes(rows).properties(width=width, height=90) for _, rows in engines])
    return alt.vconcat(
        above.resolve_scale(color="shared", shape="shared", strokeDash="shared"),
        below.resolve_scale(color="shared"),
    ).resolve_scale(color="independent", shape="independent", strokeDash="independent")


def _outcomes(rows: pd.DataFrame) -> Chart:
    long = pd.concat(
        pd.DataFrame({"eps": rows["eps"], "outcome": name, "order": place, "queries": rows[f"total_{name}"]})
        for place, name in enumerate(FILLS)
    )
    scale = alt.Scale(domain=list(FILLS), range=list(FILLS.values()))
    return (
        alt.Chart(long)
        .mark_bar(stroke=INK, strokeWidth=0.6)
        .encode(
            x=alt.X("eps:O", title="eps", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("queries:Q", title="Queries", stack="normalize", axis=alt.Axis(format="%", tickCount=2)),
            color=alt.Color("outcome:N", title=None, scale=scale),
            order=alt.Order("order:Q"),
        )
    )


def _tables(summary: pd.DataFrame) -> Iterator[Table]:
    headings = [*PLACE, named("Engine", "engine"), named("eps", "eps", table.setting)]

    yield make_table(
        "forgery-table",
        "Forged trigger sets by engine and eps, over attackers' signatures and repeats",
        [
            *headings,
            column("Signatures", "signatures", table.count),
            column("Repeats", "repeats", table.count),
            column("True size", "trigger_size", table.count),
            column("Forged (mean)", "forged_mean", table.mean),
            column("Forged (sd)", "forged_std", table.mean),
            column("Forged (median)", "forged_median", table.mean),
            column("Forged (max)", "forged_max", table.count),
            column("Mean (% of true size)", "mean_share", table.rate),
            column("Max (% of true size)", "share", table.rate),
            column("Mean if all undecided were forged", "possible_mean", table.mean),
        ],
        summary,
    )
    yield make_table(
        "queries-table",
        "Forgery queries by engine, eps and outcome, and the time they took",
        [
            *headings,
            column("Queries", "instances", table.count),
            *(column(name, f"total_{name}", table.count) for name in FILLS),
            column("Followed from another eps", "followed", table.count),
            column("Solving (s, total)", "solving", table.duration),
            column("Solving of a signature (s, median)", "seconds_median", table.duration),
        ],
        summary,
    )


def _undecided_table(frame: pd.DataFrame) -> Table:
    rows = with_pending(frame)
    return make_table(
        "undecided-table",
        "Signatures with forgery queries that have no decision",
        [
            *FOREST,
            named("Engine", "engine"),
            named("eps", "eps", table.setting),
            named("Signature", "signature", table.count),
            column("Queries", "instances", table.count),
            *(column(name, name, table.count) for name in FILLS),
            column("Slowest (s)", "slowest_seconds", table.duration),
        ],
        rows[rows["undecided"] > 0],
    )
