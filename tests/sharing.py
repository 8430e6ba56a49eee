"""What is expensive to make and that tests only need to be there: made once, for all test processes."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Lock

import pytest

from orchestrator.executors import LocalExecutor
from orchestrator.loop import run_campaign
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.tables import CampaignState
from workers.runtime.sandbox import JobSandbox


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a directory that the first process of this test run to ask for it has filled; only to be read.

    Parameters
    ----------
    factory
        pytest's own.
    name
        One for each such directory.
    make
        Fills an empty directory.
    """
    own = factory.getbasetemp()
    # The processes of pytest-xdist have a directory each, in one of their run.
    root = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    folder, done = root / "shared" / name, root / "shared" / f"{name}.done"
    folder.parent.mkdir(exist_ok=True)
    with done.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of one who failed
            folder.mkdir()
            make(folder)
            done.touch()
    return folder


def copy_store(source: Path, target: Path) -> Path:
    """Copy a SQLite file that others may have open; return the copy."""
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)
    return target


def run_to_end(store: Store, campaign_id: int, *, workers: int = 1) -> None:
    """Run a campaign of the store, which must finish."""
    executor = LocalExecutor(StoreLedger(store), workers=workers)
    try:
        state = run_campaign(store, campaign_id, executor, lambda _progress: None)
    finally:
        executor.close()
    assert state is CampaignState.FINISHED


@contextmanager
def kept_processes() -> Iterator[None]:
    """Let the processes of slots serve one campaign after the other, as those of `wm worker` do.

    A process takes more than a second of imports to be ready, which is most of a small campaign.
    """
    free: list[JobSandbox] = []
    turn = Lock()

    class Kept:
        def __init__(self) -> None:
            with turn:
                self._own = free.pop() if free else JobSandbox()
            self.run = self._own.run

        def close(self) -> None:
            with turn:
                free.append(self._own)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("workers.runtime.slots.JobSandbox", Kept)
        yield
    for sandbox in free:
        sandbox.close()
