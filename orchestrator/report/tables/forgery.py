"""Forgery as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from orchestrator.report import cells
from orchestrator.report.grid import Configuration
from orchestrator.report.summaries import ForgerySummary, SizeCurve, Spread, with_pending
from orchestrator.report.tables.columns import FRAME_PLACE, SUMMARY_PLACE, over, spread_column
from orchestrator.report.wording import MISSING


def _of_true_size(row: ForgerySummary, which: str) -> cells.Cell:
    return (
        cells.Cell(MISSING)
        if row.forged is None
        else _share_of_true(getattr(row.forged, which), row.trigger_size)
    )


def _share_of_true(size: float, trigger_size: int | None) -> cells.Cell:
    return cells.rate(size / trigger_size) if trigger_size else cells.Cell(MISSING)


_ENGINE_AND_EPS: list[cells.Column] = [
    *SUMMARY_PLACE,
    ("Engine", lambda row: cells.Cell(row.engine)),
    ("eps", lambda row: cells.setting(row.eps)),
]


def forgery_table(summaries: Sequence[ForgerySummary]) -> cells.Table:
    """Return forged set sizes over signatures and repeats, and what became of the queries."""
    columns: list[cells.Column] = [
        ("Signatures", lambda row: cells.count(row.signatures)),
        ("Repeats", lambda row: cells.count(row.repeats)),
        ("True size", lambda row: cells.unless_missing(row.trigger_size, cells.count)),
        spread_column("Forged (mean)", "forged", "mean", cells.mean),
        spread_column("Forged (sd)", "forged", "sd", lambda sd: cells.Cell(f"{sd:.2f}", sd)),
        spread_column("Forged (median)", "forged", "median", cells.mean),
        spread_column("Forged (most)", "forged", "most", cells.count),
        ("Mean (% of true size)", lambda row: _of_true_size(row, "mean")),
        ("Most (% of true size)", lambda row: _of_true_size(row, "most")),
        spread_column("Mean if all undecided were forged", "most_possible", "mean", cells.mean),
        ("Queries", lambda row: cells.count(row.instances)),
        ("forged", lambda row: cells.count(row.total_forged)),
        ("impossible", lambda row: cells.count(row.impossible)),
        ("timeout", lambda row: cells.count(row.timeout)),
        ("memout", lambda row: cells.count(row.memout)),
        ("error", lambda row: cells.count(row.error)),
        ("pending", lambda row: cells.count(row.pending)),
        ("Followed from another eps", lambda row: cells.count(row.followed)),
        ("Solving (s, total)", lambda row: cells.duration(row.seconds_total)),
        spread_column("Solving of a signature (s, median)", "seconds", "median", cells.duration),
    ]
    return cells.make_table(
        "forgery-table",
        "Forged trigger sets by engine and eps, over attackers' signatures and repeats; queries by outcome",
        _ENGINE_AND_EPS,
        columns,
        summaries,
    )


def undecided_table(frame: pd.DataFrame) -> cells.Table:
    """Return which signatures have queries without a decision."""
    rows = with_pending(frame) if not frame.empty else frame.assign(pending=[])
    rows = rows[rows[["timeout", "memout", "error", "pending"]].sum(axis=1) > 0]
    headings: list[cells.Column] = [
        *FRAME_PLACE,
        ("Engine", lambda row: cells.Cell(str(row.engine))),
        ("eps", lambda row: cells.Cell(f"{row.eps:g}", float(row.eps))),
        ("Signature", lambda row: cells.count(row.signature)),
    ]
    columns: list[cells.Column] = [
        ("Queries", lambda row: cells.count(row.instances)),
        ("forged", lambda row: cells.count(row.forged)),
        ("impossible", lambda row: cells.count(row.impossible)),
        ("timeout", lambda row: cells.count(row.timeout)),
        ("memout", lambda row: cells.count(row.memout)),
        ("error", lambda row: cells.count(row.error)),
        ("pending", lambda row: cells.count(row.pending)),
        ("Slowest (s)", lambda row: cells.unless_missing(row.slowest_seconds, cells.duration)),
    ]
    return cells.make_table(
        "undecided-table",
        "Signatures with forgery queries that have no decision",
        headings,
        columns,
        rows.itertuples(),
    )


PLACES = tuple(step / 10 for step in range(11))
"""Distances at which a table gives the sizes of a curve."""


@dataclass(frozen=True)
class _Sizes:
    """A point of a curve of sizes."""

    configuration: Configuration
    engine: str
    trigger_size: int | None
    signatures: int
    eps: float
    known: Spread
    possible: Spread


def sizes_table(curves: Sequence[SizeCurve], cap: float) -> cells.Table:
    """Return the sizes of forged sets at some distances, read off the curves."""
    rows = [
        _Sizes(
            configuration=curve.configuration,
            engine=curve.engine,
            trigger_size=curve.trigger_size,
            signatures=len(curve.known),
            eps=eps,
            known=Spread.of(curve.at(eps)[0]),
            possible=Spread.of(curve.at(eps)[1]),
        )
        for curve in curves
        for eps in sorted({*(place for place in PLACES if place < cap), cap})
    ]
    columns: list[cells.Column] = [
        ("n (signatures, all repeats)", lambda row: cells.count(row.signatures)),
        ("True size", lambda row: cells.unless_missing(row.trigger_size, cells.count)),
        over("Forged", "known", cells.mean, rows),
        ("Forged (10% quantile)", lambda row: cells.mean(row.known.low)),
        ("Forged (90% quantile)", lambda row: cells.mean(row.known.high)),
        ("Mean (% of true size)", lambda row: _share_of_true(row.known.mean, row.trigger_size)),
        ("Most (% of true size)", lambda row: _share_of_true(row.known.most, row.trigger_size)),
        ("Mean if all undecided were forged", lambda row: cells.mean(row.possible.mean)),
    ]
    return cells.make_table(
        "sizes-table",
        "Forged trigger sets at every eps, from the least distance of each instance",
        _ENGINE_AND_EPS,
        columns,
        rows,
    )


def distances_table(curves: Sequence[SizeCurve]) -> cells.Table:
    """Return what became of the searches for least distances."""
    columns: list[cells.Column] = [
        ("Signatures", lambda row: cells.count(row.signatures)),
        ("Repeats", lambda row: cells.count(row.repeats)),
        ("Instances", lambda row: cells.count(row.instances)),
        ("Least distance found", lambda row: cells.count(row.forged)),
        ("Impossible at any", lambda row: cells.count(row.impossible)),
        ("Stopped by a limit", lambda row: cells.count(row.censored)),
        ("pending", lambda row: cells.count(row.pending)),
        ("Parity with the true set from eps", lambda row: cells.unless_missing(row.parity(), cells.area)),
        ("Solving (s, total)", lambda row: cells.duration(row.seconds)),
    ]
    return cells.make_table(
        "distances-table",
        "Searches for the least distance of each instance, by what became of them; parity: the least eps at "
        "which a signature forges as many instances as the true trigger set has rows",
        [*SUMMARY_PLACE, ("Engine", lambda row: cells.Cell(row.engine))],
        columns,
        curves,
    )
