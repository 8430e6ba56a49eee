"""Results as the tables of the page: one module for each section.

Columns of means and spreads, and of the place in the grid, are those of `columns`.
"""

from orchestrator.report.tables.calibration import calibration_table
from orchestrator.report.tables.detection import (
    detection_table,
    detections_table,
    guesses_table,
    presence_table,
)
from orchestrator.report.tables.embedding import accuracy_table, embeddings_table, verification_table
from orchestrator.report.tables.forgery import distances_table, forgery_table, sizes_table, undecided_table
from orchestrator.report.tables.free_forgery import free_forgery_table
from orchestrator.report.tables.leakage import findings_table, forms_table
from orchestrator.report.tables.modification import modification_table
from orchestrator.report.tables.suppression import budget_table, filter_table, suppression_table

__all__ = [
    "accuracy_table",
    "budget_table",
    "calibration_table",
    "detection_table",
    "detections_table",
    "distances_table",
    "embeddings_table",
    "filter_table",
    "findings_table",
    "forgery_table",
    "forms_table",
    "free_forgery_table",
    "guesses_table",
    "modification_table",
    "presence_table",
    "sizes_table",
    "suppression_table",
    "undecided_table",
    "verification_table",
]
