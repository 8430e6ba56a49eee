"""Create a campaign in the store from a campaign file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from orchestrator.plan import DataFacts, PlannedJob, faults_against_data, plan
from orchestrator.provenance import provenance
from orchestrator.spec import CampaignSpec, DatasetSpec, read_spec
from orchestrator.spec.draft import Fault, is_whole
from orchestrator.store import launched
from orchestrator.store.campaigns import create_campaign
from orchestrator.store.database import Store
from wm import datasets
from wm.errors import DataError


def read_campaign(path: str | Path, *, profile: str | None = None) -> tuple[CampaignSpec, DataFacts]:
    """Read a campaign file under a profile, and its data; a relative data path starts at the file's folder.

    Where the folder has no such data file, the path starts at the working directory.

    Raises
    ------
    SpecError
        As in `read_spec`; includes the options that the data make impossible.
    """
    folder = Path(path).resolve().parent
    facts = None

    def faults(draft: CampaignSpec) -> Iterator[Fault]:
        nonlocal facts
        dataset = getattr(draft, "dataset", None)
        if dataset is not None and is_whole(dataset):
            try:
                facts = data_facts(_resolve(dataset, folder))
            except DataError as reason:
                place = ("dataset", "name" if dataset.path is None else "path")
                yield place, str(reason)
        yield from faults_against_data(draft, facts)

    spec = read_spec(path, profile=profile, examine=faults)
    assert facts is not None  # noqa: S101 - else `read_spec` has raised
    return spec.model_copy(update={"dataset": _resolve(spec.dataset, folder)}), facts


def _resolve(dataset: DatasetSpec, folder: Path) -> DatasetSpec:
    if dataset.path is None or not (folder / dataset.path).is_file():
        return dataset
    return dataset.model_copy(update={"path": str(folder / dataset.path)})


def data_facts(dataset: DatasetSpec) -> DataFacts:
    """Load a data set and return what planning needs to know of it.

    Raises
    ------
    DataError
        The data cannot be used.
    """
    source = dataset.source()
    loaded = datasets.load(source)
    rows_train, rows_test = datasets.split_sizes(loaded, test_share=dataset.test_share, rows=dataset.rows)
    return DataFacts(
        rows_train, rows_test, datasets.file_sha256(source), loaded.notes, len(loaded.class_names)
    )


def launch(store: Store, spec: CampaignSpec, facts: DataFacts | None = None) -> int:
    """Update the store's schema, store the campaign unless it is there, and return its id.

    Cancelled jobs of the campaign are queued again, whichever campaign cancelled them.

    Parameters
    ----------
    facts
        Of the campaign's data; None loads them.

    Raises
    ------
    DataError, SpecError
        The data cannot be used, or do not suit the campaign.
    """
    jobs = planned_jobs(spec, facts)
    store.upgrade()
    campaign_id = create_campaign(store, spec, jobs, provenance())
    launched.revive(store, campaign_id)
    return campaign_id


def planned_jobs(spec: CampaignSpec, facts: DataFacts | None = None) -> Iterator[PlannedJob]:
    """Return an iterator over a campaign's jobs, of which there can be millions; arguments as in `launch`."""
    return plan(spec, facts or data_facts(spec.dataset))
