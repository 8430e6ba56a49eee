"""`wm doctor`: each fault is found on real servers, with its one-line fix."""

from __future__ import annotations

import re

import pytest
import sqlalchemy as sa
from alembic import command

from orchestrator.diagnosis import broker as broker_diagnosis
from orchestrator.diagnosis import diagnose
from orchestrator.diagnosis import store as store_diagnosis
from orchestrator.plan import plan
from orchestrator.store import campaigns, database, launched, services
from orchestrator.store.database import Store, head_revision, known_revisions
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.roles import set_worker_login
from orchestrator.store.services import StoreRegistry
from orchestrator.store.tables import job
from orchestrator.store.tables import orchestrator as orchestrator_table
from orchestrator.store.tables import worker as worker_table
from tests import servers
from tests.sharing import copy_store
from workers.celery.app import QUEUE
from workers.runtime.registry import WorkerRecord
from workers.runtime.version import protocol_version

NO_BROKER = "redis://:secret@127.0.0.1:1/0"
SECRETS = ("secret", "word-of-")


@pytest.fixture
def sqlite_url(tmp_path):
    return f"sqlite:///{tmp_path / 'wm.db'}"


@pytest.fixture(params=["sqlite_url", "postgres_url"])
def store_url(request):
    is_upgraded = request.param == "postgres_url" and "store" in request.fixturenames
    return str(request.getfixturevalue("upgraded_postgres_url" if is_upgraded else request.param))


@pytest.fixture
def store(store_url, empty_file):
    opened = Store(store_url)
    if opened.is_sqlite:
        copy_store(empty_file, opened.folder / "wm.db")
    yield opened
    opened.close()


def found(store_url, broker_url=NO_BROKER, **options):
    """Return the findings by subject, and check that each fix is one line."""
    findings = diagnose(store_url, broker_url, **options)
    assert all("\n" not in finding.found + finding.fix for finding in findings)
    assert all(finding.fix for finding in findings if finding.is_fault), "each fault has its fix"
    assert all(finding.fix not in finding.found for finding in findings if finding.fix), "not repeated"
    assert not any(word in finding.found + finding.fix for finding in findings for word in SECRETS)
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
    assert [finding.fix for findings in seen.values() for finding in findings] == [""] * 11
    assert seen["version"][0].found == protocol_version()
    assert seen["store"][0].found.endswith(f"schema {head_revision()}, up to date")
    assert re.fullmatch(r"0\.\d s apart from the store's", seen["clock"][0].found)
    assert "two:1:1 version" in seen["worker"][0].found
    assert seen["broker"][0].found.endswith("answers, 0 messages wait")
    assert seen["eviction"][0].found == "maxmemory-policy noeviction"
    assert seen["writing"][0].found.startswith("allowed")


def test_missing_services_are_reported_but_no_fault(store, store_url, broker_url):
    seen = found(store_url, broker_url)
    assert faults(seen) == set()
    assert (seen["orchestrators"][0].found, seen["orchestrators"][0].fix) == (
        "none alive",
        "start one: wm orchestrate",
    )
    assert (seen["workers"][0].found, seen["workers"][0].fix) == ("none alive", "start one: wm worker")


def test_silent_services_do_not_count(store, store_url):
    services.beat_orchestrator(store, "one:1:1", "0.0.0")
    StoreRegistry(store).beat(WorkerRecord("two:1:1", "0.0.0", 3))
    with store.write() as connection:
        for table in (orchestrator_table, worker_table):
            connection.execute(sa.update(table).values(heartbeat_at=store.clock() - 60))
    seen = found(store_url)
    assert faults(seen) == {"broker"}
    assert seen["workers"][0].found == seen["orchestrators"][0].found == "none alive"
    for kind, name in (("workers", "two:1:1"), ("orchestrators", "one:1:1")):
        (silent,) = seen[f"silent {kind}"]
        seconds = re.fullmatch(rf"{name}, last heartbeat (\d+) s ago", silent.found)
        assert seconds is not None
        assert int(seconds[1]) >= 60
        assert "deleted after a day" in silent.fix


