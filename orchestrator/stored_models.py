"""The forests, claims and rows that a campaign's jobs made, read back from its store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import sqlalchemy as sa

from orchestrator.errors import NotFoundError
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.tables import campaign_job, cell, job, outcome
from wm.claims.claim import Claim, parse_claim
from wm.datasets import Split
from wm.forest import Forest
from workers.jobs import BaselineResult, EmbedResult, JobKind, SplitResult


class Place(NamedTuple):
    """A watermark's place in the grid; fields as the columns of result frames."""

    scheme: str
    trigger_share: float
    ones_share: float
    repeat: int


@dataclass(frozen=True, eq=False)
class Watermarked:
    """A watermark and what it is held against.

    Attributes
    ----------
    forest
        The model as released.
    claim
        The owner's.
    standard
        The honest standard forest of the same repeat, which has nothing to do with the watermark.
    """

    forest: Forest
    claim: Claim
    standard: Forest


class StoredModels:
    """Reads what a campaign made; what is not there yet raises `NotFoundError`."""

    def __init__(self, store: Store, campaign_id: int) -> None:
        self._store = store
        self._campaign_id = campaign_id
        self._ledger = StoreLedger(store)
        self._last = lru_cache(maxsize=1)(self._read)

    @cached_property
    def split(self) -> Split:
        """Training and test rows."""
        done = SplitResult.model_validate(self._result(JobKind.SPLIT, {}))
        return Split.from_bytes(self._ledger.artifact(done.split))

    @cached_property
    def trees(self) -> int:
        """Number of trees of each forest."""
        return BaselineResult.model_validate(self._result(JobKind.BASELINE, {})).n_estimators

    def watermarked(self, place: Place) -> Watermarked:
        """Return the watermark at a place of the grid; the one asked for last is at hand."""
        return self._last(place)

    def _read(self, place: Place) -> Watermarked:
        embedded = EmbedResult.model_validate(self._result(JobKind.EMBED, place._asdict()))
        baseline = BaselineResult.model_validate(self._result(JobKind.BASELINE, {"repeat": place.repeat}))
        return Watermarked(
            forest=Forest.from_bytes(self._ledger.artifact(embedded.forest)),
            claim=parse_claim(self._ledger.artifact(embedded.claim)),
            standard=Forest.from_bytes(self._ledger.artifact(baseline.standard)),
        )

    def _result(self, kind: JobKind, where: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result of the first done job of a kind in the cells that `where` names."""
        query = (
            sa.select(outcome.c.result)
            .join(campaign_job, campaign_job.c.job_id == outcome.c.job_id)
            .join(job, job.c.id == campaign_job.c.job_id)
            .join(cell, cell.c.id == campaign_job.c.cell_id)
            .where(
                campaign_job.c.campaign_id == self._campaign_id,
                job.c.kind == kind,
                outcome.c.result.is_not(None),
                *(cell.c[name] == value for name, value in where.items()),
            )
            .order_by(campaign_job.c.position)
            .limit(1)
        )
        with self._store.read() as connection:
            found = connection.execute(query).scalar_one_or_none()
        if found is None:
            at = "".join(f", {name} {value}" for name, value in where.items())
            raise NotFoundError(f"campaign {self._campaign_id} has no result of a job {kind.value}{at} yet")
        result: dict[str, Any] = found
        return result
