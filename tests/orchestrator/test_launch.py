"""Creating a campaign in the store from a file."""

from __future__ import annotations

import hashlib
from types import SimpleNamespace

import pytest

from orchestrator.errors import SpecError
from orchestrator.launch import data_facts, launch, planned_jobs, read_campaign
from orchestrator.plan import DataFacts
from orchestrator.store.campaigns import find_campaign, progress
from orchestrator.store.database import Store
from orchestrator.store.tables import JobState
from wm import datasets
from wm.errors import DataError

FILE = """
name = "of-a-file"
seed = 0
dataset = { path = "rows.csv", label = "y", test_share = 0.25 }
forest.n_estimators = 4
embedding.trigger_share = 0.1
"""


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """Holds a campaign and its data; the working directory is another."""
    there = tmp_path / "there"
    there.mkdir()
    (there / "c.toml").write_text(FILE)
    (there / "rows.csv").write_text("a,y\n" + "".join(f"{row / 10},{row % 2}\n" for row in range(40)))
    monkeypatch.chdir(tmp_path)
    return there


def test_a_data_path_starts_at_the_folder_of_the_campaign_file(directory):
    spec, facts = read_campaign(directory / "c.toml")
    assert spec.dataset.path == str(directory / "rows.csv")
    assert read_campaign("there/c.toml") == (spec, facts)
    sha256 = hashlib.sha256((directory / "rows.csv").read_bytes()).hexdigest()
    assert data_facts(spec.dataset) == facts == DataFacts(rows_train=30, rows_test=10, file_sha256=sha256)
    assert next(planned_jobs(spec)).parameters["file_sha256"] == sha256


def test_a_data_path_that_is_not_in_that_folder_starts_at_the_working_directory(directory):
    (directory / "rows.csv").rename(directory.parent / "rows.csv")
    spec, facts = read_campaign(directory / "c.toml")
    assert spec.dataset.path == "rows.csv"
    assert facts.rows_test == 10
    (directory.parent / "rows.csv").unlink()
    with pytest.raises(DataError, match=r"rows\.csv"):
        planned_jobs(spec)


def test_a_scheme_for_two_classes_is_refused_for_more_before_anything_runs(directory):
    (directory / "rows.csv").write_text(
        "a,y\n" + "".join(f"{row / 10},{'abc'[row % 3]}\n" for row in range(60))
    )
    text = FILE.replace(
        "embedding.trigger_share", 'embedding.scheme = ["paper", "lineup"]\nembedding.trigger_share'
    )
    (directory / "c.toml").write_text(text)
    with pytest.raises(SpecError, match="scheme lineup is for two classes, and the data have 3: set one"):
        read_campaign(directory / "c.toml")
    (directory / "c.toml").write_text(text.replace('label = "y"', 'label = "y", positive = "b"'))
    assert read_campaign(directory / "c.toml")[1].classes == 2
    (directory / "c.toml").write_text(text.replace(', "lineup"', ""))
    assert read_campaign(directory / "c.toml")[1].classes == 3


def test_named_data_have_no_file(spec, facts):
    assert data_facts(spec.dataset) == facts


def test_a_campaign_that_does_not_suit_its_data_is_refused_before_the_store_is_touched(directory):
    (directory / "c.toml").write_text(FILE.replace("0.1", "0.01"))
    store = Store(f"sqlite:///{directory / 'wm.db'}")
    with pytest.raises(SpecError, match=r"trigger_share 0\.01 of 30 training rows"):
        launch(store, *read_campaign(directory / "c.toml"))
    store.close()
    assert not (directory / "wm.db").exists()


def test_the_data_are_loaded_once(directory, monkeypatch):
    loads = []

    def load(source):
        loads.append(source)
        return datasets.load(source)

    monkeypatch.setattr("orchestrator.launch.datasets", SimpleNamespace(**vars(datasets) | {"load": load}))
    store = Store(f"sqlite:///{directory / 'wm.db'}")
    launch(store, *read_campaign(directory / "c.toml"))
    store.close()
    assert len(loads) == 1


def test_launching_makes_the_store_and_the_campaign_once(directory):
    store = Store(f"sqlite:///{directory / 'wm.db'}")
    spec, facts = read_campaign(directory / "c.toml")
    campaign_id = launch(store, spec, facts)
    assert launch(store, spec) == campaign_id
    record = find_campaign(store, "of-a-file")
    assert record.parsed() == spec
    assert record.provenance["python"]
    assert progress(store, campaign_id).jobs[JobState.READY] == 1
    store.close()
