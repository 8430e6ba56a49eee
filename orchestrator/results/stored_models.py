"""Read the forests, claims and rows of a campaign from the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from orchestrator.errors import NotFoundError
from orchestrator.results.rows import first_result
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from wm.claims.claim import Claim, parse_claim
from wm.datasets import Split
from wm.forest import Forest
from workers.jobs.kinds import JobKind
from workers.jobs.owner import BaselineResult, EmbedResult, SplitResult


class Place(NamedTuple):
    """Coordinates of a watermark in the grid; fields as the columns of result frames."""

    scheme: str
    trigger_share: float
    ones_share: float
    repeat: int


@dataclass(frozen=True, eq=False)
class Watermarked:
    """A released watermarked forest, its claim, and the honest standard forest of the same repeat."""

    forest: Forest
    claim: Claim
    standard: Forest


class StoredModels:
    """Reads the models of a campaign; raises `NotFoundError` for those that do not exist yet."""

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
        """Return the watermark at a point of the grid; the last one is cached."""
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
        found = first_result(self._store, self._campaign_id, kind, where)
        if found is None:
            at = "".join(f", {name} {value}" for name, value in where.items())
            raise NotFoundError(f"campaign {self._campaign_id} has no result of a job {kind.value}{at} yet")
        return found