def test_launched_campaigns_without_services_are_counted(store, store_url, broker_url, spec, facts):
    launched.hand_over(store, campaigns.create_campaign(store, spec, plan(spec, facts), {}))
    seen = found(store_url, broker_url)
    assert seen["workers"][0].found == "none alive, 1 launched campaigns wait"
    assert "leases" not in seen
    StoreLedger(store).lease(1, "gone:1:1:0")
    assert "leases" not in found(store_url, broker_url)
    with store.write() as connection:
        connection.execute(sa.update(job).values(lease_until=job.c.lease_until - 90))
    assert found(store_url, broker_url)["leases"][0].found == "1 job is leased to silent workers"


def test_version_mismatches(store, store_url, broker_url):
    services.beat_orchestrator(store, "one:1:1", protocol_version())
    StoreRegistry(store).beat(WorkerRecord("two:1:1", "0.0.1+abcdef01", 3))
    seen = found(store_url, broker_url)
    assert faults(seen) == {"worker"}
    (worker,) = seen["worker"]
    assert worker.found.startswith("two:1:1 version 0.0.1+abcdef01, last heartbeat ")
    assert worker.fix == f"install version {protocol_version()} there, or its version here"


@pytest.mark.parametrize("skew", [-3600.0, 3600.0])
def test_clock_skew(store, store_url, monkeypatch, skew):
    clock = Store.clock
    monkeypatch.setattr(Store, "clock", lambda self: clock(self) + skew)
    (clock,) = found(store_url)["clock"]
    assert clock.found == "3600.0 s apart from the store's"
    assert clock.fix == "synchronize the clocks of this machine and the store, as with NTP"


def test_an_empty_store(store_url):
    store = Store(store_url)
    with store.write() as connection:
        connection.exec_driver_sql("SELECT 1")
    store.close()
    (fault,) = found(store_url)["store"]
    assert fault.is_fault
    assert fault.fix == "run a campaign, or wm db upgrade"


def test_an_old_schema(store_url):
    store = Store(store_url)
    config = database.alembic_config()
    with store.write() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, known_revisions()[-1])
    store.close()
    (fault,) = found(store_url)["store"]
    assert f"has schema {known_revisions()[-1]}, not {head_revision()}" in fault.found
    assert (fault.is_fault, fault.fix) == (True, "run wm db upgrade")


def test_a_newer_schema(store, store_url):
    with store.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    (fault,) = found(store_url)["store"]
    assert "has schema 9999, newer than this program" in fault.found
    assert (fault.is_fault, fault.fix) == (True, "upgrade treeproof")


@pytest.mark.parametrize(
    ("url", "fix"),
    [
        ("garbage", "fix --store or WM_STORE_URL"),
        ("sqlite:///no/such/folder/wm.db", "fix --store or WM_STORE_URL"),
        ("sqlite:///{folder}/none.db", "fix WM_STORE_URL, or run wm db upgrade"),
        ("postgresql+psycopg://wm:secret@127.0.0.1:1/wm", "start the database, or fix WM_STORE_URL"),
        ("postgresql+psycopg://wm:secret@nohost.invalid/wm", "fix the host in WM_STORE_URL"),
    ],
)
def test_a_store_that_cannot_be_reached(tmp_path, url, fix):
    seen = found(url.format(folder=tmp_path))
    (fault,) = seen["store"]
    assert (fault.is_fault, fault.fix) == (True, fix)
    assert "secret" not in fault.found
    assert set(seen) == {"version", "packages", "data", "store", "broker"}


def test_a_driver_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    (fault,) = found("postgresql+psycopg://wm@127.0.0.1:1/wm")["store"]
    assert (fault.is_fault, fault.fix) == (True, "pip install 'psycopg[binary]'")


def test_a_file_that_is_no_store(sqlite_url, tmp_path):
    (tmp_path / "wm.db").write_bytes(bytes(range(256)) * 20)
    (fault,) = found(sqlite_url)["store"]
    assert (fault.is_fault, fault.fix) == (True, "the file belongs to another program: fix WM_STORE_URL")


def as_database(url, **changes):
    return sa.make_url(url).set(**changes).render_as_string(hide_password=False)


def test_a_missing_database_and_a_missing_user(postgres_url):
    (fault,) = found(as_database(postgres_url, database="none"))["store"]
    assert fault.fix == "create that database (createdb), or fix its name in WM_STORE_URL"
    (fault,) = found(as_database(postgres_url, username="nobody-here"))["store"]
    assert fault.fix in ("fix the user in WM_STORE_URL", store_diagnosis._LOGIN)


