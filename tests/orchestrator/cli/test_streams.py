"""Streams of real processes: data on stdout and nothing else, also where stdout fails."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from orchestrator.store import campaigns
from orchestrator.store.database import Store
from orchestrator.store.tables import CampaignState
from tests import forked

pytestmark = pytest.mark.system


def _start(*arguments: object, **streams: object) -> forked.Process:
    return forked.start("orchestrator.cli", *arguments, stdin=subprocess.DEVNULL, **streams)


@pytest.mark.parametrize(
    ("suspect", "judged"),
    [("forest", True), ("forest", False), ("foreign_forest", True)],
    ids=["verified", "indication", "not verified"],
)
def test_a_verdict_sets_the_exit_code_even_if_its_reader_has_gone(
    wm, model, suspect: str, judged: bool
) -> None:
    arguments = ("verify", model.claim, "--model", getattr(model, suspect), *(model.judge if judged else ()))
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as gone:
        process = _start(*arguments, stdout=gone, stderr=subprocess.PIPE)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (wm(*arguments).code, b"")


def test_a_reader_that_leaves_early_is_no_fault(tiny) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as gone:
        process = _start("results", "jobs", "tiny", "--store", tiny.url, stdout=gone, stderr=subprocess.PIPE)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")


def test_a_full_disk_behind_stdout_is_reported(tiny) -> None:
    with Path("/dev/full").open("wb") as full:
        process = _start("campaign", "list", "--store", tiny.url, stdout=full, stderr=subprocess.PIPE)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (4, b"wm: [Errno 28] No space left on device\n")


def test_a_closed_stdout_hides_no_verdict(model) -> None:
    arguments = ("verify", model.claim, "--model", model.forest, *model.judge)
    process = _start(*arguments, closed=[1], stderr=subprocess.PIPE)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")


@pytest.mark.parametrize("closed", [(2,), (0, 1, 2)], ids=["stderr", "all"])
def test_a_campaign_runs_with_streams_closed(tiny, tmp_path: Path, closed: tuple[int, ...]) -> None:
    url = f"sqlite:///{tmp_path / 'wm.db'}"
    process = _start(
        *("campaign", "run", tiny.file, "--store", url, "--workers", "1"),
        stdout=None if 1 in closed else subprocess.PIPE,
        closed=closed,
    )
    out, _ = process.communicate(timeout=120)
    assert (process.returncode, out) == (0, None if 1 in closed else b"")
    store = Store(url)
    assert campaigns.find_campaign(store, "tiny").state == CampaignState.FINISHED
    store.close()


def test_forging_without_stderr_prints_data_only(wm, model) -> None:
    arguments = ("forge", model.forest, "--dataset", "breast-cancer", "--instances", "2", "--eps", "0.3")
    arguments += ("--engine", "sat", "--json")
    process = _start(*arguments, stdout=subprocess.PIPE, closed=[2])
    out, _ = process.communicate(timeout=60)
    ran = wm(*arguments)
    alone, here = (
        [(each["status"], each["distance"]) for each in document["instances"]]
        for document in (json.loads(out), ran.json())
    )
    assert (process.returncode, alone) == (ran.code, here)


def test_a_mistake_without_stderr_prints_nothing() -> None:
    process = _start("campaign", "status", "x", stdout=subprocess.PIPE, closed=[2])
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, b"")


@pytest.mark.parametrize("stderr", ["gone", "full"])
def test_a_campaign_goes_on_when_its_messages_cannot_be_written(tiny, tmp_path: Path, stderr: str) -> None:
    url = f"sqlite:///{tmp_path / 'wm.db'}"
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as gone, Path("/dev/full").open("wb") as full:
        process = _start(
            *("campaign", "run", tiny.file, "--store", url, "--workers", "1"),
            stdout=subprocess.PIPE,
            stderr=gone if stderr == "gone" else full,
        )
        out, _ = process.communicate(timeout=120)
    assert (process.returncode, out) == (0, b"")
    store = Store(url)
    assert campaigns.find_campaign(store, "tiny").state == CampaignState.FINISHED
    store.close()
