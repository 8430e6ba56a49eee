"""A planned job, its place in the grid, and its content key."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from workers.jobs.base import Parameters
from workers.jobs.kinds import KINDS


@dataclass(frozen=True)
class DataFacts:
    """Rows after the split, hash of the data file (None: a named data set), notes to show, and classes."""

    rows_train: int
    rows_test: int
    file_sha256: str | None
    notes: tuple[str, ...] = ()
    classes: int = 2


@dataclass(frozen=True)
class GridPoint:
    """A point of the grid; None if a coordinate does not apply, as eps in a search for minimal distances."""

    scheme: str | None = None
    trigger_share: float | None = None
    ones_share: float | None = None
    repeat: int | None = None
    engine: str | None = None
    signature: int | None = None
    eps: float | None = None


@dataclass(frozen=True)
class PlannedJob:
    """A job before it is stored."""

    key: str
    """Content key, hex."""
    kind: str
    parameters: dict[str, Any] = field(hash=False)
    """JSON-ready data."""
    needs: tuple[str, ...]
    """Content keys of the jobs that must be done first."""
    cell: GridPoint
    """Its point in the campaign's grid; not part of the key."""
    weight: int
    """Share of the progress bar: the number of queries, 1 for other kinds."""
    helped_by: tuple[tuple[str, ...], ...] = ()
    """Chains of content keys of jobs whose answers may imply answers of this one, the most informative first.
    The job waits for the first of each chain that comes before it in the plan or the store, however that one
    ends. Not part of the key: campaigns share a job whatever other jobs they have."""


def make_job(
    kind: str, parameters: Parameters, cell: GridPoint, *needs: PlannedJob, weight: int = 1
) -> PlannedJob:
    """Return a job that needs others, with its content key."""
    data = parameters.model_dump(mode="json")
    keys = tuple(sorted(needed.key for needed in needs))
    content = {"kind": kind, "version": KINDS[kind].version, "parameters": data, "needs": keys}
    key = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return PlannedJob(key, kind, data, keys, cell, weight)
