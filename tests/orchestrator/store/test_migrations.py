"""Every earlier schema becomes the newest one, with what is in it."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from orchestrator.store import database
from orchestrator.store.database import Store, head_revision, known_revisions
from orchestrator.store.tables import metadata


@pytest.mark.parametrize("revision", known_revisions()[1:])
def test_an_upgrade_from_each_earlier_revision_keeps_what_is_there(store_url, revision):
    store = Store(store_url)
    config = database._alembic_config()
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
