"""Freely forged trigger sets as a table."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.report import cells
from orchestrator.report.summaries import FreeForgerySummary
from orchestrator.report.tables.columns import SUMMARY_PLACE, over
from orchestrator.report.wording import listed


def rules(counts: Sequence[tuple[str, int]], made: int) -> str:
    """Return the rules that stop some of the sets, with how many each stops unless it is all."""
    return listed(name if count == made else f"{name} ({count} of {made})" for name, count in counts)


def _stopped(row: FreeForgerySummary, counts: Sequence[tuple[str, int]], refused: int) -> cells.Cell:
    if not row.made:
        return cells.prose("empty: no claim")
    if not refused:
        return cells.prose("nothing: it stands")
    some = "" if refused == row.made else f"; {row.made - refused} of {row.made} stand"
    return cells.prose(f"{rules(counts, row.made)}{some}")


def free_forgery_table(summaries: Sequence[FreeForgerySummary]) -> cells.Table:
    """Return what each kind of forged set is worth, and which rules refuse it."""
    headings: list[cells.Column] = [*SUMMARY_PLACE, ("Forged set", lambda row: cells.Cell(row.method))]
    columns: list[cells.Column] = [
        ("n (forests)", lambda row: cells.count(row.forests)),
        ("Sets with rows", lambda row: cells.count(row.made)),
        over("Size / k", "size_over_k", cells.mean, summaries),
        ("Stopped by", lambda row: _stopped(row, row.rules, row.refused)),
        (
            "Stopped by, had its commitment been published in time",
            lambda row: _stopped(row, row.rules_but_for_commitment, row.refused_but_for_commitment),
        ),
        over("Size", "size", cells.mean, summaries),
        over("Distinct cells", "distinct_cells", cells.mean, summaries),
        over("Mean distance", "mean_distance", cells.area, summaries),
        over("Largest distance", "max_distance", cells.area, summaries),
        over("Independent accuracy", "independent_accuracy", cells.rate, summaries),
        over("Ones", "ones_share", cells.rate, summaries),
        over("p of the claim", "log10_p", cells.log10_p, summaries, centre="median"),
    ]
    return cells.make_table(
        "free-forgery-table",
        "Trigger sets forged with a signature chosen after seeing the model: what each is worth, and the "
        "rules of verification that refuse it",
        headings,
        columns,
        summaries,
    )
