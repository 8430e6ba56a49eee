"""Every earlier schema becomes the newest one, with what is in it."""

from __future__ import annotations

from contextlib import closing

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from orchestrator import results
from orchestrator.archive import write_archive
from orchestrator.store import database
from orchestrator.store.database import Store, head_revision, known_revisions
from orchestrator.store.tables import forgery_answer, global_proof, metadata


@pytest.mark.parametrize("revision", known_revisions()[1:])
def test_an_upgrade_from_each_earlier_revision_keeps_all_rows(store_url, revision):
    store = Store(store_url)
    config = database.alembic_config()
    with store.write() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        connection.exec_driver_sql(
            "INSERT INTO job (key, kind, parameters, weight, state, failures)"
            " VALUES ('k', 'split', '{}', 1, 'ready', 0)"
        )
        connection.exec_driver_sql("INSERT INTO job_need (job_id, needs_id) VALUES (1, 1)")
    assert store.revision() == revision
    store.upgrade()
    assert store.revision() == head_revision()
    with store.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        row = connection.execute(sa.text("SELECT key, state, leases, cancelled FROM job")).one()
        need = connection.execute(sa.text("SELECT job_id, needs_id, optional FROM job_need")).one()
        if not store.is_sqlite:
            storage = connection.execute(
                sa.text(
                    "SELECT attstorage FROM pg_attribute"
                    " WHERE attrelid = 'forgery_answer'::regclass AND attname = 'witness'"
                )
            ).scalar_one()
            assert storage in ("e", b"e"), "as it is, outside of the row"
    assert (row.key, row.state, row.leases, bool(row.cancelled)) == ("k", "ready", 0, False)
    assert (need.job_id, need.needs_id, bool(need.optional)) == (1, 1, False)
    store.close()


@pytest.mark.parametrize("revision", known_revisions()[1:])
def test_a_finished_campaign_has_the_same_results_after_an_upgrade(store_url, finished, revision, tmp_path):
    """Every table of that revision gets the rows of a real campaign, as far as it has their columns."""
    with closing(Store(store_url)) as store:
        config = database.alembic_config()
        with store.write() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
            there = sa.inspect(connection)
            for table in metadata.sorted_tables:
                if not there.has_table(table.name):
                    continue
                columns = [table.c[column["name"]] for column in there.get_columns(table.name)]
                rows = [dict(row._mapping) for row in finished.rows(sa.select(*columns))]
                if rows:
                    connection.execute(sa.insert(table), rows)
        store.upgrade()
        assert results.fingerprint(store, 1) == results.fingerprint(finished, 1)
        for name in ("accuracy", "jobs", "detection"):
            assert results.frame(store, 1, name).to_csv() == results.frame(finished, 1, name).to_csv()
        write_archive(store, 1, tmp_path / "a.zip")


OLD_REASONS = {
    # status, seconds, reason: followed_from, certified
    ("forged", 0.1, "solver"): (None, None),
    ("forged", 0.0, "follows from eps 0.25: solver"): (0.25, None),
    ("impossible", 0.0, "follows from eps 1e-05: no leaf"): (1e-05, None),
    ("impossible", 0.2, "solver; certified: solver, proof checked (3 steps)"): (None, True),
    ("impossible", 0.2, "solver; not certified: timeout (time limit of 1 s)"): (None, False),
    ("impossible", 0.2, "solver; not certified: error (not certified: no proof)"): (None, False),
    ("impossible", 0.0, "follows from eps 0.5: no leaf; certified: no leaf, checked"): (0.5, True),
    ("impossible", 0.0, "follows from eps 0.5: solver; not certified: memout (2 MB)"): (0.5, False),
    ("error", 0.3, "not certified: refused"): (None, None),
    ("error", 0.3, "follows from eps nowhere: a traceback"): (None, None),
}


def test_facts_in_reasons_become_columns(store_url):
    store = Store(store_url)
    config = database.alembic_config()
    with store.write() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0006")
        connection.exec_driver_sql(
            "INSERT INTO job (key, kind, parameters, weight, state, failures)"
            " VALUES ('k', 'forgery', '{}', 1, 'done', 0)"
        )
        connection.exec_driver_sql(
            "INSERT INTO whole_domain_proof (embed_id, subject, label) VALUES (1, 's', 0)"
        )
        insert = sa.text(
            "INSERT INTO forgery_answer (job_id, instance, row, status, seconds, reason)"
            " VALUES (1, :instance, 7, :status, :seconds, :reason)"
        )
        for instance, (status, seconds, reason) in enumerate(OLD_REASONS):
            values = {"instance": instance, "status": status, "seconds": seconds, "reason": reason}
            connection.execute(insert, values)
    store.upgrade()
    with store.read() as connection:
        rows = connection.execute(sa.select(forgery_answer).order_by(forgery_answer.c.instance)).all()
        proofs = [tuple(row) for row in connection.execute(sa.select(global_proof))]
    assert {(row.status, row.seconds, row.reason): (row.followed_from, row.certified) for row in rows} == (
        OLD_REASONS
    ), "and the reasons stay as they were"
    assert proofs == [(1, "s", 0, None)]
    store.close()
