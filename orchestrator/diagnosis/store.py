"""Check the store and the services that use it."""

from __future__ import annotations

import shutil
import sqlite3
import time

import sqlalchemy as sa

from orchestrator.diagnosis.result import CheckResult, fix_for
from orchestrator.errors import NotFoundError, SchemaError, StoreError, StoreUrlError
from orchestrator.store import launched, services
from orchestrator.store.activity import expired_leases
from orchestrator.store.database import Store, head_revision
from orchestrator.store.roles import WORKER_ROLE, worker_role_exists
from orchestrator.store.services import ServiceRecord
from workers.runtime.version import protocol_version

_OTHER_CONNECTIONS = 10
"""For orchestrators, commands, and those that PostgreSQL reserves for its administrator."""

SKEW_LIMIT_S = 5.0
"""Leases use the store's clock, so that skew only affects the times in logs."""

_MIN_POSTGRES = 15
_MIN_SQLITE = (3, 35)
"""The first version with UPDATE ... RETURNING."""

_MIN_SPACE = 2**30
_MAX_NAMED = 3

_RIGHTS = "give this user the right to write the file and its directory, or fix WM_STORE_URL"
_LOGIN = "fix user and password in WM_STORE_URL, or the file that WM_STORE_PASSWORD_FILE names"
_TOO_MANY = "raise max_connections, or put a pooler, as PgBouncer, before the database"
_FIXES = (
    ("password authentication failed", _LOGIN),
    ("no password supplied", _LOGIN),
    ('role "', "fix the user in WM_STORE_URL"),
    ("no pg_hba.conf entry", "allow this host in the server's pg_hba.conf"),
    ('database "', "create that database (createdb), or fix its name in WM_STORE_URL"),
    ("permission denied", "let its owner run wm db upgrade --worker-user, or fix the user in WM_STORE_URL"),
    ("SQL_ASCII", "create a database with encoding UTF8 (createdb --encoding=UTF8 --template=template0)"),
    ("too many", _TOO_MANY),
    ("remaining connection slots", _TOO_MANY),
    ("resolve host", "fix the host in WM_STORE_URL"),
    ("name or service not known", "fix the host in WM_STORE_URL"),
    ("starting up", "wait until the database has started"),
    ("is not a database", "the file belongs to another program: fix WM_STORE_URL"),
    ("malformed", "the file is damaged: restore a copy, or fix WM_STORE_URL"),
    ("unable to open", _RIGHTS),
    ("readonly", _RIGHTS),
    ("is full", "make room on the store's disk"),
    ("locked", "find out which program keeps the file locked, and end it"),
    ("read-only transaction", "name the primary in WM_STORE_URL, not a read-only copy"),
)


def diagnose_store(url: str) -> list[CheckResult]:
    """Check whether the store can be reached, read and written, and the services that use it."""
    try:
        store = Store(url)
    except StoreUrlError as reason:
        return [_fault(reason, "fix --store or WM_STORE_URL")]
    except StoreError as reason:
        return [_fault(reason, "pip install 'psycopg[binary]'")]
    try:
        store.check()
        up_to_date = CheckResult("store", f"{store}: schema {head_revision()}, up to date")
        return [up_to_date, *_server(store), *_writing(store), *_services(store)]
    except SchemaError as reason:
        return [_fault(str(reason).removesuffix(f": {reason.fix}"), reason.fix)]
    except NotFoundError as reason:
        return [_fault(str(reason).partition(": give")[0], "fix WM_STORE_URL, or run wm db upgrade")]
    except StoreError as reason:
        return [_fault(reason, _fix(reason))]
    finally:
        store.close()


def _fault(reason: object, fix: str) -> CheckResult:
    return CheckResult("store", str(reason).removeprefix("store "), fix, is_fault=True)


def _fix(reason: StoreError) -> str:
    return fix_for(str(reason), _FIXES, "start the database, or fix WM_STORE_URL")


def _server(store: Store) -> list[CheckResult]:
    """Check the server's version, clock and roles."""
    skew = abs(store.rows(sa.select(store.clock()))[0][0] - time.time())
    version = 0 if store.is_sqlite else _setting(store, "server_version_num")
    fix = "" if skew <= SKEW_LIMIT_S else "synchronize the clocks of this machine and the store, as with NTP"
    found = [check_version(version), CheckResult("clock", f"{skew:.1f} s apart from the store's", fix)]
    if not worker_role_exists(store):
        missing = f"there is no {WORKER_ROLE}: workers log in with all rights"
        fix = f"as an administrator: CREATE ROLE {WORKER_ROLE}; and grant it the rights in migration 0002"
        found.append(CheckResult("worker role", missing, fix))
    return found


