"""Opening a store: its schema, and every way in which that can go wrong."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from orchestrator.errors import NotFoundError, SchemaError, StoreError, StoreUnavailableError, StoreUrlError
from orchestrator.store import database, sqlite_file
from orchestrator.store.database import Store, head_revision, known_revisions
from orchestrator.store.tables import JobState, artifact, campaign, job, metadata
from tests import ending

ARTIFACT = {"sha256": hashlib.sha256(b"x").hexdigest(), "size": 1, "data": b"x"}


@contextlib.contextmanager
def opened(url):
    store = Store(url)
    try:
        yield store
    finally:
        store.close()


@contextlib.contextmanager
def beginning_with(action):
    """Let every transaction begin with something."""
    sa.event.listen(sa.Engine, "begin", action)
    try:
        yield
    finally:
        sa.event.remove(sa.Engine, "begin", action)


def one_line(caught):
    text = str(caught.value)
    assert len(text.splitlines()) == 1
    return text


# The schema


def test_migrations_make_the_tables_that_the_code_describes(store):
    with store.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_server_default": True})
        assert compare_metadata(context, metadata) == []


def test_a_difference_between_migrations_and_tables_would_be_seen(store):
    with store.write() as connection:
        connection.exec_driver_sql("ALTER TABLE job ADD COLUMN surprise INTEGER")
    with store.read() as connection:
        ((kind, *_),) = compare_metadata(MigrationContext.configure(connection), metadata)
    assert kind == "remove_column"


def test_upgrading_again_changes_nothing(store):
    with store.write() as connection:
        connection.execute(
            sa.insert(artifact).values(sha256=hashlib.sha256(b"x").hexdigest(), size=1, data=b"x")
        )
    store.upgrade()
    assert store.revision() == head_revision() == known_revisions()[0]
    with store.read() as connection:
        assert connection.execute(sa.select(artifact.c.data)).scalar_one() == b"x"
    store.check()


def test_revisions_are_those_of_alembic():
    scripts = ScriptDirectory.from_config(database.alembic_config()).walk_revisions()
    assert known_revisions() == [script.revision for script in scripts]


def test_two_programs_may_upgrade_at_once(store_url):
    barrier = threading.Barrier(3, timeout=60)
    failures = []

    def upgrade():
        with opened(store_url) as store:
            barrier.wait()
            try:
                store.upgrade()
                store.check()
            except Exception as reason:
                failures.append(reason)

    threads = [threading.Thread(target=upgrade) for _ in range(3)]
    for thread in threads:
        thread.start()
    ending.join(*threads)
    assert failures == []


def test_an_upgrade_that_fails_leaves_nothing_behind(store_url, monkeypatch):
    def half(config, _revision):
        config.attributes["connection"].exec_driver_sql("CREATE TABLE half (id INTEGER)")
        raise RuntimeError("the power went")

    with opened(store_url) as store:
        with monkeypatch.context() as patch:
            patch.setattr(command, "upgrade", half)
            with pytest.raises(RuntimeError):
                store.upgrade()
        assert store.revision() is None
        with store.read() as connection:
            assert sa.inspect(connection).get_table_names() == []
        store.upgrade()
        store.check()


def test_a_newer_schema_is_refused(store):
    with store.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreError, match="schema 9999, newer than this program: upgrade treeproof") as caught:
        store.upgrade()
    one_line(caught)
    with pytest.raises(SchemaError, match="schema 9999, newer than this program") as caught:
        store.check()
    assert caught.value.fix == "upgrade treeproof"


def test_an_old_schema_is_reported_with_the_fix(store_url):
    with opened(store_url) as store:
        config = database.alembic_config()
        with store.write() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, known_revisions()[1])
        with pytest.raises(
            SchemaError, match=rf"schema .*, not {head_revision()}: run wm db upgrade"
        ) as caught:
            store.check()
        one_line(caught)


def test_an_empty_database_is_reported(store_url):
    with opened(store_url) as store:
        with store.write():
            pass
        with pytest.raises(StoreError, match="is empty: run a campaign, or wm db upgrade") as caught:
            store.check()
        one_line(caught)
        with pytest.raises(StoreError, match="run: wm db upgrade"), store.read() as connection:
            connection.execute(sa.select(job))


# Transactions


def test_a_transaction_that_fails_changes_nothing(store):
    def work():
        with store.write() as connection:
            connection.execute(
                sa.insert(artifact).values(sha256=hashlib.sha256(b"x").hexdigest(), size=1, data=b"x")
            )
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    with store.read() as connection:
        assert connection.execute(sa.select(artifact)).all() == []


def test_only_new_rows_are_inserted_and_counted(store):
    def rows(first, last):
        return [
            {
                "key": f"{number}",
                "kind": "split",
                "parameters": {},
                "weight": first,
                "state": JobState.READY,
                "failures": 0,
            }
            for number in range(first, last)
        ]

    with store.write() as connection:
        assert store.insert_new(connection, job, rows(0, 1200)) == 1200
        assert store.insert_new(connection, job, rows(600, 1900)) == 700
        assert store.insert_new(connection, job, []) == 0
        weights = {
            row.weight: row.number
            for row in connection.execute(
                sa.select(job.c.weight, sa.func.count().label("number")).group_by(job.c.weight)
            )
        }
    assert weights == {0: 1200, 600: 700}, "rows that were there are left alone"


def test_references_are_checked(store):
    with pytest.raises(StoreError), store.write() as connection:
        connection.exec_driver_sql("INSERT INTO job_need (job_id, needs_id) VALUES (1, 2)")


# URLs


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://user:secret@localhost/wm",
        "mysql://user:secret@localhost/wm",
        "postgresql+nosuch://user:secret@localhost/wm",
        "postgresql//user:secret@localhost/wm",
        "user:secret@localhost",
        "postgresql://user:secret@localhost:port/wm",
        "mysql://user:sec@ret/secret@localhost/wm",
        "postgresql+psycopg://user:sec@secret@localhost/wm",
        "://user:secret@localhost",
    ],
)
def test_a_password_is_never_shown(url):
    with contextlib.suppress(StoreUrlError, StoreError):
        with opened(url) as store:
            assert "secret" not in str(store)
        return
    with pytest.raises((StoreUrlError, StoreError)) as caught:
        Store(url)
    assert "secret" not in one_line(caught)
    assert "localhost" in str(caught.value)


@pytest.mark.parametrize("url", ["", "wm.db", "sqlite:/wm.db", "/tmp/wm.db", "sqlite"])  # noqa: S108 - no file
def test_an_invalid_url_is_reported_with_an_example(url):
    with pytest.raises(StoreUrlError, match=r"is not a database URL, as sqlite:///wm\.db") as caught:
        Store(url)
    one_line(caught)


@pytest.mark.parametrize("url", ["mysql://localhost/wm", "oracle://localhost/wm"])
def test_other_databases_are_refused(url):
    with pytest.raises(StoreUrlError, match="use sqlite:///FILE or postgresql"):
        Store(url)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
def test_a_database_in_memory_is_refused(url):
    with pytest.raises(StoreUrlError, match="threads cannot share a database in memory: name a file"):
        Store(url)


def test_a_missing_directory_is_reported(tmp_path):
    with pytest.raises(StoreUrlError, match=f"there is no directory {tmp_path / 'nowhere'}"):
        Store(f"sqlite:///{tmp_path / 'nowhere' / 'wm.db'}")


# SQLite files


def sqlite_url(path):
    return f"sqlite:///{path}"


def test_a_missing_file_is_reported_and_not_created(tmp_path):
    path = tmp_path / "wm.db"
    with opened(sqlite_url(path)) as store, pytest.raises(NotFoundError, match="there is no store") as caught:
        store.check()
    assert str(path) in one_line(caught)
    assert not path.exists()


@pytest.mark.parametrize("content", [b"this is no database, whatever its name says", b"\x00" * 8192])
@pytest.mark.parametrize("act", ["check", "upgrade", "revision"])
def test_a_file_that_is_no_database_is_reported_and_not_changed(tmp_path, content, act):
    path = tmp_path / "wm.db"
    path.write_bytes(content)
    with (
        opened(sqlite_url(path)) as store,
        pytest.raises(StoreError, match="file is not a database") as caught,
    ):
        getattr(store, act)()
    assert str(path) in one_line(caught)
    assert path.read_bytes() == content


def test_a_directory_in_place_of_the_file_is_reported(tmp_path):
    with (
        opened(sqlite_url(tmp_path)) as store,
        pytest.raises(StoreError, match="unable to open database file"),
    ):
        store.upgrade()


def test_a_damaged_database_is_reported(tmp_path):
    path = tmp_path / "wm.db"
    with opened(sqlite_url(path)) as store:
        store.upgrade()
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with opened(sqlite_url(path)) as store, pytest.raises(StoreError, match="malformed") as caught:
        store.check()
    one_line(caught)


def test_a_read_only_store_is_reported(tmp_path):
    """Simulated in SQLite: a file's mode does not stop a test that runs as root."""
    path = tmp_path / "wm.db"
    with opened(sqlite_url(path)) as store:
        store.upgrade()

        def forbid(connection):
            connection.exec_driver_sql("PRAGMA query_only = ON")

        with beginning_with(forbid):
            store.check()
            with (
                pytest.raises(StoreError, match="attempt to write a readonly database") as caught,
                store.write() as connection,
            ):
                connection.execute(sa.delete(campaign))
    assert str(path) in one_line(caught)


