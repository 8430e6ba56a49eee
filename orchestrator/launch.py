"""From a campaign file to a campaign in the store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from orchestrator.plan import DataFacts, PlannedJob, check_against_data, faults_against_data, plan
from orchestrator.provenance import provenance
from orchestrator.spec import CampaignSpec, DatasetSpec, read_spec
from orchestrator.spec.draft import Fault, is_whole
from orchestrator.store import launched
from orchestrator.store.campaigns import create_campaign
from orchestrator.store.database import Store
from wm import datasets
from wm.errors import DataError


def read_campaign(path: str | Path, *, profile: str | None = None) -> CampaignSpec:
    """Read a campaign file under a profile; a relative data file is looked for beside it first.

    Raises
    ------
    SpecError
        As in `read_spec`; what the data make impossible is told with the rest.
    """
    folder = Path(path).resolve().parent
    spec = read_spec(path, profile=profile, examine=lambda draft: _faults_against_data(draft, folder))
    return spec.model_copy(update={"dataset": _beside(spec.dataset, folder)})


def _beside(dataset: DatasetSpec, folder: Path) -> DatasetSpec:
    if dataset.path is None or not (folder / dataset.path).is_file():
        return dataset
    return dataset.model_copy(update={"path": str(folder / dataset.path)})


def _faults_against_data(draft: CampaignSpec, folder: Path) -> Iterator[Fault]:
    facts, dataset = None, getattr(draft, "dataset", None)
    if dataset is not None and is_whole(dataset):
        try:
            facts = data_facts(draft.model_copy(update={"dataset": _beside(dataset, folder)}))
        except DataError as reason:
            yield ("dataset", "name" if dataset.path is None else "path"), str(reason)
    yield from faults_against_data(draft, facts)


def data_facts(spec: CampaignSpec) -> DataFacts:
    """Load the campaign's data and return what planning must know of it.

    Raises
    ------
    DataError
        The data cannot be used.
    """
    source = spec.dataset.source()
    dataset = datasets.load(source)
    rows_train, rows_test = datasets.split_sizes(dataset, test_share=spec.dataset.test_share)
    return DataFacts(rows_train, rows_test, datasets.file_sha256(source))


def planned_jobs(spec: CampaignSpec) -> Iterator[PlannedJob]:
    """Return all jobs of a campaign one by one: there can be millions.

    Raises
    ------
    DataError, SpecError
        At once: the data cannot be used, or does not suit the campaign.
    """
    facts = data_facts(spec)
    check_against_data(spec, facts, what=spec.name)
    return plan(spec, facts)


def launch(store: Store, spec: CampaignSpec) -> int:
    """Bring the store's schema up to date, store the campaign unless it is there, and return its id.

    Jobs of it that were cancelled before, with this campaign or another, are taken up again.
    """
    jobs = planned_jobs(spec)
    store.upgrade()
    campaign_id = create_campaign(store, spec, jobs, provenance())
    launched.revive(store, campaign_id)
    return campaign_id
