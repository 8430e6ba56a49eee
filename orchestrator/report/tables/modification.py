"""Robustness as a table."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.report import cells
from orchestrator.report.summaries import ModificationSummary
from orchestrator.report.tables.columns import SUMMARY_PLACE, over


def modification_table(summaries: Sequence[ModificationSummary]) -> cells.Table:
    """Return what each modification leaves of accuracy and watermark, over repeats and tries."""
    headings: list[cells.Column] = [
        *SUMMARY_PLACE,
        ("Modification", lambda row: cells.Cell(row.modification)),
        ("Strength", lambda row: cells.Cell(row.strengths)),
    ]
    columns: list[cells.Column] = [
        ("n (forests)", lambda row: cells.count(row.bits.n)),
        over("Accuracy change, points", "accuracy_change", cells.points, summaries),
        over("Fidelity", "fidelity", cells.rate, summaries),
        over("Bits", "bits", cells.rate, summaries),
        ("Exact matches", lambda row: cells.count(row.exact)),
        over("p, votes", "log10_p", cells.log10_p, summaries, centre="median"),
        ("Null of p", lambda row: cells.Cell(", ".join(row.nulls))),
        over("p, vote shares", "log10_p_shares", cells.log10_p, summaries, centre="median"),
        over("Trees", "n_trees", cells.mean, summaries),
    ]
    return cells.make_table(
        "modification-table",
        "What each modification leaves of the accuracy and of the watermark, over repeats and tries",
        headings,
        columns,
        summaries,
    )