def test_threads_of_one_process_take_turns_to_write_and_need_not_wait_for_locks(sqlite_url, monkeypatch):
    monkeypatch.setattr(sqlite_file, "BUSY_TIMEOUT_S", 0)
    with opened(sqlite_url) as store:
        store.upgrade()

        def write(number):
            for part in range(50):
                with store.write() as connection:
                    sha256 = f"{number:02}{part:02}".ljust(64, "0")
                    connection.execute(sa.insert(artifact).values(sha256=sha256, size=1, data=b"x"))

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, range(4)))
        with store.read() as connection:
            assert connection.execute(sa.select(sa.func.count()).select_from(artifact)).scalar_one() == 200


def test_a_store_locked_too_long_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite_file, "BUSY_TIMEOUT_S", 0)
    path = tmp_path / "wm.db"
    with opened(sqlite_url(path)) as store:
        store.upgrade()
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            store.check()
            with pytest.raises(StoreError, match="database is locked") as caught, store.write():
                pass
            other.execute("ROLLBACK")
        with store.write():
            pass
    one_line(caught)


def test_a_file_that_another_process_is_setting_up_is_waited_for(tmp_path, monkeypatch):
    path = tmp_path / "wm.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")  # SQLite does not wait for it before it changes the mode
        waits = []

        def sleep(seconds):
            waits.append(seconds)
            if other.in_transaction:
                other.execute("ROLLBACK")

        monkeypatch.setattr(time, "sleep", sleep)
        with opened(sqlite_url(path)) as store:
            assert store.revision() is None
        assert len(waits) == 1
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr(time, "sleep", waits.append)
        monkeypatch.setattr(sqlite_file, "BUSY_TIMEOUT_S", 0)
        with opened(sqlite_url(path)) as store, pytest.raises(StoreError, match="database is locked"):
            store.revision()


