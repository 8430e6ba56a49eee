"""What the campaigns of a reproduction found, read from the store once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from orchestrator import results
from orchestrator.errors import OutputError
from orchestrator.report.data import Findings
from orchestrator.results.forged_sets import forged_sets
from orchestrator.results.stored_models import StoredModels
from orchestrator.store.campaigns import CampaignRecord
from orchestrator.store.database import Store
from research.reproduction.published import DATASETS, ONES_SHARE, TRIGGER_SHARE, Setting
from workers.jobs.kinds import JobKind
from workers.jobs.owner import TuneResult


@dataclass(frozen=True, eq=False)
class Run:
    """One campaign on one of the paper's data sets."""

    setting: Setting  # the data set as published
    findings: Findings  # all frames
    forged: pd.DataFrame  # of `orchestrator.results.forged_sets.forged_sets`
    tuned: TuneResult | None  # what its grid search chose
    models: StoredModels

    @property
    def name(self) -> str:
        """The campaign's name."""
        return self.findings.record.name

    @property
    def training(self) -> str:
        """How its trees were made to fit."""
        return self.findings.spec.embedding.training

    @property
    def seconds(self) -> float:
        """Time that its jobs took, one after the other; jobs shared with other campaigns count in each."""
        return float(self.findings.frame("jobs")["seconds"].sum())


def read_runs(store: Store, records: Sequence[CampaignRecord]) -> list[Run]:
    """Read some campaigns, in the order of the paper's data sets, those with most repeats first.

    Raises
    ------
    OutputError
        A campaign on another data set.
    """
    settings = {setting.dataset: setting for setting in DATASETS}
    runs = []
    for record in records:
        name = record.parsed().dataset.name
        if name not in settings:
            raise OutputError(
                f"campaign {record.name}: its data set is none of the paper's ({', '.join(settings)}): "
                "leave it out"
            )
        runs.append(_read(store, record, settings[name]))
    order = list(settings.values())
    return sorted(runs, key=lambda run: (order.index(run.setting), -run.findings.repeats))


def _read(store: Store, record: CampaignRecord, setting: Setting) -> Run:
    tuned = results.first_result(store, record.id, JobKind.TUNE)
    return Run(
        setting=setting,
        findings=Findings(store, record),
        forged=forged_sets(store, record.id),
        tuned=None if tuned is None else TuneResult.model_validate(tuned),
        models=StoredModels(store, record.id),
    )


def at_published_point(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the watermarks that the paper attacks."""
    return frame[(frame["trigger_share"] == TRIGGER_SHARE) & (frame["ones_share"] == ONES_SHARE)]
