"""Create PostgreSQL logins for workers, with only the rights of the role that the migrations create."""

from __future__ import annotations

import sqlalchemy as sa

from orchestrator.errors import StoreError
from orchestrator.store.database import Store

WORKER_ROLE = "wm_worker"


def worker_role_exists(store: Store) -> bool:
    """Return whether the role exists; always true for SQLite, which has no roles."""
    known = sa.text("SELECT 1 FROM pg_roles WHERE rolname = :name").bindparams(name=WORKER_ROLE)
    return store.is_sqlite or bool(store.rows(known))


def set_worker_login(store: Store, name: str, password: str) -> None:
    """Create a login for workers, or give it a new password.

    Raises
    ------
    StoreError
        SQLite, no right to create roles, or the login exists and is not a worker's.
    """
    if store.is_sqlite:
        raise StoreError(f"store {store}: SQLite has no users: leave out --worker-user")
    with store.write() as connection:
        driver = connection.connection.driver_connection
        assert driver is not None  # noqa: S101 - a connection that is open has one
        hashed = driver.pgconn.encrypt_password(password.encode(), name.encode(), b"scram-sha-256").decode()
        quote = connection.dialect.identifier_preparer.quote_identifier
        member = sa.text(
            "SELECT m.member IS NOT NULL FROM pg_roles r LEFT JOIN pg_auth_members m ON m.member = r.oid"
            " AND m.roleid = (SELECT oid FROM pg_roles WHERE rolname = :role) WHERE r.rolname = :name"
        )
        known = connection.execute(member, {"role": WORKER_ROLE, "name": name}).scalar_one_or_none()
        if known is None:
            connection.exec_driver_sql(f"CREATE ROLE {quote(name)} LOGIN IN ROLE {WORKER_ROLE}")
        elif not known:
            raise StoreError(f"store {store}: {name} is no worker's login: choose another name")
        # Quoting is safe: the hash is base64 with $ and :.
        connection.exec_driver_sql(f"ALTER ROLE {quote(name)} PASSWORD '{hashed}'")
