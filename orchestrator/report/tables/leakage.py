"""Leakage as tables."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.report import cells
from orchestrator.report.summaries import FindingSummary, FormSummary
from orchestrator.report.tables.columns import SUMMARY_PLACE, over

FORMS = {"standard": "standard (honest control)"}
"""Forms of a forest that want another name."""


def _form(name: str) -> cells.Cell:
    return cells.Cell(FORMS.get(name, name))


def forms_table(summaries: Sequence[FormSummary]) -> cells.Table:
    """Return what each form of the model file gives away."""
    headings: list[cells.Column] = [*SUMMARY_PLACE, ("Form", lambda row: _form(row.form))]
    columns: list[cells.Column] = [
        ("Forests", lambda row: cells.count(row.forests)),
        ("Leaking a secret", lambda row: cells.count(row.leaking)),
        ("Worst", lambda row: cells.Cell(row.severity)),
        ("Giving bits", lambda row: cells.count(0 if row.bits is None else row.bits.n)),
        over("Bits given", "bits", cells.rate, summaries),
        ("k true", lambda row: cells.unless_missing(row.trigger_size, cells.count)),
        ("Telling k", lambda row: cells.count(row.sizes_told)),
        ("Telling it right", lambda row: cells.count(row.sizes_right)),
        over("Trigger rows found", "triggers_found", cells.mean, summaries),
        over("Others marked", "others_found", cells.mean, summaries),
    ]
    return cells.make_table(
        "leakage-table",
        "What the model file gives away in each form: share of the signature up to complement, number of "
        "trigger rows k, and the training rows that it marks as trigger rows",
        headings,
        columns,
        summaries,
    )


def findings_table(summaries: Sequence[FindingSummary]) -> cells.Table:
    """Return each finding with how to mend it."""
    headings: list[cells.Column] = [
        *SUMMARY_PLACE,
        ("Form", lambda row: _form(row.form)),
        ("Finding", lambda row: cells.Cell(row.finding)),
    ]
    columns: list[cells.Column] = [
        ("Severity", lambda row: cells.Cell(row.severity)),
        ("Forests with it", lambda row: cells.count(row.found)),
        ("Forests in all", lambda row: cells.count(row.forests)),
        ("What it says (first such forest)", lambda row: cells.prose(row.detail)),
        ("How to mend it", lambda row: cells.prose(row.remedy)),
    ]
    return cells.make_table(
        "findings-table", "Every finding, the worst first in each form", headings, columns, summaries
    )
