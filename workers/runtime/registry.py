"""Who is alive: what a worker tells of itself, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

ALIVE_S = 30.0
"""A worker or orchestrator that was not heard of for this long is taken for dead."""


@dataclass(frozen=True)
class WorkerRecord:
    """A worker process.

    Attributes
    ----------
    name
        As in `workers.runtime.runner.owner_name`, without the slot.
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
        """Say that a worker lives."""

    def leave(self, name: str) -> None:
        """Say that a worker has ended in good order."""

    def orchestrator_versions(self) -> Sequence[str]:
        """Return the versions of the orchestrators that live."""
