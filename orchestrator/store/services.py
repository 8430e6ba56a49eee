"""Record and list the workers and orchestrators that use the store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

import sqlalchemy as sa

from orchestrator.store.database import Store
from orchestrator.store.tables import orchestrator, worker
from workers.runtime.registry import ALIVE_S, WorkerRecord


@dataclass(frozen=True)
class ServiceRecord(WorkerRecord):
    """A worker or an orchestrator, which has no slots."""

    silent_s: float
    """Seconds since its last heartbeat."""

    @property
    def is_alive(self) -> bool:
        """Whether its last heartbeat is recent."""
        return self.silent_s <= ALIVE_S


class StoreRegistry:
    """A `workers.runtime.registry.Registry` in the store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def beat(self, record: WorkerRecord) -> None:
        """Renew a worker's entry, or add it."""
        _beat(self._store, worker, asdict(record))

    def leave(self, name: str) -> None:
        """Remove a worker that has stopped."""
        _delete(self._store, worker, name)

    def orchestrator_versions(self) -> list[str]:
        """Return the versions of the orchestrators that are alive."""
        return sorted({service.version for service in orchestrators(self._store) if service.is_alive})


def _beat(store: Store, table: sa.Table, values: dict[str, object]) -> None:
    with store.write() as connection:
        now = store.clock()
        known = connection.execute(
            sa.update(table).where(table.c.name == values["name"]).values(heartbeat_at=now)
        )
        if known.rowcount == 0:
            store.insert_new(connection, table, [{**values, "started_at": now, "heartbeat_at": now}])


def _delete(store: Store, table: sa.Table, name: str) -> None:
    with store.write() as connection:
        connection.execute(sa.delete(table).where(table.c.name == name))


def beat_orchestrator(store: Store, name: str, version: str) -> bool:
    """Renew an orchestrator's entry; return whether it leads: of those alive, the one that started first."""
    _beat(store, orchestrator, {"name": name, "version": version})
    leader = (
        sa.select(orchestrator.c.name)
        .where(orchestrator.c.heartbeat_at > store.clock() - ALIVE_S)
        .order_by(orchestrator.c.started_at, orchestrator.c.name)
        .limit(1)
    )
    return [row.name for row in store.rows(leader)] == [name]


def leave_orchestrator(store: Store, name: str) -> None:
    """Remove an orchestrator that has stopped."""
    _delete(store, orchestrator, name)


def workers(store: Store) -> list[ServiceRecord]:
    """Return all known workers, the latest heartbeat first."""
    return _services(store, worker)


def orchestrators(store: Store) -> list[ServiceRecord]:
    """Return all known orchestrators, the latest heartbeat first."""
    return _services(store, orchestrator)


def delete_dead(store: Store, is_gone: Callable[[str], bool], *, after_s: float) -> None:
    """Delete services that are known to have ended, or had no heartbeat for `after_s` seconds."""
    with store.write() as connection:
        for table in (worker, orchestrator):
            names = connection.execute(sa.select(table.c.name)).scalars().all()
            gone = [name for name in names if is_gone(f"{name}:0")]
            is_old = table.c.heartbeat_at < store.clock() - after_s
            connection.execute(sa.delete(table).where(is_old | table.c.name.in_(gone)))


def _services(store: Store, table: sa.Table) -> list[ServiceRecord]:
    silent = (store.clock() - table.c.heartbeat_at).label("silent_s")
    query = sa.select(table, silent).order_by(table.c.heartbeat_at.desc())
    return [
        ServiceRecord(row.name, row.version, getattr(row, "slots", 0), max(0.0, row.silent_s))
        for row in store.rows(query)
    ]
