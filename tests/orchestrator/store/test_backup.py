"""The commands of docs/operations.md for backups, run as they stand there, while a job runs."""

from __future__ import annotations

import os
import re
import shlex
import sys
from contextlib import closing
from pathlib import Path

import sqlalchemy as sa

from orchestrator import results
from orchestrator.archive import import_archive, write_archive
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.tables import JobState, job
from tests import ending, servers

TEXT = (Path(__file__).resolve().parents[3] / "docs/operations.md").read_text()
SQLITE, POSTGRES = re.findall(r"^```\n(.*?)^```", TEXT.partition("## Backup")[2], re.M | re.S)


def run_a_job(store):
    """Let a job of another campaign's be running; return its id."""
    with store.write() as connection:
        job_id = connection.execute(
            sa.insert(job)
            .values(key="k" * 64, kind="split", parameters={}, weight=1, state=JobState.READY, failures=0)
            .returning(job.c.id)
        ).scalar_one()
    assert StoreLedger(store).lease(job_id, "elsewhere:1:1:0") is not None
    return job_id


def assert_restored(store, original, job_id):
    store.check()
    assert results.fingerprint(store, 1) == results.fingerprint(original, 1)
    ((state,),) = store.rows(sa.select(job.c.state).where(job.c.id == job_id))
    assert state == JobState.RUNNING


def test_sqlite(finished, tmp_path):
    job_id = run_a_job(finished)
    (tmp_path / "wm.db").symlink_to(tmp_path / "finished.db")
    with finished.write() as connection:  # somebody writes at this moment
        connection.execute(sa.update(job).where(job.c.id == job_id).values(failures=7))
        command = SQLITE.replace("python3", shlex.quote(sys.executable), 1)
        ending.run(["/bin/sh", "-euc", command], cwd=tmp_path)
    with closing(Store(f"sqlite:///{tmp_path / 'backup.db'}")) as restored:
        assert_restored(restored, finished, job_id)
        ((failures,),) = restored.rows(sa.select(job.c.failures).where(job.c.id == job_id))
        assert failures == 0, "not yet written"


def test_postgresql(finished, tmp_path):
    server = servers.Postgres()
    archive = tmp_path / "a.zip"
    write_archive(finished, 1, archive)
    with closing(Store(server.url())) as store:
        import_archive(store, archive)
        job_id = run_a_job(store)
        environment = os.environ | {
            "PATH": f"{server.programs}:{os.environ['PATH']}",
            "PGHOST": str(server.directory),
            "PGUSER": "postgres",
            "DATABASE": "postgres",
        }
        ending.run(["/bin/sh", "-euc", POSTGRES], cwd=tmp_path, env=environment)
        with closing(Store(server.url("restored"))) as restored:
            assert_restored(restored, finished, job_id)
    server.close()
