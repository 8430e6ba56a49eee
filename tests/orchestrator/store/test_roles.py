"""What a worker's login can do on PostgreSQL: run jobs; and all that it cannot."""

from __future__ import annotations

import hashlib
import uuid

import pytest
import sqlalchemy as sa

from orchestrator.errors import NotFoundError, StoreError
from orchestrator.store import queue
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.roles import set_worker_login, worker_role_exists
from orchestrator.store.services import StoreRegistry
from orchestrator.store.tables import JobState, global_proof, metadata
from tests.orchestrator.store.conftest import DONE, Workshop
from workers.jobs.forging import ForgeryAnswer, GlobalProof
from workers.jobs.kinds import JobKind
from workers.runtime.registry import WorkerRecord

BYTES_HASH = hashlib.sha256(b"bytes").hexdigest()
ENDED = sa.text("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = :name")
PASSWORD = "it's $1$:"  # noqa: S105 - of a login that lives as long as the test


@pytest.fixture
def workshop(upgraded_postgres_url, spec):
    store = Store(upgraded_postgres_url)
    made = Workshop(store, spec)
    made.campaign(made.job("a", kind=JobKind.EMBED), made.job("b", "a", kind=JobKind.FORGERY), made.job("c"))
    yield made
    store.close()


@pytest.fixture
def worker(workshop, upgraded_postgres_url):
    """The same store with a worker's login."""
    name = f"worker_{uuid.uuid4().hex}"
    set_worker_login(workshop.store, name, PASSWORD)
    url = sa.make_url(upgraded_postgres_url).set(username=name, password=PASSWORD)
    store = Store(url.render_as_string(hide_password=False))
    yield store
    store.close()
    with workshop.store.write() as connection:
        # A session drops its temporary tables as it ends, a moment after it was closed.
        connection.execute(ENDED, {"name": name})
        connection.exec_driver_sql(f"DROP ROLE {name}")


def test_a_worker_can_do_its_work(workshop, worker):
    ledger = StoreLedger(worker)
    worker.check()
    a, b, c = map(workshop.id, "abc")
    assert ledger.lease(a, "w") is not None
    assert ledger.heartbeat(a, "w")
    assert ledger.record(a, "w", DONE, {BYTES_HASH: b"bytes"})
    assert ledger.artifact(BYTES_HASH) == b"bytes"
    assert ledger.lease(b, "w").inputs == {JobKind.EMBED: (DONE.result,)}
    ledger.save(b, [GlobalProof(1)])
    ledger.save(b, [ForgeryAnswer(0, 0, "forged", 0.1, 0.1, "", b"w")])
    ledger.hand_back(b, "w")
    for _ in range(3):
        ledger.lease(c, "w")
        ledger.fail(c, "w", "no")
    assert workshop.states("a", "b", "c") == [JobState.DONE, JobState.READY, JobState.FAILED]
    registry = StoreRegistry(worker)
    registry.beat(WorkerRecord("w", "1", 2))
    registry.beat(WorkerRecord("w", "1", 2))
    assert registry.orchestrator_versions() == []
    registry.leave("w")
    assert queue.requeue_expired(workshop.store) == 0


def test_a_worker_cannot_put_other_bytes_under_a_hash(workshop, worker):
    """A hostile worker guesses the hash of a forest that another job will record."""
    wanted = hashlib.sha256(b"the true forest").hexdigest()
    ledger = StoreLedger(worker)
    assert ledger.lease(workshop.id("a"), "w") is not None
    with pytest.raises(StoreError, match="artifact_is_its_hash"):
        ledger.record(workshop.id("a"), "w", DONE, {wanted: b"another forest"})
    with pytest.raises(NotFoundError):
        ledger.artifact(wanted)


FORBIDDEN = [
    *(f"TABLE {table}" for table in ("campaign", "campaign_job", "cell", "lease")),
    *(f"DELETE FROM {table}" for table in metadata.tables if table != "worker"),  # noqa: S608 - our own names
    *(f"TRUNCATE {table} CASCADE" for table in metadata.tables),
    *(f"DROP TABLE {table} CASCADE" for table in metadata.tables),
    "INSERT INTO job (key, kind, parameters, weight, state, failures)"
    " VALUES ('k', 'split', '{}', 1, 'ready', 0)",
    "INSERT INTO job_need (job_id, needs_id) VALUES (1, 1)",
    "INSERT INTO orchestrator (name, version, started_at, heartbeat_at) VALUES ('o', '1', 0, 0)",
    "UPDATE job SET parameters = '{}'",
    "UPDATE job SET key = 'other'",
    "UPDATE job SET kind = 'split'",
    "UPDATE job SET weight = 7",
    "UPDATE job SET cancelled = true",
    "UPDATE outcome SET status = 'done'",
    "UPDATE forgery_answer SET status = 'forged'",
    "UPDATE artifact SET data = ''",
    "UPDATE global_proof SET label = 0",
    "UPDATE attempt SET reason = ''",
    "UPDATE alembic_version SET version_num = '9999'",
    "UPDATE orchestrator SET version = '0'",
    "CREATE TABLE mine (id integer)",
    "CREATE ROLE another",
]


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_a_worker_can_do_nothing_else(worker, statement):
    with pytest.raises(StoreError, match=r"permission denied|must be owner"), worker.write() as connection:
        connection.exec_driver_sql(statement)


