"""What works and what does not: store, broker, services; with a mend for each fault."""

from __future__ import annotations

import time
from dataclasses import dataclass

import sqlalchemy as sa

from orchestrator.celery_executor import open_broker
from orchestrator.errors import BrokerError, NotFoundError, SchemaError, StoreError, StoreUrlError
from orchestrator.store import services
from orchestrator.store.database import Store, head_revision
from orchestrator.store.roles import WORKER_ROLE, worker_role_exists
from orchestrator.store.services import Service
from workers.app import make_app
from workers.version import protocol_version

_OTHER_CONNECTIONS = 10
"""For orchestrators, people, and what PostgreSQL keeps for its administrator."""

SKEW_LIMIT_S = 5.0
"""Leases go by the store's one clock, so skew harms nothing but what people read in logs."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes
    ----------
    what, found
        For people.
    mend
        What to do about it; empty where all is well.
    is_fault
        Whether campaigns cannot run like this.
    """

    what: str
    found: str
    mend: str = ""
    is_fault: bool = False


def diagnose(store_url: str, broker_url: str) -> list[Finding]:
    """Look at everything that a campaign on many machines needs; raises nothing foreseen."""
    return [Finding("version", protocol_version()), *_store(store_url), *_broker(broker_url)]


def _store(url: str) -> list[Finding]:
    try:
        store = Store(url)
    except StoreUrlError as reason:
        return [Finding("store", str(reason), "mend --store or WM_STORE_URL", is_fault=True)]
    except StoreError as reason:
        return [Finding("store", str(reason), "pip install 'psycopg[binary]'", is_fault=True)]
    try:
        store.check()
        up_to_date = Finding("store", f"{store}: schema {head_revision()}, up to date")
        return [up_to_date, *_store_details(store)]
    except SchemaError as reason:
        return [Finding("store", str(reason), reason.mend, is_fault=True)]
    except NotFoundError as reason:
        return [Finding("store", str(reason), "mend WM_STORE_URL, or run wm db upgrade", is_fault=True)]
    except StoreError as reason:
        return [Finding("store", str(reason), "start the database, or mend WM_STORE_URL", is_fault=True)]
    finally:
        store.close()


def _store_details(store: Store) -> list[Finding]:
    with store.read() as connection:
        skew = abs(store.now(connection) - time.time())
    mend = "" if skew <= SKEW_LIMIT_S else "set the clocks of this machine and the store's, by NTP say"
    found = [Finding("clock", f"{skew:.1f} s apart from the store's", mend)]
    if not worker_role_exists(store):
        found.append(
            Finding(
                "worker role",
                f"there is no {WORKER_ROLE}: workers log in with all rights",
                f"as an administrator: CREATE ROLE {WORKER_ROLE}; and grant it what migration 0002 lists",
            )
        )
    workers = services.workers(store)
    found += _connections(store, [worker for worker in workers if worker.is_alive])
    ours = protocol_version()
    for kind, known in (("orchestrator", services.orchestrators(store)), ("worker", workers)):
        alive = [service for service in known if service.is_alive]
        if not alive:
            command = "wm orchestrate" if kind == "orchestrator" else "wm worker"
            found.append(Finding(f"{kind}s", "none alive", f"start one: {command}"))
        for service in alive:
            differs = service.version != ours
            found.append(
                Finding(
                    kind,
                    f"{service.name} version {service.version}, heard {service.silent_s:.0f} s ago",
                    f"install version {ours} there, or its version here" if differs else "",
                    is_fault=differs,
                )
            )
    return found


def _connections(store: Store, alive: list[Service]) -> list[Finding]:
    """Look whether PostgreSQL lets in as many connections as the living workers may want at once."""
    if store.is_sqlite:
        return []
    with store.read() as connection:
        most = int(connection.execute(sa.text("SELECT current_setting('max_connections')")).scalar_one())
    wanted = sum(worker.slots + 1 for worker in alive) + _OTHER_CONNECTIONS
    if wanted <= most:
        return []
    return [
        Finding(
            "connections",
            f"the workers may want {wanted}, the database lets in {most}",
            "raise max_connections, or put a pooler such as PgBouncer before the database",
        )
    ]


def _broker(url: str) -> list[Finding]:
    try:
        connection = open_broker(make_app(url))
    except BrokerError as reason:
        return [Finding("broker", str(reason), "start the broker, or mend WM_BROKER_URL", is_fault=True)]
    client = connection.default_channel.client
    name = connection.as_uri()
    try:
        policy = client.config_get("maxmemory-policy").get("maxmemory-policy", "unknown")
    except Exception as reason:  # a managed broker may forbid the question
        policy = f"unknown ({reason})"
    connection.release()
    if policy.startswith(("noeviction", "unknown")):
        return [Finding("broker", f"{name}: answers, maxmemory-policy {policy}")]
    return [
        Finding(
            "broker",
            f"{name}: maxmemory-policy {policy} may drop messages, which costs time",
            "set maxmemory-policy noeviction",
        )
    ]
