"""A store is upgraded while workers of the previous version are at work.

The previous version is this program. The next one is simulated: another number, and a schema with one more
revision, which changes the tables that workers write most.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.store import database, services
from orchestrator.store.database import Store, head_revision
from orchestrator.store.tables import CampaignState
from tests import servers
from tests.system.fleet import Fleet, RowKey, Size, fleet_of, undisturbed_rows
from workers.runtime.version import protocol_version

pytestmark = pytest.mark.system

SIZE = Size(engines=("z3",), instances=100, timeout_s=600)
REVISION = """
import sqlalchemy as sa
from alembic import op

revision = "next"
down_revision = "{head}"

def upgrade():
    for table in ("job", "outcome", "forgery_answer", "worker"):
        op.add_column(table, sa.Column("added", sa.Integer(), nullable=True))
"""
NEXT = """
import os, sys

if "orchestrator.cli" in sys.orig_argv:
    import wm
    from orchestrator.store import database

    wm.__version__ = "99.0"
    former = database.alembic_config

    def alembic_config():
        config = former()
        own = os.path.join(config.get_main_option("script_location"), "versions")
        config.set_main_option("version_locations", own + os.pathsep + {folder!r})
        return config

    database.alembic_config = alembic_config
    known = database.known_revisions()
    database.known_revisions = lambda: ["next", *known]
"""
"""Makes a process one of the next version."""


@pytest.fixture
def next_version(tmp_path: Path) -> str:
    """Code that a process of the next version runs first."""
    folder = tmp_path / "revisions"
    folder.mkdir()
    (folder / "next.py").write_text(REVISION.format(head=head_revision()))
    return NEXT.format(folder=str(folder))


@pytest.fixture(params=["sqlite", "postgresql"])
def fleet(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Fleet]:
    """A broker, and an empty store of each kind."""
    (tmp_path / "fleet").mkdir()
    with closing(servers.Valkey()) as broker:
        if request.param == "sqlite":
            with fleet_of(tmp_path / "fleet", "sqlite", broker, SIZE) as made:
                yield made
            return
        with (
            closing(servers.Postgres()) as server,
            fleet_of(tmp_path / "fleet", "postgresql", broker, SIZE, server) as made,
        ):
            yield made


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Mapping[RowKey, tuple[object, ...]]:
    """What the campaign finds with nothing in its way."""
    return undisturbed_rows(tmp_path_factory.mktemp("undisturbed"), SIZE)


def upgrade(fleet: Fleet, next_version: str) -> None:
    """Upgrade the store as the next version does."""
    process = fleet.start("db", "upgrade", custom=next_version)
    assert fleet.end_of(process) == 0
    with closing(Store(fleet.environment["WM_STORE_URL"])) as store:
        assert store.revision() == "next"


def test_workers_of_the_previous_version_record_what_they_have_and_get_nothing_more(
    fleet, next_version, undisturbed
):
    fleet.launch()
    orchestrator, worker = fleet.start("orchestrate"), fleet.worker(1)
    fleet.until(fleet.begun())
    # Its solver stands still, so that it is in the midst of a job.
    solver = fleet.until(lambda: fleet.below(worker.pid, "wm.engines.isolated"))[0]
    os.kill(solver, signal.SIGSTOP)
    assert fleet.stop(orchestrator) == 0
    upgrade(fleet, next_version)
    (job_id,) = fleet.running()
    os.kill(solver, signal.SIGCONT)
    fleet.until(lambda: job_id not in fleet.running())
    assert worker.poll() is None, fleet.log(worker)

    for words in (("worker", "--concurrency", "1"), ("orchestrate",)):
        late = fleet.start(*words)
        assert fleet.end_of(late) == 4
        assert "has schema next, newer than this program" in fleet.log(late)

    successor = fleet.start("orchestrate", custom=next_version)
    (name,) = [each.name for each in services.workers(fleet.store)]
    named = f"worker {name} has version {protocol_version()}, this orchestrator 99.0+"
    fleet.until(lambda: named in fleet.log(successor))
    assert fleet.stop(worker) == 0
    fleet.worker(1, custom=next_version)
    fleet.finish()
    assert fleet.state() is CampaignState.FINISHED
    assert fleet.difference(undisturbed).is_none
    assert fleet.attempts() == []
    assert "Traceback" not in fleet.logs()
    assert database.known_revisions()[0] != "next", "only those processes have it"