def test_sqlite_is_set_up_for_many_processes(tmp_path):
    with opened(sqlite_url(tmp_path / "wm.db")) as store, store.read() as connection:
        pragmas = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "synchronous", "busy_timeout", "foreign_keys")
        }
    assert pragmas == {"journal_mode": "wal", "synchronous": 1, "busy_timeout": 30_000, "foreign_keys": 1}


def test_a_full_disk_is_reported(tmp_path):
    path = tmp_path / "wm.db"
    with opened(sqlite_url(path)) as store:
        store.upgrade()

        def no_room(connection):
            connection.exec_driver_sql("PRAGMA max_page_count = 1")

        with (
            beginning_with(no_room),
            pytest.raises(StoreError, match="database or disk is full") as caught,
            store.write() as connection,
        ):
            connection.execute(sa.insert(artifact).values(sha256="0", size=1, data=b"x" * 10**6))
    one_line(caught)


def test_nobody_else_may_read_a_new_store(tmp_path):
    file = tmp_path / "wm.db"
    Store(f"sqlite:///{file}").upgrade()
    assert [each.stat().st_mode & 0o777 for each in tmp_path.iterdir()] == [0o600] * len(
        [*tmp_path.iterdir()]
    )


# Files that can only be read, and names of files


@pytest.fixture
def only_readable(tmp_path, monkeypatch):
    """A store in a directory that this user may read only, which root never is: `os.access` says so."""
    folder = tmp_path / "archive"
    folder.mkdir()
    with opened(sqlite_url(folder / "wm.db")) as store:
        store.upgrade()
    may = os.access

    def access(path, mode):
        return not (mode & os.W_OK and Path(path).is_relative_to(folder)) and may(path, mode)

    monkeypatch.setattr(os, "access", access)
    return folder


