"""Everything that a report says about one campaign, read from the store once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from orchestrator import results
from orchestrator.report.images import ForgedImages, forged_images
from orchestrator.report.summaries.detection import PRESENCE
from orchestrator.spec import (
    CampaignSpec,
)
from orchestrator.store.campaigns import CampaignRecord, Progress, progress
from orchestrator.store.database import Store
from wm.attacks.detection import Measure
from workers.jobs import JobKind, SplitResult

FARTHEST = 1.0
"""Largest distance sought where a campaign file gives no cap: the whole domain."""


@dataclass(frozen=True)
class Findings:
    """A campaign and its results.

    Attributes
    ----------
    record, spec, progress
        The campaign, its parsed specification, and how far it is.
    split
        Rows, features and classes; None until the data were split.
    detection, guesses, presence
        The frame of `orchestrator.results.detection` in three: the paper's strategies; shapes and spectra;
        presence tests.
    forgery, least_forgery
        The frame of `orchestrator.results.forgery` in two: queries at given distances; and what was planned
        where the least distances were sought, whose answers are in `distances`.
    accuracy, leakage, spectra, suppression, roc_curves, budget_curves, distances, free_forgery, modification,
    calibration, jobs
        Frames of `orchestrator.results`.
    images
        Forged images; None if there are none.
    fingerprint
        See `orchestrator.results.fingerprint`.
    """

    record: CampaignRecord
    spec: CampaignSpec
    progress: Progress
    split: SplitResult | None
    accuracy: pd.DataFrame
    leakage: pd.DataFrame
    detection: pd.DataFrame
    guesses: pd.DataFrame
    presence: pd.DataFrame
    spectra: pd.DataFrame
    suppression: pd.DataFrame
    roc_curves: pd.DataFrame
    budget_curves: pd.DataFrame
    forgery: pd.DataFrame
    least_forgery: pd.DataFrame
    distances: pd.DataFrame
    free_forgery: pd.DataFrame
    modification: pd.DataFrame
    calibration: pd.DataFrame
    images: ForgedImages | None
    jobs: pd.DataFrame
    fingerprint: str

    @property
    def repeats(self) -> int:
        """Number of repeats that were planned."""
        return self.spec.embedding.repeats

    @property
    def time_limits(self) -> tuple[float, ...]:
        """Time limits in seconds of forgery queries at given distances, one for each forgery attack."""
        return tuple(attack.timeout_s for attack in self._forgeries if attack.eps != "minimal")

    @property
    def least_time_limits(self) -> tuple[float, ...]:
        """Time limits in seconds of searches for least distances, one for each forgery attack."""
        return tuple(attack.timeout_s for attack in self._forgeries if attack.eps == "minimal")

    @property
    def cap(self) -> float:
        """Largest distance up to which least ones were sought."""
        caps = [attack.cap for attack in self._forgeries if attack.eps == "minimal"]
        return max((FARTHEST if cap is None else cap for cap in caps), default=FARTHEST)

    @property
    def budget_orders(self) -> tuple[int, ...]:
        """Random orders behind the query-budget curves, one number for each suppression attack."""
        return tuple(attack.orders for attack in self._attacks("suppression"))

    @property
    def calibration_forests(self) -> dict[str, int]:
        """Forests of each population that calibration was asked to look at; none without calibration."""
        attacks = self._attacks("calibration")
        if not attacks:
            return {}
        asked = attacks[0]
        counts = {"honest": asked.honest, "other owners": asked.other_owners, PRESENCE: asked.presence}
        return {population: count for population, count in counts.items() if count}

    @property
    def dataset(self) -> str:
        """Name of the data set, or its file."""
        return str(self.spec.dataset.name or self.spec.dataset.path)

    @property
    def _forgeries(self) -> list[Any]:
        return self._attacks("forgery")

    def _attacks(self, kind: str) -> list[Any]:
        return [attack for attack in self.spec.attack if attack.kind == kind]

    def asks_for(self, kind: str) -> bool:
        """Return whether the campaign has any job of a kind."""
        return bool((self.jobs["kind"] == kind).any())


def gather(store: Store, record: CampaignRecord) -> Findings:
    """Read what a report needs."""
    split = _split(store, record.id)
    detection = results.frame(store, record.id, "detection")
    of_the_paper = detection["measure"].isin([measure.value for measure in Measure])
    of_presence = detection["measure"].astype(str).str.startswith(PRESENCE)
    forgery = results.frame(store, record.id, "forgery")
    least = forgery["eps"].isna()
    return Findings(
        record=record,
        spec=record.parsed(),
        progress=progress(store, record.id),
        split=split,
        accuracy=results.frame(store, record.id, "accuracy"),
        leakage=results.frame(store, record.id, "leakage"),
        detection=detection[of_the_paper].reset_index(drop=True),
        guesses=detection[~of_the_paper & ~of_presence].reset_index(drop=True),
        presence=detection[of_presence].reset_index(drop=True),
        spectra=results.spectra(store, record.id),
        suppression=results.frame(store, record.id, "suppression"),
        roc_curves=results.roc_curves(store, record.id),
        budget_curves=results.budget_curves(store, record.id),
        forgery=forgery[~least].reset_index(drop=True),
        least_forgery=forgery[least].reset_index(drop=True),
        distances=results.frame(store, record.id, "distances"),
        free_forgery=results.frame(store, record.id, "free-forgery"),
        modification=results.frame(store, record.id, "modification"),
        calibration=results.frame(store, record.id, "calibration"),
        images=forged_images(store, record.id, split),
        jobs=results.frame(store, record.id, "jobs"),
        fingerprint=results.fingerprint(store, record.id),
    )


def _split(store: Store, campaign_id: int) -> SplitResult | None:
    result = results.first_result(store, campaign_id, JobKind.SPLIT)
    return None if result is None else SplitResult.model_validate(result)
