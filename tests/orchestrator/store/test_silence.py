"""Connections to the store that fall silent are noticed; long work of the server is not mistaken for one."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from contextlib import closing
from pathlib import Path

import psycopg
import psycopg.generators
import pytest
import sqlalchemy as sa

from orchestrator.errors import StoreUnavailableError
from orchestrator.store import queue, silence
from orchestrator.store.database import Store
from tests import ending, servers
from tests.proxy import BadLine

pytestmark = pytest.mark.server
PASSWORD = "of a test"  # noqa: S105 - of a server that lives as long as these tests
ONE = sa.text("SELECT 1")


@pytest.fixture(scope="module")
def remote():
    """A server that listens on loopback."""
    server = servers.Postgres(port=servers.free_port())
    with server.connect() as connection:
        connection.execute(f"ALTER ROLE postgres PASSWORD '{PASSWORD}'")
    yield server
    server.close()


@pytest.fixture
def proxy(remote):
    between = BadLine(remote.port)
    yield between
    between.close()


@pytest.fixture
def store(proxy, monkeypatch):
    """A store behind the proxy, of connections that count as silent after two seconds."""
    monkeypatch.setattr(silence, "SILENCE_S", 2.0)
    monkeypatch.setattr(silence, "IDLE_S", 2.0)
    url = f"postgresql+psycopg://postgres:{PASSWORD.replace(' ', '%20')}@127.0.0.1:{proxy.port}/postgres"
    with closing(Store(f"{url}?connect_timeout=2")) as opened:
        yield opened


def test_a_forgotten_connection_is_replaced_without_a_word(store, proxy):
    with store.read() as one, store.read() as other:
        old = {each.execute(sa.text("SELECT pg_backend_pid()")).scalar_one() for each in (one, other)}
    proxy.forget()
    started = time.monotonic()
    new = [store.rows(sa.text("SELECT pg_backend_pid()"))[0][0] for _ in range(3)]
    assert time.monotonic() - started >= 2
    assert not old & set(new), "none of those that are as old is tried again"


@pytest.mark.parametrize("lost", ["question", "answer"])
def test_a_transaction_whose_question_or_answer_is_lost_may_be_tried_again(store, proxy, lost):
    def transaction():
        with store.read() as connection:
            connection.execute(ONE)
            if lost == "question":
                proxy.forget()
            else:
                threading.Timer(0.5, proxy.forget).start()
            connection.execute(sa.text("SELECT pg_sleep(1)"))

    with pytest.raises(StoreUnavailableError, match="fell silent"):
        transaction()
    assert store.rows(ONE) == [(1,)]


def test_a_server_that_works_for_long_is_waited_for(store):
    assert store.rows(sa.text("SELECT 7 FROM pg_sleep(7)")) == [(7,)]


def test_a_server_that_waits_for_a_lock_is_waited_for(store, remote):
    with remote.connect() as other:
        other.execute("SELECT pg_advisory_lock(1)")
        threading.Timer(5, lambda: other.execute("SELECT pg_advisory_unlock(1)")).start()
        assert store.rows(sa.text("SELECT 1 FROM pg_advisory_xact_lock(1)")) == [(1,)]


@pytest.fixture
def stuck(store, proxy):
    """A session that holds a lock, in the middle of a pipeline whose rest does not arrive."""
    url = f"host=127.0.0.1 port={proxy.port} user=postgres dbname=postgres"
    with psycopg.connect(url, password=PASSWORD) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS job ()")
        connection.commit()
        connection.execute("LOCK TABLE job IN ROW EXCLUSIVE MODE")
        with contextlib.suppress(psycopg.OperationalError), connection.pipeline():
            connection.execute("SELECT pg_current_xact_id(), pg_advisory_xact_lock(2)")
            connection.pgconn.send_flush_request()
            connection.wait(psycopg.generators.send(connection.pgconn))
            yield connection


def test_a_session_that_waits_in_a_pipeline_does_not_block_others_for_ever(store, remote, stuck):
    held = "SELECT state, wait_event FROM pg_stat_activity WHERE pid = %s"
    pid = stuck.info.backend_pid
    with remote.connect() as other:
        ending.until(lambda: other.execute(held, [pid]).fetchone() == ("active", "ClientRead"))
    assert store.rows(sa.text("SELECT 1 FROM pg_advisory_xact_lock(2)")) == [(1,)]


def test_the_server_has_the_same_limit_for_idle_transactions(upgraded_postgres_url):
    with closing(Store(upgraded_postgres_url)) as store:
        assert store.rows(sa.text("SHOW idle_in_transaction_session_timeout")) == [(f"{silence.IDLE_S}s",)]


def test_the_session_of_a_dead_worker_does_not_keep_its_job(upgraded_postgres_url, monkeypatch):
    monkeypatch.setattr(silence, "IDLE_S", 1.0)
    plain = upgraded_postgres_url.replace("+psycopg", "")
    with closing(Store(upgraded_postgres_url)) as store, psycopg.connect(plain) as connection:
        connection.execute(
            "INSERT INTO job "
            "(key, kind, parameters, weight, state, failures, leases, lease_owner, lease_until) "
            "VALUES ('k', 'split', '{}', 1, 'running', 0, 1, 'dead', 0)"
        )
        connection.commit()
        connection.execute("SELECT 1")
        with contextlib.suppress(psycopg.OperationalError), connection.pipeline():
            connection.execute("SELECT * FROM job FOR UPDATE")
            connection.pgconn.send_flush_request()
            connection.wait(psycopg.generators.send(connection.pgconn))
            ending.until(lambda: queue.release_dead(store, lambda owner: owner == "dead") == 1)


def test_the_servers_side_of_a_forgotten_connection_is_ended(store, proxy, remote):
    """Else its locks would stay as long as it is in the middle of a pipeline."""
    pid = 0

    def transaction():
        nonlocal pid
        with store.write() as connection:
            pid = connection.execute(sa.text("SELECT pg_backend_pid(), pg_advisory_xact_lock(3)")).first()[0]
            proxy.forget()
            connection.execute(ONE)

    with pytest.raises(StoreUnavailableError, match="fell silent"):
        transaction()
    with remote.connect() as other:
        ended = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s"
        ending.until(lambda: other.execute(ended, [pid]).fetchone() == (0,), within_s=10)
        assert other.execute("SELECT pg_try_advisory_xact_lock(3)").fetchone() == (True,)


def test_a_server_that_forbids_to_end_sessions_is_no_fault(store, proxy, remote):
    function = "FUNCTION pg_terminate_backend(integer, bigint)"
    with remote.connect() as owner:
        owner.execute("CREATE ROLE limited LOGIN PASSWORD 'x'")
        owner.execute(f"REVOKE EXECUTE ON {function} FROM PUBLIC")
    url = f"postgresql+psycopg://limited:x@127.0.0.1:{proxy.port}/postgres?connect_timeout=2"
    try:
        with closing(Store(url)) as limited:
            limited.rows(ONE)
            proxy.forget()
            assert limited.rows(ONE) == [(1,)]
    finally:
        with remote.connect() as owner:
            owner.execute(f"GRANT EXECUTE ON {function} TO PUBLIC")


def test_a_server_that_stands_still_is_unavailable_and_answers_again_later(store, remote):
    store.rows(ONE)
    pid = int((remote.directory / "data/postmaster.pid").read_text().splitlines()[0])
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    everyone = [pid, *map(int, children)]
    try:
        for each in everyone:
            os.kill(each, signal.SIGSTOP)
        with pytest.raises(StoreUnavailableError):
            store.rows(ONE)
    finally:
        for each in everyone:
            os.kill(each, signal.SIGCONT)
    assert store.rows(ONE) == [(1,)]


@pytest.fixture
def refusing(remote, store):
    """From now on the server refuses new connections."""
    with remote.connect() as owner:
        store.rows(ONE)
        owner.execute("ALTER ROLE postgres PASSWORD 'another'")
        yield
        owner.execute(f"ALTER ROLE postgres PASSWORD '{PASSWORD}'")


def test_a_server_that_refuses_new_connections_is_waited_for(store, refusing):
    """As one with too many clients: it is there, and cannot be asked what it does."""
    with store.read() as connection:
        assert connection.execute(sa.text("SELECT 7 FROM pg_sleep(5)")).scalar_one() == 7


def test_a_pooler_that_hides_the_server_process_is_waited_for(store, monkeypatch):
    """As PgBouncer, which gives each client a process id of its own making."""
    with store.read() as connection:
        raw = connection.connection.dbapi_connection
        assert isinstance(raw, silence.WatchedConnection)
        monkeypatch.setattr(psycopg.ConnectionInfo, "backend_pid", property(lambda _info: 1))
        assert connection.execute(sa.text("SELECT 7 FROM pg_sleep(5)")).scalar_one() == 7
