"""A planned job, its place in the grid, and its content key."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from workers.jobs import KINDS, Parameters


@dataclass(frozen=True)
class DataFacts:
    """What planning must know of the data.

    Attributes
    ----------
    rows_train, rows_test
        Rows after the split.
    file_sha256
        Hash of the file behind the data set; None for a named one.
    """

    rows_train: int
    rows_test: int
    file_sha256: str | None


@dataclass(frozen=True)
class Cell:
    """A point of the grid; None where a coordinate does not apply, as eps where the least one is sought."""

    scheme: str | None = None
    trigger_share: float | None = None
    ones_share: float | None = None
    repeat: int | None = None
    engine: str | None = None
    signature: int | None = None
    eps: float | None = None


@dataclass(frozen=True)
class PlannedJob:
    """A job before it is stored.

    Attributes
    ----------
    key
        Content key, hex.
    kind, parameters
        What to do; parameters as JSON-ready data.
    needs
        Content keys of the jobs that must be done first.
    cell
        Where it belongs in the campaign's grid; not part of the key.
    weight
        Share of the progress bar: the number of queries, 1 for other kinds.
    helped_by
        Content keys of jobs of the plan from whose answers those of this one may follow: chains, each with
        those first that say most. Of each chain the first that is before this job, in the plan or in the
        store, is waited for, however it ends. Not part of the key: campaigns share a job whatever else they
        have.
    """

    key: str
    kind: str
    parameters: dict[str, Any] = field(hash=False)
    needs: tuple[str, ...]
    cell: Cell
    weight: int
    helped_by: tuple[tuple[str, ...], ...] = ()


def make_job(
    kind: str, parameters: Parameters, cell: Cell, *needs: PlannedJob, weight: int = 1
) -> PlannedJob:
    """Return a job that needs others, with its content key."""
    data = parameters.model_dump(mode="json")
    keys = tuple(sorted(needed.key for needed in needs))
    content = {"kind": kind, "version": KINDS[kind].version, "parameters": data, "needs": keys}
    key = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return PlannedJob(key, kind, data, keys, cell, weight)
