"""Define the registry of live workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

ALIVE_S = 30.0
"""Time without a heartbeat after which a worker or orchestrator counts as dead."""


@dataclass(frozen=True)
class WorkerRecord:
    """A worker process."""

    name: str
    """As in `workers.runtime.owners.owner_name`, without the slot."""
    version: str
    """See `workers.runtime.version`."""
    slots: int
    """Jobs at once."""


class Registry(Protocol):
    """The workers' access to the registry."""

    def beat(self, record: WorkerRecord) -> None:
        """Renew a worker's entry, or add it."""

    def leave(self, name: str) -> None:
        """Remove a worker that has stopped."""

    def orchestrator_versions(self) -> Sequence[str]:
        """Return the versions of the orchestrators that are alive."""
