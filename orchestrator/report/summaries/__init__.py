"""Frames boiled down over repeats, signatures and tries: what figures draw and tables print. Pure.

One module for each kind of result; `spread` has the numbers that all of them give of a sample.
"""

from orchestrator.report.summaries.accuracy import AccuracySummary, accuracy_summaries, points
from orchestrator.report.summaries.detection import (
    DetectionSummary,
    GuessSummary,
    PresenceSummary,
    detection_summaries,
    guess_summaries,
    presence_summaries,
)
from orchestrator.report.summaries.distances import SizeCurve, size_curves
from orchestrator.report.summaries.forgery import (
    UNDECIDED,
    ForgerySummary,
    forgery_summaries,
    with_pending,
)
from orchestrator.report.summaries.free_forgery import FreeForgerySummary, free_forgery_summaries
from orchestrator.report.summaries.leakage import (
    FindingSummary,
    FormSummary,
    finding_summaries,
    form_summaries,
)
from orchestrator.report.summaries.modification import ModificationSummary, modification_summaries
from orchestrator.report.summaries.spread import HIGH, LOW, Spread
from orchestrator.report.summaries.suppression import (
    BudgetSummary,
    SuppressionSummary,
    budget_summaries,
    suppression_summaries,
)

__all__ = [
    "HIGH",
    "LOW",
    "UNDECIDED",
    "AccuracySummary",
    "BudgetSummary",
    "DetectionSummary",
    "FindingSummary",
    "ForgerySummary",
    "FormSummary",
    "FreeForgerySummary",
    "GuessSummary",
    "ModificationSummary",
    "PresenceSummary",
    "SizeCurve",
    "Spread",
    "SuppressionSummary",
    "accuracy_summaries",
    "budget_summaries",
    "detection_summaries",
    "finding_summaries",
    "forgery_summaries",
    "form_summaries",
    "free_forgery_summaries",
    "guess_summaries",
    "modification_summaries",
    "points",
    "presence_summaries",
    "size_curves",
    "suppression_summaries",
    "with_pending",
]
