"""Folders with odd names, and processes with too little memory: it works, or one line says why not."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

import pytest

from orchestrator.cli.memory import memory_fault
from orchestrator.store import database
from tests import ending, forked
from tests.sharing import copy_store

ROOT = Path(__file__).resolve().parents[3]


def wm(*arguments: str, cwd: bytes | Path, address_space_mb: int | None = None):
    """Run a command in a process of its own."""

    def limit() -> None:
        if address_space_mb is not None:
            resource.setrlimit(resource.RLIMIT_AS, (address_space_mb * 2**20,) * 2)

    return ending.run(
        [sys.executable, "-P", "-m", "orchestrator.cli", *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        preexec_fn=limit,
        text=False,
        code=None,
    )


@pytest.mark.system
def test_a_folder_whose_name_is_not_utf_8(tmp_path, finished_file):
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)  # noqa: PTH102 - a Path of such a name would be the product's own way
    copy_store(finished_file, Path(os.fsdecode(folder)) / "wm.db")
    listed = wm("results", "jobs", "small", "--json", cwd=folder)
    assert (listed.returncode, listed.stderr) == (0, b"")
    forked.run("orchestrator.cli", "report", "small", "-o", "report.md", cwd=folder)
    assert os.path.getsize(folder + b"/report.md") > 5_000  # noqa: PTH202 - as above


def test_an_install_path_with_a_percent_sign(tmp_path, monkeypatch):
    (tmp_path / "100%store").symlink_to(Path(database.__file__).parent)
    known = database.known_revisions()
    monkeypatch.setattr(database, "__file__", str(tmp_path / "100%store" / "database.py"))
    assert database.known_revisions() == known


@pytest.mark.system
@pytest.mark.parametrize("mb", [300, 600, 890])
def test_too_little_address_space_is_one_line(tmp_path, mb):
    ran = wm("campaign", "list", cwd=tmp_path, address_space_mb=mb)
    line = (
        f"wm: not enough memory: at least 900 MB are needed; the address space is limited to {mb} MB: "
        "raise that with ulimit -v\n"
    )
    assert (ran.returncode, ran.stdout.decode(), ran.stderr.decode()) == (4, "", line)


def test_a_lack_of_memory_is_found_in_what_it_caused():
    try:
        try:
            raise ImportError("sklearn/_isfinite.so: failed to map segment from shared object")
        except ImportError as reason:
            raise RuntimeError("cannot be used") from reason
    except RuntimeError as fault:
        found = memory_fault(fault)
    assert found is not None
    assert found.startswith("not enough memory: sklearn/_isfinite.so: failed to map segment")
    assert memory_fault(MemoryError()) is not None
    assert memory_fault(ImportError("no module named yes")) is None
