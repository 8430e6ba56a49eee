"""Everything that a report says about one campaign, read from the store once."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from orchestrator import results
from orchestrator.spec import CampaignSpec, ForgerySpec
from orchestrator.store.campaigns import CampaignRecord, Progress, progress
from orchestrator.store.database import Store
from wm.attacks.detection import Measure
from workers.jobs import JobKind, SplitResult


@dataclass(frozen=True)
class Findings:
    """A campaign and its results.

    Attributes
    ----------
    record, spec, progress
        The campaign, its parsed specification, and how far it is.
    split
        Rows, features and classes; None until the data were split.
    accuracy, detection, suppression, roc_curves, forgery, jobs
        Frames of `orchestrator.results`.
    fingerprint
        See `orchestrator.results.fingerprint`.
    """

    record: CampaignRecord
    spec: CampaignSpec
    progress: Progress
    split: SplitResult | None
    accuracy: pd.DataFrame
    detection: pd.DataFrame
    suppression: pd.DataFrame
    roc_curves: pd.DataFrame
    forgery: pd.DataFrame
    jobs: pd.DataFrame
    fingerprint: str

    @property
    def repeats(self) -> int:
        """Number of repeats that were planned."""
        return self.spec.embedding.repeats

    @property
    def time_limits(self) -> tuple[float, ...]:
        """Time limits of forgery queries in seconds, one for each forgery attack."""
        return tuple(attack.timeout_s for attack in self.spec.attack if isinstance(attack, ForgerySpec))

    @property
    def dataset(self) -> str:
        """Name of the data set, or its file."""
        return str(self.spec.dataset.name or self.spec.dataset.path)

    def asks_for(self, kind: JobKind) -> bool:
        """Return whether the campaign has any job of a kind."""
        return bool((self.jobs["kind"] == kind.value).any())


def gather(store: Store, record: CampaignRecord) -> Findings:
    """Read what a report needs."""
    return Findings(
        record=record,
        spec=record.parsed(),
        progress=progress(store, record.id),
        split=_split(store, record.id),
        accuracy=results.accuracy(store, record.id),
        detection=_of_the_paper(results.detection(store, record.id)),
        suppression=results.suppression(store, record.id),
        roc_curves=results.roc_curves(store, record.id),
        forgery=results.forgery(store, record.id).dropna(subset="eps").reset_index(drop=True),
        jobs=results.jobs(store, record.id),
        fingerprint=results.fingerprint(store, record.id),
    )


def _of_the_paper(detection: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the paper's own strategies."""
    return detection[detection["measure"].isin([measure.value for measure in Measure])].reset_index(drop=True)


def _split(store: Store, campaign_id: int) -> SplitResult | None:
    result = results.first_result(store, campaign_id, JobKind.SPLIT)
    return None if result is None else SplitResult.model_validate(result)
