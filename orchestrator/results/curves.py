"""Read curves for figures: vote spectra, ROC curves, bits over queries."""

from __future__ import annotations

import pandas as pd

from orchestrator.results.columns import GRID
from orchestrator.results.rows import expanded, outcomes_of, place
from orchestrator.store.database import Store


def spectra(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return the vote spectra: grid, mode, `strengths`, and for each tree its `scores` and `bits`."""
    rows = [
        place(row) | spectrum
        for row in outcomes_of(store, campaign_id, "detection")
        if row.result is not None
        for spectrum in row.result["spectra"]
    ]
    return pd.DataFrame(rows, columns=[*GRID, "mode", "strengths", "scores", "bits"])


def budget_curves(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return the known bits of the signature by method and number of trigger queries, from 1."""
    rows = [
        {key: row[key] for key in (*GRID, "method")} | point
        for row in expanded(store, campaign_id, "suppression")
        for point in row["budget"]
    ]
    names = ["trigger_queries", "bits", "low", "high", "null_bits", "spotted"]
    return pd.DataFrame(rows, columns=[*GRID, "method", *names])


def roc_curves(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return the corners of the suppression ROC curves: grid, method, false and true positive rate."""
    rows = [
        {key: row[key] for key in (*GRID, "method")}
        | {"false_positive_rate": false_positive, "true_positive_rate": true_positive}
        for row in expanded(store, campaign_id, "suppression")
        for false_positive, true_positive in zip(
            row["false_positive_rate"], row["true_positive_rate"], strict=True
        )
    ]
    return pd.DataFrame(rows, columns=[*GRID, "method", "false_positive_rate", "true_positive_rate"])
