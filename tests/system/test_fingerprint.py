"""One campaign on one machine or on many: results.fingerprint is the same, bit for bit.

Shown by ``pytest tests/system/test_fingerprint.py -s``, which prints the three.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from orchestrator.results import fingerprint
from orchestrator.store.tables import CampaignState, JobState
from tests import servers
from tests.system.fleet import Fleet, Size, fleet_of

pytestmark = pytest.mark.system

SIZE = Size(instances=60)


@pytest.fixture(scope="module")
def broker() -> Iterator[servers.Valkey]:
    server = servers.Valkey()
    yield server
    server.close()


def local(fleet: Fleet) -> None:
    fleet.wm("campaign", "run", "c.toml", "--executor", "local", "--workers", "1")


def celery(fleet: Fleet) -> None:
    """Two workers of one slot each, and the loop in the foreground."""
    fleet.wm("db", "upgrade")
    workers = [fleet.worker(1), fleet.worker(1)]
    fleet.until(lambda: fleet.workers_alive() == 2)
    fleet.wm("campaign", "run", "c.toml", "--executor", "celery")
    assert [fleet.stop(worker) for worker in workers] == [0, 0]


def launched(fleet: Fleet) -> None:
    """A worker of two slots, and the loop as a service."""
    fleet.wm("db", "upgrade")
    fleet.worker(2)
    fleet.start("orchestrate")
    fleet.launch()
    fleet.finish()


WAYS = {
    "local, SQLite": ("sqlite", local),
    "Celery, SQLite": ("sqlite", celery),
    "Celery, PostgreSQL": ("postgresql", launched),
}


def test_local_or_celery_on_sqlite_or_postgresql_find_the_same(tmp_path, broker, database):
    found = {}
    for number, (name, (kind, run)) in enumerate(WAYS.items()):
        directory = tmp_path / str(number)
        directory.mkdir()
        with fleet_of(directory, kind, broker, SIZE, database) as fleet:
            run(fleet)
            assert fleet.state() is CampaignState.FINISHED
            assert fleet.jobs() == {JobState.DONE: SIZE.jobs}
            assert fleet.answers() == SIZE.queries
            found[name] = fingerprint(fleet.store, 1)
    print("", *(f"{name:20}{value}" for name, value in found.items()), sep="\n")
    assert len(set(found.values())) == 1, found
