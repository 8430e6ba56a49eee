"""Stores to hold against the contract, and campaigns of made-up jobs in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from orchestrator.plan import GridPoint, PlannedJob
from orchestrator.spec import CampaignSpec
from orchestrator.store.campaigns import create_campaign
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.tables import JobState, job
from tests.sharing import copy_store
from workers.jobs.base import Outcome, OutcomeStatus
from workers.jobs.kinds import JobKind

DONE = Outcome(OutcomeStatus.DONE, {"value": 1}, {"job": 0.5})


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """URL of a SQLite file that is not there yet."""
    return f"sqlite:///{tmp_path / 'wm.db'}"


@pytest.fixture(params=["sqlite_url", "postgres_url"])
def store_url(request: pytest.FixtureRequest) -> str:
    """URL of an empty database, of every kind that keeps the contract; of an empty store for `store`."""
    is_upgraded = request.param == "postgres_url" and "store" in request.fixturenames
    return str(request.getfixturevalue("upgraded_postgres_url" if is_upgraded else request.param))


@pytest.fixture
def store(store_url: str, empty_file: Path) -> Iterator[Store]:
    """A store with the newest schema and nothing in it."""
    opened = Store(store_url)
    if opened.is_sqlite:
        copy_store(empty_file, Path(str(sa.make_url(store_url).database)))
    yield opened
    opened.close()


@dataclass(frozen=True)
class Workshop:
    """A store with campaigns of made-up jobs, which are known by their keys."""

    store: Store
    spec: CampaignSpec

    @property
    def ledger(self) -> StoreLedger:
        """What workers see."""
        return StoreLedger(self.store)

    @staticmethod
    def job(
        key: str,
        *needs: str,
        kind: JobKind = JobKind.SPLIT,
        weight: int = 1,
        cell: GridPoint | None = None,
        helped_by: tuple[tuple[str, ...], ...] = (),
        **parameters: Any,
    ) -> PlannedJob:
        """Return a made-up job."""
        return PlannedJob(key, kind, {"of": key, **parameters}, needs, cell or GridPoint(), weight, helped_by)

    def campaign(self, *jobs: PlannedJob, name: str = "c", seed: int = 0) -> int:
        """Store a campaign and return its id."""
        spec = self.spec.model_copy(update={"name": name, "seed": seed})
        return create_campaign(self.store, spec, iter(jobs), {"python": "3"})

    def jobs(self, *keys: str, name: str = "c") -> list[int]:
        """Store a campaign of independent jobs and return their ids."""
        self.campaign(*map(self.job, keys), name=name)
        return [self.id(key) for key in keys]

    def row(self, job_id: int) -> Any:
        """Return a job's row."""
        with self.store.read() as connection:
            return connection.execute(sa.select(job).where(job.c.id == job_id)).one()

    def id(self, key: str) -> int:
        """Return a job's id."""
        with self.store.read() as connection:
            return int(connection.execute(sa.select(job.c.id).where(job.c.key == key)).scalar_one())

    def states(self, *keys: str) -> list[JobState]:
        """Return the states of jobs."""
        return [JobState(self.row(self.id(key)).state) for key in keys]

    def count(self, table: sa.Table) -> int:
        """Return the number of a table's rows."""
        with self.store.read() as connection:
            return int(connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one())

    def expire(self, *job_ids: int) -> None:
        """Let the leases of jobs expire a second ago."""
        with self.store.write() as connection:
            past = self.store.clock() - 1
            connection.execute(sa.update(job).where(job.c.id.in_(job_ids)).values(lease_until=past))

    def finish(self, keys: Iterable[str], outcome: Outcome = DONE) -> None:
        """Run jobs to an outcome."""
        for key in keys:
            assert self.ledger.lease(self.id(key), "worker") is not None
            assert self.ledger.record(self.id(key), "worker", outcome, {})


@pytest.fixture
def workshop(store: Store, spec: CampaignSpec) -> Workshop:
    """A store to fill with made-up jobs."""
    return Workshop(store, spec)
