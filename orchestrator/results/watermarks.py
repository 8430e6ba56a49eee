"""Read the results of embeddings and of attacks other than forgery, and the curves inside them."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from orchestrator.results.columns import GRID
from orchestrator.results.rows import expanded, frame_of, place, results_of
from orchestrator.store.database import Store
from wm.attacks import registry
from wm.attacks.base import Attack, AttackRow
from workers.jobs import JobKind


def accuracy(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return accuracies and cost of each embedding, next to its honest forests."""
    honest = {row.repeat: row.result for row in results_of(store, campaign_id, JobKind.BASELINE)}
    rows = []
    for row in results_of(store, campaign_id, JobKind.EMBED):
        rounds = row.result["rounds_right"] + row.result["rounds_wrong"]
        cost = {"rounds": rounds, "seconds": row.timings["embed"]}
        rows.append(place(row) | honest[row.repeat] | row.result | cost)
    return frame_of(rows, "accuracy")


def attack_rows(store: Store, campaign_id: int, kind: str) -> pd.DataFrame:
    """Return the rows of an attack with their coordinates in the grid, or its aggregated rows.

    Of an attack whose package is not installed here: the rows as they are.
    """
    if kind not in registry.kinds():
        return pd.DataFrame(expanded(store, campaign_id, kind))
    attack = registry.attack(kind)
    if attack.aggregate is None:
        return frame_of(expanded(store, campaign_id, kind), kind)
    return frame_of([row.model_dump() for row in _aggregated(store, campaign_id, attack)], kind)


def alarms(store: Store, campaign_id: int) -> list[str]:
    """Return a line for each result of an attack that makes the campaign's verdict negative."""
    return [
        alarm
        for attack in registry.attacks()
        if attack.alarms is not None
        for alarm in attack.alarms(_aggregated(store, campaign_id, attack))
    ]


def _aggregated(store: Store, campaign_id: int, attack: Attack) -> Sequence[AttackRow]:
    # Values that a result of an older version holds once for all its rows belong to each.
    rows = [
        {name: value for name, value in found.result.items() if not isinstance(value, list)} | inner
        for found in results_of(store, campaign_id, attack.kind)
        for inner in found.result["rows"]
    ]
    parsed = [attack.row.model_validate(row) for row in rows]
    return parsed if attack.aggregate is None else attack.aggregate(parsed)


def spectra(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return the vote spectra: grid, mode, `strengths`, and for each tree its `scores` and `bits`."""
    rows = expanded(store, campaign_id, "detection", "spectra")
    return pd.DataFrame(rows, columns=[*GRID, "mode", "strengths", "scores", "bits"])


def budget_curves(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return the known bits of the signature by method and number of trigger queries, from 1."""
    rows = [row | point for row in expanded(store, campaign_id, "suppression") for point in row["budget"]]
    names = ["trigger_queries", "bits", "low", "high", "null_bits", "spotted"]
    return pd.DataFrame(rows, columns=[*GRID, "method", *names])


def roc_curves(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return the corners of the suppression ROC curves: grid, method, false and true positive rate."""
    rates = ["false_positive_rate", "true_positive_rate"]
    curves = pd.DataFrame(expanded(store, campaign_id, "suppression"), columns=[*GRID, "method", *rates])
    return curves.explode(rates, ignore_index=True).astype(dict.fromkeys(rates, float))
