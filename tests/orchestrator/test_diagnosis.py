"""`wm doctor`: each fault is found on real servers, with its one-line mend."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from alembic import command

from orchestrator import diagnosis
from orchestrator.diagnosis import diagnose
from orchestrator.store import database, services
from orchestrator.store.database import Store, head_revision, known_revisions
from orchestrator.store.services import StoreRegistry
from orchestrator.store.tables import orchestrator as orchestrator_table
from orchestrator.store.tables import worker as worker_table
from tests import servers
from workers.registry import WorkerRecord
from workers.version import protocol_version

NO_BROKER = "redis://:secret@127.0.0.1:1/0"


@pytest.fixture
def sqlite_url(tmp_path):
    return f"sqlite:///{tmp_path / 'wm.db'}"


@pytest.fixture(params=["sqlite_url", "postgres_url"])
def store_url(request):
    return str(request.getfixturevalue(request.param))


@pytest.fixture
def store(store_url):
    opened = Store(store_url)
    opened.upgrade()
    yield opened
    opened.close()


def found(store_url, broker_url=NO_BROKER):
    """Return the findings by what they are about, and see that each mend is one line."""
    findings = diagnose(store_url, broker_url)
    assert all("\n" not in finding.found + finding.mend for finding in findings)
    assert all(finding.mend for finding in findings if finding.is_fault), "each fault has its mend"
    by_name = {}
    for finding in findings:
        by_name.setdefault(finding.what, []).append(finding)
    return by_name


def faults(by_name):
    return {name for name, findings in by_name.items() if any(finding.is_fault for finding in findings)}


def test_all_is_well(store, store_url, broker_url):
    services.beat_orchestrator(store, "one:1:1", protocol_version())
    StoreRegistry(store).beat(WorkerRecord("two:1:1", protocol_version(), 3))
    seen = found(store_url, broker_url)
    assert faults(seen) == set()
    assert [finding.mend for findings in seen.values() for finding in findings] == [""] * 6
    assert seen["version"][0].found == protocol_version()
    assert seen["store"][0].found.endswith(f"schema {head_revision()}, up to date")
    assert seen["clock"][0].found == "0.0 s apart from the store's"
    assert "two:1:1 version" in seen["worker"][0].found
    assert "answers, maxmemory-policy noeviction" in seen["broker"][0].found


def test_nobody_at_work_is_no_fault_but_told(store, store_url, broker_url):
    seen = found(store_url, broker_url)
    assert faults(seen) == set()
    assert (seen["orchestrators"][0].found, seen["orchestrators"][0].mend) == (
        "none alive",
        "start one: wm orchestrate",
    )
    assert (seen["workers"][0].found, seen["workers"][0].mend) == ("none alive", "start one: wm worker")


def test_those_that_fell_silent_do_not_count(store, store_url):
    services.beat_orchestrator(store, "one:1:1", "0.0.0")
    StoreRegistry(store).beat(WorkerRecord("two:1:1", "0.0.0", 3))
    with store.write() as connection:
        for table in (orchestrator_table, worker_table):
            connection.execute(sa.update(table).values(heartbeat_at=store.clock() - 60))
    seen = found(store_url)
    assert faults(seen) == {"broker"}
    assert seen["workers"][0].found == seen["orchestrators"][0].found == "none alive"


def test_versions_that_differ(store, store_url, broker_url):
    services.beat_orchestrator(store, "one:1:1", protocol_version())
    StoreRegistry(store).beat(WorkerRecord("two:1:1", "0.0.1+abcdef01", 3))
    seen = found(store_url, broker_url)
    assert faults(seen) == {"worker"}
    (worker,) = seen["worker"]
    assert worker.found.startswith("two:1:1 version 0.0.1+abcdef01, heard ")
    assert worker.mend == f"install version {protocol_version()} there, or its version here"


@pytest.mark.parametrize("skew", [-3600.0, 3600.0])
def test_clocks_that_differ(store, store_url, monkeypatch, skew):
    now = Store.now
    monkeypatch.setattr(Store, "now", lambda self, connection: now(self, connection) + skew)
    (clock,) = found(store_url)["clock"]
    assert clock.found == "3600.0 s apart from the store's"
    assert clock.mend == "set the clocks of this machine and the store's, by NTP say"


def test_an_empty_store(store_url):
    store = Store(store_url)
    with store.write() as connection:
        connection.exec_driver_sql("SELECT 1")
    store.close()
    (fault,) = found(store_url)["store"]
    assert fault.is_fault
    assert fault.mend == "run a campaign, or wm db upgrade"


def test_an_older_schema(store_url):
    store = Store(store_url)
    config = database._alembic_config()
    with store.write() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, known_revisions()[-1])
    store.close()
    (fault,) = found(store_url)["store"]
    assert f"has schema {known_revisions()[-1]}, not {head_revision()}" in fault.found
    assert (fault.is_fault, fault.mend) == (True, "run wm db upgrade")


def test_a_newer_schema(store, store_url):
    with store.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    (fault,) = found(store_url)["store"]
    assert "has schema 9999, newer than this program" in fault.found
    assert (fault.is_fault, fault.mend) == (True, "upgrade treeproof")


@pytest.mark.parametrize(
    ("url", "mend"),
    [
        ("garbage", "mend --store or WM_STORE_URL"),
        ("sqlite:///no/such/folder/wm.db", "mend --store or WM_STORE_URL"),
        ("sqlite:///{folder}/none.db", "mend WM_STORE_URL, or run wm db upgrade"),
        ("postgresql+psycopg://wm:secret@127.0.0.1:1/wm", "start the database, or mend WM_STORE_URL"),
    ],
)
def test_a_store_that_cannot_be_reached(tmp_path, url, mend):
    seen = found(url.format(folder=tmp_path))
    (fault,) = seen["store"]
    assert (fault.is_fault, fault.mend) == (True, mend)
    assert "secret" not in fault.found
    assert set(seen) == {"version", "store", "broker"}


def test_a_driver_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    (fault,) = found("postgresql+psycopg://wm@127.0.0.1:1/wm")["store"]
    assert (fault.is_fault, fault.mend) == (True, "pip install 'psycopg[binary]'")


@pytest.mark.parametrize("url", [NO_BROKER, "garbage", "amqp://127.0.0.1:1//"])
def test_a_broker_that_cannot_be_reached(sqlite_url, url):
    (fault,) = found(sqlite_url, url)["broker"]
    assert (fault.is_fault, fault.mend) == (True, "start the broker, or mend WM_BROKER_URL")
    assert "secret" not in fault.found


def test_a_broker_that_may_drop_messages(sqlite_url):
    server = servers.Valkey()
    try:
        with server.client() as client:
            client.config_set("maxmemory-policy", "allkeys-lru")
        (note,) = found(sqlite_url, server.url)["broker"]
    finally:
        server.close()
    assert "maxmemory-policy allkeys-lru may drop messages" in note.found
    assert (note.is_fault, note.mend) == (False, "set maxmemory-policy noeviction")


def test_a_database_without_the_role_of_workers(postgres_url, monkeypatch):
    store = Store(postgres_url)
    store.upgrade()
    store.close()
    monkeypatch.setattr(diagnosis, "worker_role_exists", lambda _store: False)
    (note,) = found(postgres_url)["worker role"]
    assert "workers log in with all rights" in note.found
    assert note.mend.startswith("as an administrator: CREATE ROLE wm_worker;")


def test_more_slots_than_the_database_lets_in(postgres_url):
    store = Store(postgres_url)
    store.upgrade()
    assert "connections" not in found(postgres_url)
    StoreRegistry(store).beat(WorkerRecord("two:1:1", protocol_version(), 1000))
    store.close()
    (note,) = found(postgres_url)["connections"]
    assert note.found.startswith("the workers may want 1011, the database lets in ")
    assert "PgBouncer" in note.mend
