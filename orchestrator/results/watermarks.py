"""What each watermarked forest, and each attack on it but forgery, came to."""

from __future__ import annotations

from dataclasses import asdict

import pandas as pd

from orchestrator.results.rows import expanded, frame_of, outcomes_of, place
from orchestrator.store.database import Store
from wm.attacks.calibration import calibrate
from workers.jobs import CalibrationResult, JobKind


def accuracy(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return accuracies and cost of each embedding, beside its honest forests.

    `seconds` is the embedding's own time, training of the honest forests left out; `rounds` is the fits of
    both kinds of trees together.
    """
    baselines = {
        row.repeat: row.result
        for row in outcomes_of(store, campaign_id, JobKind.BASELINE)
        if row.result is not None
    }
    rows = []
    for row in outcomes_of(store, campaign_id, JobKind.EMBED):
        if row.result is None:
            continue
        merged = baselines[row.repeat] | row.result
        merged["rounds"] = merged["rounds_right"] + merged["rounds_wrong"]
        merged["seconds"] = row.timings["embed"]
        rows.append(place(row) | merged)
    return frame_of(rows, "accuracy")


def detection(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return what each detection method read off each watermarked forest."""
    return frame_of(expanded(store, campaign_id, JobKind.DETECTION), "detection")


def suppression(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return how well each method spots trigger queries."""
    return frame_of(expanded(store, campaign_id, JobKind.SUPPRESSION), "suppression")


def leakage(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return what the files of each watermarked forest give away, in each form, and the honest one's."""
    return frame_of(expanded(store, campaign_id, JobKind.LEAKAGE), "leakage")


def free_forgery(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return what each freely forged trigger set is worth, and which rules of verification refuse it."""
    return frame_of(expanded(store, campaign_id, JobKind.FREE_FORGERY), "free_forgery")


def modification(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return what is left of each watermark, and of the accuracy, after each modification."""
    return frame_of(expanded(store, campaign_id, JobKind.MODIFICATION), "modification")


def calibration(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return how often each p-value of false claims was small, with exact intervals.

    Over the forests done so far: `trials` says how many these are.
    """
    populations: dict[str, dict[str, list[float]]] = {}
    for row in outcomes_of(store, campaign_id, JobKind.CALIBRATION):
        if row.result is None:
            continue
        found = CalibrationResult.model_validate(row.result)
        named = populations.setdefault(found.population, {})
        for p_values in found.rows:
            named.setdefault(p_values.name, []).extend(p_values.values)
    return frame_of([asdict(row) for row in calibrate(populations)], "calibration")