@pytest.fixture
def worker_url():
    """The store as a worker's login sees it, on a server that asks for passwords."""
    server = servers.Postgres(port=servers.free_port())
    try:
        store = Store(f"{server.url()}&port={server.port}")
        store.upgrade()
        set_worker_login(store, "a_worker", "word-of-worker")
        store.close()
        yield f"postgresql+psycopg://a_worker:word-of-worker@127.0.0.1:{server.port}/postgres"
    finally:
        server.close()


def test_a_worker_can_run_the_checks_and_a_wrong_password_is_recognized(worker_url):
    seen = found(worker_url)
    assert faults(seen) == {"broker"}
    assert seen["writing"][0].found == "allowed, with a worker's rights"
    (fault,) = found(worker_url.replace("word-of-worker", "word-of-another"))["store"]
    assert (fault.is_fault, fault.fix) == (True, store_diagnosis._LOGIN)


def test_a_read_only_database(postgres_url):
    store = Store(postgres_url)
    store.upgrade()
    name = sa.make_url(postgres_url).database
    with store.write() as connection:
        connection.exec_driver_sql(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    store.close()
    seen = found(postgres_url)
    assert faults(seen) == {"writing", "broker"}
    assert "read-only transaction" in seen["writing"][0].found
    assert seen["writing"][0].fix.startswith("name the primary")


def test_a_read_only_file(sqlite_url, tmp_path):
    store = Store(sqlite_url)
    store.upgrade()
    store.close()
    (tmp_path / "wm.db-wal").mkdir()  # what stops even root from writing
    seen = found(sqlite_url)
    assert faults(seen) - {"broker"} in ({"store"}, {"writing"})
    (fault,) = [*seen.get("writing", []), *(each for each in seen["store"] if each.is_fault)]
    assert fault.fix == store_diagnosis._RIGHTS


@pytest.mark.parametrize(("version", "is_fault"), [(140022, True), (150000, False), (180006, False)])
def test_versions_of_the_database(version, is_fault):
    finding = store_diagnosis.check_version(version)
    assert (finding.is_fault, bool(finding.fix)) == (is_fault, is_fault)
    assert finding.found == f"PostgreSQL {version // 10000}.{version % 10000}"


def test_little_space_on_the_disk(sqlite_url, monkeypatch):
    store = Store(sqlite_url)
    store.upgrade()
    store.close()
    (ok,) = found(sqlite_url)["writing"]
    assert "GB are free" in ok.found
    monkeypatch.setattr(store_diagnosis, "_MIN_SPACE", 2**80)
    (note,) = found(sqlite_url)["writing"]
    assert (note.is_fault, note.fix) == (False, "make room on the store's disk")


def test_a_data_directory_that_cannot_be_made(sqlite_url, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("WM_DATA_DIR", str(tmp_path / "new"))
    assert found(sqlite_url)["data"][0].fix == ""
    assert not (tmp_path / "new").exists(), "the check makes nothing"
    monkeypatch.setenv("WM_DATA_DIR", str(tmp_path / "file" / "below"))
    (note,) = found(sqlite_url)["data"]
    assert "set WM_DATA_DIR to another directory" in note.fix


@pytest.mark.parametrize(
    ("url", "fix"),
    [
        (NO_BROKER, "start the broker, or fix WM_BROKER_URL"),
        ("garbage", "fix WM_BROKER_URL: redis://:PASSWORD@HOST:PORT/0"),
        ("amqp://127.0.0.1:1//", "fix WM_BROKER_URL: redis://:PASSWORD@HOST:PORT/0"),
        ("redis://:secret@127.0.0.1:99999/0", "fix WM_BROKER_URL: redis://:PASSWORD@HOST:PORT/0"),
        ("redis://:secret@nohost.invalid:1/0", "fix the host in WM_BROKER_URL"),
    ],
)
def test_a_broker_that_cannot_be_reached(sqlite_url, url, fix):
    (fault,) = found(sqlite_url, url)["broker"]
    assert (fault.is_fault, fault.fix) == (True, fix)
    (note,) = found(sqlite_url, url, broker_is_named=False)["broker"]
    assert not note.is_fault, "none was named"
    assert note.found == fault.found


def test_a_wrong_password_of_the_broker(sqlite_url):
    server = servers.Valkey(password=SECRETS[1] + "broker")
    try:
        for given in ("", ":word-of-another@"):
            (fault,) = found(sqlite_url, server.url.replace("//", f"//{given}"))["broker"]
            assert fault.is_fault
            assert fault.fix.startswith("fix the password in WM_BROKER_URL")
        seen = found(sqlite_url, server.url.replace("//", "//:word-of-broker@"))
        assert faults(seen) == {"store"}
    finally:
        server.close()


def test_a_broker_that_refuses_commands_and_one_that_is_full(sqlite_url):
    server = servers.Valkey()
    url = server.url.replace("//", "//asker:word-of-asker@")
    try:
        with server.client() as client:
            client.rpush(QUEUE, "one", "two")
            client.execute_command(
                "ACL", "SETUSER", "asker", "on", ">word-of-asker", "~*", "+@all", "-config", "-info"
            )
            seen = found(sqlite_url, url)
            assert seen["broker"][0].found.endswith("2 messages wait")
            assert seen["eviction"][0].found == "maxmemory-policy unknown"
            assert faults(seen) == {"store"}
            client.config_set("maxmemory", client.info("memory")["used_memory"] + 2**14)
            (note,) = found(sqlite_url, server.url)["broker memory"]
    finally:
        server.close()
    assert note.fix.startswith("raise maxmemory")


class Old:
    """Stands in for an old broker's client."""

    def __init__(self, **server):
        self._server = server

    def info(self, section):
        return self._server if section == "server" else {}

    def llen(self, _queue):
        return 0

    def config_get(self, _name):
        return {}


@pytest.mark.parametrize(
    ("server", "is_fault"),
    [
        ({"redis_version": "6.0.16"}, True),
        ({"redis_version": "6.2.0"}, False),
        ({"redis_version": "7.2.4", "valkey_version": "8.0.1"}, False),
        ({"redis_version": "255.255.255"}, False),
        ({"redis_version": "unstable"}, False),
        ({}, False),
    ],
)
def test_versions_of_the_broker(server, is_fault):
    first = broker_diagnosis.check_server("redis://here", Old(**server))[0]
    assert (first.is_fault, bool(first.fix)) == (is_fault, is_fault)


def test_a_broker_that_may_drop_messages(sqlite_url):
    server = servers.Valkey()
    try:
        with server.client() as client:
            client.config_set("maxmemory-policy", "allkeys-lru")
        (note,) = found(sqlite_url, server.url)["eviction"]
    finally:
        server.close()
    assert "maxmemory-policy allkeys-lru may drop messages" in note.found
    assert (note.is_fault, note.fix) == (False, "set maxmemory-policy noeviction")


def test_a_database_without_the_role_of_workers(postgres_url, monkeypatch):
    store = Store(postgres_url)
    store.upgrade()
    store.close()
    monkeypatch.setattr(store_diagnosis, "worker_role_exists", lambda _store: False)
    (note,) = found(postgres_url)["worker role"]
    assert "workers log in with all rights" in note.found
    assert note.fix.startswith("as an administrator: CREATE ROLE wm_worker;")


def test_more_slots_than_the_database_allows(postgres_url):
    store = Store(postgres_url)
    store.upgrade()
    assert "connections" not in found(postgres_url)
    StoreRegistry(store).beat(WorkerRecord("two:1:1", protocol_version(), 1000))
    store.close()
    (note,) = found(postgres_url)["connections"]
    assert note.found.startswith("the workers may need 1011, the database allows ")
    assert "PgBouncer" in note.fix


def test_a_user_without_a_home_directory(sqlite_url, monkeypatch, tmp_path):
    for name in ("WM_DATA_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/dev/null")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (note,) = found(sqlite_url)["data"]
    assert (note.found.endswith("has no home directory to write into"), note.is_fault) == (True, False)
    monkeypatch.setattr("tempfile.tempdir", "/dev/null")
    (note,) = found(sqlite_url)["data"]
    assert "no directory for data sets" in note.found
