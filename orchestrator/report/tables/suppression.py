"""Suppression as tables."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.report import cells
from orchestrator.report.summaries import BudgetSummary, SuppressionSummary
from orchestrator.report.tables.columns import SUMMARY_PLACE, over, spread_column

_HEADINGS: list[cells.Column] = [*SUMMARY_PLACE, ("Method", lambda row: cells.Cell(row.method))]


def suppression_table(summaries: Sequence[SuppressionSummary]) -> cells.Table:
    """Return how well trigger queries are spotted, over repeats."""
    columns: list[cells.Column] = [
        ("n (repeats)", lambda row: cells.count(row.auc.n)),
        ("Trigger queries", lambda row: cells.count(row.triggers)),
        ("Ordinary queries", lambda row: cells.count(row.ordinary)),
        over("AUC", "auc", cells.area, summaries),
        over("Spotted at 1% FPR", "tpr_at_1pct_fpr", cells.rate, summaries),
    ]
    return cells.make_table(
        "suppression-table",
        "Telling trigger queries from ordinary ones by their votes",
        _HEADINGS,
        columns,
        summaries,
    )


def filter_table(summaries: Sequence[SuppressionSummary]) -> cells.Table:
    """Return what a filter built on each method does to the claim and to ordinary users."""
    columns: list[cells.Column] = [
        ("n (repeats)", lambda row: cells.count(row.auc.n)),
        over("Triggers spotted", "triggers_spotted", cells.rate, summaries),
        over("Ordinary queries touched", "ordinary_touched", cells.rate, summaries),
        over("Ordinary votes changed", "ordinary_votes_changed", cells.rate, summaries),
        over("p before", "log10_p_before", cells.log10_p, summaries, centre="median"),
        over("p after", "log10_p_after", cells.log10_p, summaries, centre="median"),
        ("Forests with queries spotted", lambda row: cells.count(0 if row.bits is None else row.bits.n)),
        over("Signature read off them", "bits", cells.rate, summaries),
        spread_column("Unrelated guess (mean)", "null_bits", "mean", cells.rate),
    ]
    return cells.make_table(
        "filter-table",
        "The filter: spotted queries get the majority's answer from every tree; what it leaves of the claim, "
        "what it costs ordinary users, and the share of the signature that the spotted queries give away",
        _HEADINGS,
        columns,
        summaries,
    )


def budget_table(summaries: Sequence[BudgetSummary]) -> cells.Table:
    """Return how much of the signature is known after each number of trigger queries."""
    columns: list[cells.Column] = [
        ("Trigger queries", lambda row: cells.count(row.trigger_queries)),
        ("n (repeats)", lambda row: cells.count(row.bits.n)),
        ("Bits known (mean)", lambda row: cells.rate(row.bits.mean)),
        ("Bits known, any order (lowest)", lambda row: cells.rate(row.low)),
        ("Bits known, any order (highest)", lambda row: cells.rate(row.high)),
        ("Unrelated guess (mean)", lambda row: cells.rate(row.null_bits)),
        ("Queries suspected so far (mean)", lambda row: cells.mean(row.spotted)),
    ]
    return cells.make_table(
        "budget-table",
        "Share of the signature known, up to complement, after each number of trigger queries",
        _HEADINGS,
        columns,
        summaries,
    )
