"""The ledger: what a worker needs of the store, and the contract that any store must keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from workers.jobs import LeasedJob, Outcome

LEASE_S = 30.0
"""A lease expires this long after its last heartbeat; long enough for a busy machine to miss two of them."""

HEARTBEAT_S = 10.0
"""Time between heartbeats, which the supervisor sends, never the busy child."""

MAX_ATTEMPTS = 3
"""Failed attempts after which a job ends as ``error``."""


class Ledger(Protocol):
    """Access to jobs and artifacts for one worker.

    Every method is one transaction. Any number of workers may call at the same time, also on other machines.
    A job has at most one lease that has not expired, and at most one outcome, which never changes: the first
    writer wins and the others are ignored, because equal jobs give equal results.
    """

    def lease(self, job_id: int, owner: str) -> LeasedJob | None:
        """Take the right to run a job for `LEASE_S`; None if it is not ready or another worker has it."""

    def heartbeat(self, job_id: int, owner: str) -> bool:
        """Renew a lease; False if it expired and another has it, or the job was cancelled."""

    def artifact(self, sha256: str) -> bytes:
        """Return an artifact's bytes."""

    def save(self, job_id: int, rows: Sequence[object]) -> None:
        """Record rows of the state of a job that goes on; those that are there already stay as they are.

        What they are, and which later leases bring them along, is the kind's business.
        """

    def record(
        self,
        job_id: int,
        owner: str,
        outcome: Outcome,
        artifacts: Mapping[str, bytes],
        rows: Sequence[object] = (),
    ) -> bool:
        """Record the outcome, artifacts and last rows, free the lease, ready dependents; all or nothing.

        False if the job already had an outcome.
        """

    def hand_back(self, job_id: int, owner: str) -> None:
        """Give up a lease without fault of the job: it becomes ready again at once."""

    def fail(self, job_id: int, owner: str, reason: str) -> None:
        """Count a failed attempt: the job becomes ready again, or ends as ``error`` with its history."""