@pytest.mark.parametrize("parameters", ["", "?mode=ro", "?immutable=1", "?mode=rw"])
def test_a_store_that_can_only_be_read_is_read_and_nothing_is_made_beside_it(only_readable, parameters):
    before = sorted(only_readable.iterdir())
    content = (only_readable / "wm.db").read_bytes()
    with opened(sqlite_url(only_readable / "wm.db") + parameters) as store:
        store.check()
        assert store.rows(sa.select(campaign)) == []
        assert sorted(only_readable.iterdir()) == before
        with (
            pytest.raises(StoreError, match="attempt to write a readonly database"),
            store.write() as connection,
        ):
            connection.execute(sa.delete(campaign))
    assert (only_readable / "wm.db").read_bytes() == content


def test_what_a_writer_has_not_moved_into_the_file_yet_is_read(only_readable, monkeypatch):
    file = only_readable / "wm.db"
    with contextlib.closing(sqlite3.connect(file)) as writer, opened(sqlite_url(file)) as store:
        assert store.rows(sa.select(artifact.c.sha256)) == []
        with writer:
            writer.execute("PRAGMA wal_autocheckpoint = 0")
            writer.execute(
                "INSERT INTO artifact (sha256, size, data) VALUES (?, 1, 'x')", [ARTIFACT["sha256"]]
            )
        assert len(store.rows(sa.select(artifact.c.sha256))) == 1


@pytest.mark.parametrize("name", ["mode=ro", "immutable=1"])
def test_parameters_of_a_url_hold_for_who_may_write_too(tmp_path, name):
    path = tmp_path / "wm.db"
    with opened(sqlite_url(path)) as store:
        store.upgrade()
    for url in (f"{sqlite_url(path)}?{name}", f"sqlite:///file:{path}?uri=true&{name}"):
        with opened(url) as store:
            store.check()
            with pytest.raises(StoreError, match="readonly"), store.write() as connection:
                connection.execute(sa.delete(campaign))


@pytest.mark.parametrize(
    "url", ["sqlite:///runs?1/wm.db", "sqlite:///wm.db?nolock=1", "sqlite:///wm.db?mode=x"]
)
def test_an_unknown_parameter_of_a_file_is_refused_and_nothing_is_made(tmp_path, monkeypatch, url):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreUrlError, match=r"unknown parameter '(1/wm\.db|nolock)'|mode 'x' is none of"):
        Store(url)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a?b.db", "a#b.db", "a%41.db", "a b.db"])
def test_any_file_name_can_be_written(tmp_path, name):
    with opened(sqlite_url(tmp_path / quote(name))) as store:
        store.upgrade()
        store.check()
    assert (tmp_path / name).is_file()


