"""From the store to data frames: the only place that aggregates.

Each function returns one frame for one campaign, with fixed columns in a fixed order (`COLUMNS`), a row for
each point of the grid, and no value that is not in the store.
"""

from orchestrator.results.campaign import fingerprint, first_result, jobs
from orchestrator.results.columns import COLUMNS
from orchestrator.results.curves import budget_curves, roc_curves, spectra
from orchestrator.results.forging import distances, forgery
from orchestrator.results.watermarks import (
    accuracy,
    calibration,
    detection,
    free_forgery,
    leakage,
    modification,
    suppression,
)

__all__ = [
    "COLUMNS",
    "accuracy",
    "budget_curves",
    "calibration",
    "detection",
    "distances",
    "fingerprint",
    "first_result",
    "forgery",
    "free_forgery",
    "jobs",
    "leakage",
    "modification",
    "roc_curves",
    "spectra",
    "suppression",
]
