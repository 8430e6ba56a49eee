"""Who is alive: the list of workers that every worker adds itself to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

ALIVE_S = 30.0
"""A worker or orchestrator without a heartbeat for this long counts as dead."""


@dataclass(frozen=True)
class WorkerRecord:
    """A worker process.

    Attributes
    ----------
    name
        As in `workers.runtime.owners.owner_name`, without the slot.
    version
        See `workers.runtime.version`.
    slots
        Jobs that it runs at once.
    """

    name: str
    version: str
    slots: int


class Registry(Protocol):
    """The list of workers, for workers."""

    def beat(self, record: WorkerRecord) -> None:
        """Renew a worker's entry, or add it."""

    def leave(self, name: str) -> None:
        """Remove a worker that ended in good order."""

    def orchestrator_versions(self) -> Sequence[str]:
        """Return the versions of the orchestrators that are alive."""
