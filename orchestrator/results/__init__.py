"""Read results from the store as data frames.

`frame` returns a result of a campaign, with fixed columns in a fixed order (`COLUMNS`).
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from orchestrator.results.campaign import costs, fingerprint, jobs
from orchestrator.results.columns import COLUMNS
from orchestrator.results.forging import distances, forgery
from orchestrator.results.rows import (
    accuracy,
    alarms,
    attack_rows,
    budget_curves,
    first_result,
    roc_curves,
    spectra,
)
from orchestrator.results.schemes import scoreboard
from orchestrator.store.database import Store

__all__ = ["COLUMNS", "alarms", "fingerprint", "first_result", "frame"]

_OWN: dict[str, Callable[[Store, int], pd.DataFrame]] = {
    "accuracy": accuracy,
    "forgery": forgery,
    "distances": distances,
    "jobs": jobs,
    "costs": costs,
    "spectra": spectra,
    "roc-curves": roc_curves,
    "budget-curves": budget_curves,
    "schemes": scoreboard,
}
"""Results with their own query; all others are the rows of an attack."""


def frame(store: Store, campaign_id: int, name: str) -> pd.DataFrame:
    """Return a result of a campaign by its name: a key of `COLUMNS`, or the curves of an attack."""
    query = _OWN.get(name)
    return attack_rows(store, campaign_id, name) if query is None else query(store, campaign_id)
