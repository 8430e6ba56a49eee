"""Streams of real processes: data on stdout and nothing else, also where stdout fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.system

ROOT = Path(__file__).resolve().parents[3]


def _start(*arguments: object, **streams: object) -> subprocess.Popen[bytes]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-m", "orchestrator.cli", *map(str, arguments)], env=environment, **streams
    )


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
    process = _start(*arguments, preexec_fn=lambda: os.close(1), stderr=subprocess.PIPE)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