def test_a_new_password_replaces_the_old_one_and_other_logins_are_left_alone(workshop, worker):
    name = sa.make_url(str(worker)).username
    set_worker_login(workshop.store, name, "another")
    with pytest.raises(StoreError, match="postgres is no worker's login"):
        set_worker_login(workshop.store, "postgres", "mine now")
    assert worker_role_exists(workshop.store)


def test_sqlite_has_no_logins(tmp_path):
    store = Store(f"sqlite:///{tmp_path / 'wm.db'}")
    with pytest.raises(StoreError, match="SQLite has no users"):
        set_worker_login(store, "w", "p")
    assert worker_role_exists(store)


def refused_without_lease(worker: Store, statement: str) -> None:
    with (
        pytest.raises(StoreError, match=r"permission denied: .* has no lease for"),
        worker.write() as connection,
    ):
        connection.exec_driver_sql(statement)


OUTCOME = (
    "INSERT INTO outcome (job_id, status, timings, error, owner, recorded_at)"
    " VALUES ({}, 'done', '{{}}', '', 'w', 0)"
)
WITHOUT_LEASE = [
    OUTCOME,
    "INSERT INTO attempt (job_id, owner, failed_at, reason) VALUES ({}, 'w', 0, 'lost')",
    "INSERT INTO forgery_answer (job_id, instance, row, status, seconds, reason)"
    " VALUES ({}, 0, 0, 'impossible', 0, '')",
    "UPDATE job SET state = 'done' WHERE id = {}",
    "UPDATE job SET state = 'ready' WHERE id = {}",
    "UPDATE job SET state = 'running' WHERE id = {}",
    "UPDATE job SET state = 'blocked' WHERE id = {}",
    "UPDATE job SET state = 'cancelled' WHERE id = {}",
    "UPDATE job SET failures = 2 WHERE id = {}",
    "UPDATE job SET lease_until = 9e9 WHERE id = {}",
]


def test_a_worker_changes_only_what_its_login_has_leased(workshop, worker):
    """`a` is ready, `b` waits for `a`, `c` is leased by the owner of the tables."""
    ids = list(map(workshop.id, "abc"))
    assert workshop.ledger.lease(ids[2], "w") is not None
    for statement in WITHOUT_LEASE:
        for job in ids:
            refused_without_lease(worker, statement.format(job))
    with pytest.raises(StoreError, match="has no lease for an outcome"):
        StoreLedger(worker).record(ids[2], "w", DONE, {})
    assert workshop.states("a", "b", "c") == [JobState.READY, JobState.WAITING, JobState.RUNNING]


def test_a_proof_needs_a_lease_of_a_job_about_its_forest(workshop, worker):
    a, b = map(workshop.id, "ab")
    proof = "INSERT INTO global_proof (embed_id, subject, label, job_id) VALUES ({}, 's', 0, {})"
    workshop.finish("a")
    refused_without_lease(worker, proof.format(a, b))  # not leased yet
    ledger = StoreLedger(worker)
    ledger.lease(b, "w")
    ledger.save(b, [GlobalProof(1)])
    refused_without_lease(worker, proof.format(b, b))  # about another forest
    refused_without_lease(worker, "INSERT INTO global_proof (embed_id, subject, label) VALUES (1, 's', 0)")
    with workshop.store.read() as connection:
        assert connection.execute(sa.select(global_proof.c.job_id)).scalars().all() == [b], "its finder"


def test_a_late_result_still_counts(workshop, worker):
    """The lease has expired and the job is ready again, or another has it."""
    ledger, (a, c) = StoreLedger(worker), map(workshop.id, "ac")
    for job in (a, c):
        assert ledger.lease(job, "w") is not None
    workshop.expire(a, c)
    assert queue.requeue_expired(workshop.store) == 2
    assert workshop.ledger.lease(c, "another") is not None
    for job in (a, c):
        assert not ledger.heartbeat(job, "w")
        assert ledger.record(job, "w", DONE, {})
    assert workshop.states("a", "b", "c") == [JobState.DONE, JobState.READY, JobState.DONE]


def test_a_table_of_the_workers_own_does_not_stand_in_for_the_leases(workshop, worker):
    with worker.write() as connection:
        connection.exec_driver_sql("CREATE TEMPORARY TABLE lease (job_id int, number int, login text)")
        connection.execute(sa.text("INSERT INTO lease VALUES (:a, 0, NULL)"), {"a": workshop.id("a")})
    refused_without_lease(worker, OUTCOME.format(workshop.id("a")))
