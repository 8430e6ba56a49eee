"""A store that takes no more: a clear error, nothing half-written, and all is well once there is room."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

from orchestrator.errors import StoreError, StoreUnavailableError
from orchestrator.store.tables import JobState, artifact, attempt, forgery_answer, outcome
from tests.orchestrator.store.conftest import DONE
from workers.jobs.forging import ForgeryAnswer

LARGE_BYTES = b"x" * 2_000_000
SHA256 = hashlib.sha256(LARGE_BYTES).hexdigest()
LARGE = {SHA256: LARGE_BYTES}


@contextmanager
def full_sqlite(store):
    """Let the database file grow no more, as where the disk is full."""
    with store.write() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    with pragma(store, f"max_page_count = {pages + 2}"):
        yield "database or disk is full"


@contextmanager
def read_only_sqlite(store):
    """Refuse every write, as with a file that this user may only read."""
    with pragma(store, "query_only = ON"):
        yield "attempt to write a readonly database"


@contextmanager
def pragma(store, setting):
    def set_it(connection, _record):
        connection.execute(f"PRAGMA {setting}")

    sa.event.listen(sa.Pool, "connect", set_it)
    store.close()
    yield
    sa.event.remove(sa.Pool, "connect", set_it)
    store.close()


@contextmanager
def full_postgres(store):
    """Fail as PostgreSQL does where its disk is full."""
    tables = ("artifact", "attempt", "forgery_answer", "outcome")
    with store.write() as connection:
        connection.exec_driver_sql(
            "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$"
            " BEGIN RAISE EXCEPTION 'could not extend file: No space left on device'"
            " USING ERRCODE = '53100'; END $$"
        )
        for table in tables:
            # After the row: what a transaction has written before must go away again.
            connection.exec_driver_sql(
                f"CREATE TRIGGER full_disk AFTER INSERT ON {table} EXECUTE FUNCTION full_disk()"
            )
    yield "No space left on device"
    with store.write() as connection:
        connection.exec_driver_sql("DROP FUNCTION full_disk CASCADE")


@contextmanager
def read_only_postgres(store):
    """Refuse every write, as a standby server does."""
    name = sa.make_url(str(store)).database
    with store.write() as connection:
        connection.exec_driver_sql(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    store.close()
    yield "read-only transaction"
    with store.read() as connection:
        connection.exec_driver_sql("SET TRANSACTION READ WRITE")
        connection.exec_driver_sql(f"ALTER DATABASE {name} RESET default_transaction_read_only")
        connection.commit()
    store.close()


KINDS = {
    "full": (full_sqlite, full_postgres),
    "read-only": (read_only_sqlite, read_only_postgres),
}


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_half_written_and_later_all_is_well(workshop, kind):
    (job_id,) = workshop.jobs("a")
    ledger = workshop.ledger
    ledger.lease(job_id, "w")
    many = [ForgeryAnswer(at, 0, "forged", 0.1, 0.1, "", b"w" * 3000) for at in range(500)]
    fault = KINDS[kind][0 if workshop.store.is_sqlite else 1]
    with fault(workshop.store) as reason:
        for write in (
            lambda: ledger.record(job_id, "w", DONE, LARGE),
            lambda: ledger.save(job_id, many),
            lambda: ledger.fail(job_id, "w", "it failed " + "x" * 1_000_000),
        ):
            with pytest.raises(StoreError, match=reason) as caught:
                write()
            assert not isinstance(caught.value, StoreUnavailableError), "trying again would be of no use"
            assert len(str(caught.value).splitlines()) == 1
        row = workshop.row(job_id)
        assert (row.state, row.lease_owner, row.failures) == (JobState.RUNNING, "w", 0)
        for table in (artifact, attempt, forgery_answer, outcome):
            assert workshop.count(table) == 0, table.name
    ledger.save(job_id, many)
    assert ledger.record(job_id, "w", DONE, LARGE)
    assert workshop.states("a") == [JobState.DONE]
    assert ledger.artifact(SHA256) == LARGE[SHA256]
    assert workshop.count(forgery_answer) == len(many)
