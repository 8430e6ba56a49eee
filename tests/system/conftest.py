"""The `wm` command in processes of its own, and what they leave behind."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from orchestrator import results
from orchestrator.store.campaigns import CampaignRecord, find_campaign, progress
from orchestrator.store.database import Store
from orchestrator.store.tables import JobState
from tests import forked, servers
from tests.family import Family
from tests.small_campaign import small_campaign
from tests.system.fleet import Fleet

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Place:
    """A directory with a campaign file and a store, and the commands that are run there."""

    directory: Path
    family: Family = field(default_factory=Family)

    def __post_init__(self) -> None:
        (self.directory / "c.toml").write_text(small_campaign(instances=60, timeout_s=60))

    @property
    def database(self) -> Path:
        """The store's file."""
        return self.directory / "wm.db"

    def edit(self, old: str, new: str) -> None:
        """Change the campaign file in one place."""
        text = (self.directory / "c.toml").read_text()
        assert text.count(old) == 1
        (self.directory / "c.toml").write_text(text.replace(old, new))

    def start(self, *arguments: str) -> forked.Process:
        """Start a command."""
        environment = os.environ | {
            **self.family.environment,
            "PYTHONPATH": str(ROOT),
            "WM_STORE_URL": f"sqlite:///{self.database}",
        }
        return forked.start(
            "orchestrator.cli",
            *arguments,
            cwd=self.directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @contextmanager
    def running(self, *arguments: str) -> Iterator[forked.Process]:
        """Start a command, which is killed at the end of the block if it has not ended; not its children."""
        with self.start(*arguments) as process:
            try:
                yield process
            finally:
                process.kill()

    def wm(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        with self.running(*arguments) as process:
            stdout, stderr = process.communicate(timeout=240)
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)

    def json(self, *arguments: str) -> Any:
        """Return what a command prints with ``--json``."""
        done = self.wm(*arguments, "--json")
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    @contextmanager
    def store(self) -> Iterator[Store]:
        """Open the store in this process."""
        opened = Store(f"sqlite:///{self.database}")
        try:
            yield opened
        finally:
            opened.close()

    def fingerprint(self, campaign_id: int = 1) -> str:
        """Return the hash of all that a campaign found."""
        with self.store() as store:
            return results.fingerprint(store, campaign_id)

    def record(self, name: str = "small") -> CampaignRecord:
        """Return a campaign as the store knows it."""
        with self.store() as store:
            return find_campaign(store, name)

    def jobs(self, campaign_id: int = 1) -> dict[JobState, int]:
        """Return the numbers of jobs in the states that occur."""
        with self.store() as store:
            return {state: count for state, count in progress(store, campaign_id).jobs.items() if count}

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Read the database while others write it; nothing before its tables exist."""
        try:
            with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as connection:
                return connection.execute(sql).fetchall()
        except sqlite3.OperationalError:
            return []

    def recorded(self) -> dict[int, tuple[Any, ...]]:
        """Return every outcome by its job, with who recorded it when."""
        rows = self.query("SELECT job_id, status, result, error, owner, recorded_at FROM outcome")
        return {row[0]: row[1:] for row in rows}

    def answered(self) -> dict[tuple[int, int], tuple[Any, ...]]:
        """Return every forgery answer by job and instance."""
        rows = self.query("SELECT job_id, instance, status, witness, seconds FROM forgery_answer")
        return {row[:2]: row[2:] for row in rows}

    def found(self) -> dict[str, tuple[Any, ...]]:
        """Return what each job found, by its key."""
        rows = self.query("SELECT key, kind, status, result, error FROM job JOIN outcome ON job_id = id")
        return {row[0]: row[1:] for row in rows}

    def wait_until(self, moment: Callable[[Place], bool], process: forked.Process) -> bool:
        """Wait for a moment in a command's run; false if it ended before."""
        end = time.monotonic() + 240
        while process.poll() is None:
            if moment(self):
                return True
            assert time.monotonic() < end
            time.sleep(0.01)
        return False


@pytest.fixture(scope="session", autouse=True)
def forked_fleets() -> Iterator[None]:
    """Fleets take their processes from the nursery; in benchmarks of faults they do not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Fleet, "is_forked", True)
        yield


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A fresh directory."""
    return Place(tmp_path)


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Where the campaign was run to its end by one worker with nothing in its way; only to be read."""
    there = Place(tmp_path_factory.mktemp("undisturbed"))
    done = there.wm("campaign", "run", "c.toml", "--workers", "1")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "small: finished" in done.stderr.splitlines()
    return there


@pytest.fixture
def finished(undisturbed: Place, place: Place) -> Place:
    """A place of one's own where the campaign is finished."""
    with undisturbed.store() as store, store.write() as connection:
        connection.exec_driver_sql("SELECT 1")
    (place.directory / "wm.db").write_bytes(undisturbed.database.read_bytes())
    return place


@pytest.fixture(scope="module")
def database() -> Iterator[servers.Postgres]:
    """A PostgreSQL server of one's own, to be broken."""
    server = servers.Postgres()
    yield server
    server.close()