# URLs of PostgreSQL


@pytest.fixture
def execute(postgres_url):
    """Return what runs a statement on the server, outside of any transaction."""
    server = sa.create_engine(postgres_url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)

    def call(statement):
        with server.connect() as connection:
            connection.exec_driver_sql(statement)

    return call


def with_parameters(url, text):
    return f"{url}{'&' if '?' in url else '?'}{text}"


def test_a_database_without_encoding_is_refused_in_one_line(postgres_url, execute):
    name = f"treeproof_{uuid.uuid4().hex}"
    execute(f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    url = sa.make_url(postgres_url).set(database=name).render_as_string(hide_password=False)
    with opened(url) as store, pytest.raises(StoreError, match="SQL_ASCII, it must be UTF8") as caught:
        store.upgrade()
    one_line(caught)
    execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_options_of_the_user_are_added_to_ours(postgres_url, monkeypatch):
    wanted = sa.select(sa.func.current_setting("search_path"), sa.func.current_setting("work_mem"))
    ours = sa.select(sa.func.current_setting("idle_in_transaction_session_timeout"))
    options = "options=-csearch_path%3Ds%20-c%20work_mem%3D1MB"
    with opened(with_parameters(postgres_url, options)) as store:
        assert store.rows(wanted) == [("s", "1MB")]
        assert store.rows(ours) == [("20s",)]
    monkeypatch.setenv("PGOPTIONS", "-c search_path=t")
    with opened(postgres_url) as store:
        assert store.rows(wanted)[0][0] == "t"
        assert store.rows(ours) == [("20s",)]


@pytest.mark.parametrize(("text", "value"), [("0", 0), ("none", None), ("7", 7)])
def test_the_drivers_parameter_reaches_it(postgres_url, text, value):
    with opened(with_parameters(postgres_url, f"prepare_threshold={text}")) as store:
        store.upgrade()
        with store.read() as connection:
            assert connection.connection.dbapi_connection.prepare_threshold == value


@pytest.mark.parametrize("text", ["poolsize=3", "prepare_threshold=few", "prepare_threshold=-1"])
def test_a_parameter_that_nobody_knows_is_refused_by_its_name(postgres_url, text):
    with pytest.raises(StoreUrlError, match=text.partition("=")[0]) as caught:
        Store(with_parameters(postgres_url, text))
    one_line(caught)


def test_limits_of_the_user_win(postgres_url):
    with (
        opened(with_parameters(postgres_url, "connect_timeout=3&keepalives_idle=4")) as store,
        store.read() as connection,
    ):
        used = connection.connection.dbapi_connection.info.get_parameters()
    assert (used["connect_timeout"], used["keepalives_idle"]) == ("3", "4")
    assert (used["tcp_user_timeout"], used["keepalives_count"]) == ("20000", "3")


def test_a_database_that_is_serializable_by_default_repeats_no_transaction(postgres_url, execute):
    level = sa.select(sa.func.current_setting("transaction_isolation"))
    name = sa.make_url(postgres_url).database
    execute(f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")
    with opened(postgres_url) as store:
        assert store.rows(level) == [("read committed",)]
        with store.write() as connection:
            assert connection.execute(level).scalar_one() == "read committed"


def test_a_session_that_the_server_ended_while_idle_may_be_tried_again(postgres_url):
    def fall_asleep(store):
        with store.write() as connection:
            connection.execute(sa.delete(campaign))
            time.sleep(0.5)
            connection.execute(sa.delete(campaign))

    options = "options=-c%20idle_in_transaction_session_timeout%3D200"
    with opened(postgres_url) as store:
        store.upgrade()
    with opened(with_parameters(postgres_url, options)) as store:
        with pytest.raises(StoreUnavailableError) as caught:
            fall_asleep(store)
        one_line(caught)
        with store.write() as connection:
            connection.execute(sa.delete(campaign))