def check_version(postgres: int) -> CheckResult:
    """Check PostgreSQL's version; if it is 0, that of SQLite."""
    if postgres:
        major, minor = divmod(postgres, 10_000)
        is_old, fix = major < _MIN_POSTGRES, f"use PostgreSQL {_MIN_POSTGRES} or later"
        found = f"PostgreSQL {major}.{minor}"
    else:
        is_old, fix = sqlite3.sqlite_version_info < _MIN_SQLITE, "use a Python with SQLite 3.35 or later"
        found = f"SQLite {sqlite3.sqlite_version}, for workers on this host only"
    return CheckResult("database", found, fix if is_old else "", is_fault=is_old)


def _sees_campaigns(store: Store) -> bool:
    """Return whether this user may read campaigns, which a worker may not."""
    query = sa.select(sa.func.has_table_privilege("campaign", "SELECT"))
    return store.is_sqlite or bool(store.rows(query)[0][0])


def _writing(store: Store) -> list[CheckResult]:
    """Check whether this user may record outcomes, and the free space."""
    try:
        with store.write() as connection:
            # Changes nothing, but needs the right to write.
            connection.execute(sa.text("UPDATE job SET failures = failures WHERE id = -1"))
    except StoreError as reason:
        found = str(reason).removeprefix("store ")
        return [CheckResult("writing", found, _fix(reason), is_fault=True)]
    if store.folder is None:
        return [
            CheckResult("writing", "allowed" if _sees_campaigns(store) else "allowed, with a worker's rights")
        ]
    free = shutil.disk_usage(store.folder).free
    fix = "" if free >= _MIN_SPACE else "make room on the store's disk"
    return [CheckResult("writing", f"allowed; {free / 2**30:.1f} GB are free", fix)]


def _services(store: Store) -> list[CheckResult]:
    """Check which services are alive, their versions, and jobs left by dead workers."""
    workers, orchestrators = services.workers(store), services.orchestrators(store)
    found = _connections(store, [worker for worker in workers if worker.is_alive])
    waiting = len(launched.unfinished(store)) if _sees_campaigns(store) else 0
    for kind, command, known in (
        ("orchestrator", "wm orchestrate", orchestrators),
        ("worker", "wm worker", workers),
    ):
        alive = [service for service in known if service.is_alive]
        if not alive:
            text = f"none alive, {waiting} launched campaigns wait" if waiting else "none alive"
            found.append(CheckResult(f"{kind}s", text, f"start one: {command}"))
        found += [_version_of(kind, service) for service in alive]
        if silent := [_heard(service) for service in known if not service.is_alive]:
            more = [f"and {len(silent) - _MAX_NAMED} more"] if len(silent) > _MAX_NAMED else []
            fix = (
                "if they should run, read their logs and start them again; else they are deleted after a day"
            )
            found.append(CheckResult(f"silent {kind}s", "; ".join([*silent[:_MAX_NAMED], *more]), fix))
    if expired := expired_leases(store):
        fix = "start wm orchestrate, or wm campaign resume: either takes them back"
        leased = f"{expired} job{'s are' if expired > 1 else ' is'} leased to silent workers"
        found.append(CheckResult("leases", leased, fix))
    return found


def _version_of(kind: str, service: ServiceRecord) -> CheckResult:
    ours = protocol_version()
    differs = service.version != ours
    fix = f"install version {ours} there, or its version here" if differs else ""
    return CheckResult(kind, _heard(service, f" version {service.version}"), fix, is_fault=differs)


def _heard(service: ServiceRecord, version: str = "") -> str:
    return f"{service.name}{version}, last heartbeat {service.silent_s:.0f} s ago"


def _connections(store: Store, alive: list[ServiceRecord]) -> list[CheckResult]:
    """Check whether PostgreSQL allows the connections that the live workers may need at once."""
    if store.is_sqlite:
        return []
    limit = _setting(store, "max_connections")
    wanted = sum(worker.slots + 1 for worker in alive) + _OTHER_CONNECTIONS
    if wanted <= limit:
        return []
    found = f"the workers may need {wanted}, the database allows {limit}"
    return [CheckResult("connections", found, _TOO_MANY)]


def _setting(store: Store, name: str) -> int:
    return int(store.rows(sa.select(sa.func.current_setting(name)))[0][0])
