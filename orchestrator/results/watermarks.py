"""Read the results of embeddings and of attacks other than forgery."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from orchestrator.results.rows import expanded, frame_of, inner_rows, outcomes_of, place
from orchestrator.store.database import Store
from wm.attacks import registry
from wm.attacks.base import Attack, AttackRow
from workers.jobs import JobKind


def accuracy(store: Store, campaign_id: int) -> pd.DataFrame:
    """Return accuracies and cost of each embedding, next to its honest forests."""
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
    rows = [attack.row.model_validate(row) for row in inner_rows(store, campaign_id, attack.kind)]
    return rows if attack.aggregate is None else attack.aggregate(rows)
