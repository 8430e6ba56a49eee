"""Campaigns of made-up forgery batches that need no other job: all ready at once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from orchestrator.plan import Cell, PlannedJob
from orchestrator.spec import BATCH, parse_spec
from orchestrator.store.campaigns import create_campaign
from orchestrator.store.database import Store
from workers.jobs import ForgeryParameters, JobKind

SPEC = """
name = "{name}"
seed = 1
dataset = {{ name = "breast-cancer" }}
forest = {{ n_estimators = 12, max_depth = 4 }}
"""


def create(store: Store, jobs: int, *, name: str) -> int:
    """Store a campaign of so many batches and return its id."""
    return create_campaign(store, parse_spec(SPEC.format(name=name)), planned(jobs, name), {})


def planned(count: int, name: str) -> Iterator[PlannedJob]:
    """Yield batches, all of one point of the grid; other names give other jobs."""
    cell = Cell(
        scheme="paper", trigger_share=0.02, ones_share=0.5, repeat=0, engine="sat", signature=0, eps=0.5
    )
    for number in range(count):
        parameters = ForgeryParameters(
            engine="sat",
            signature=0,
            ones_share=0.5,
            eps=0.5,
            first=number * BATCH,
            count=BATCH,
            repeat=0,
            seed=1,
            timeout_s=1.0,
        )
        key = hashlib.sha256(f"{name} {number}".encode()).hexdigest()
        yield PlannedJob(key, JobKind.FORGERY, parameters.model_dump(mode="json"), (), cell, BATCH)
