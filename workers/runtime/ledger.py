"""Define the ledger: the interface that workers need of a store, and its contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from workers.jobs.base import LeasedJob, Outcome

LEASE_S = 30.0
"""Time from the last heartbeat to the end of a lease; a busy machine may miss two heartbeats."""

HEARTBEAT_S = 10.0
"""Time between heartbeats, which the supervisor sends, not the busy child."""

MAX_ATTEMPTS = 3
"""Failed attempts after which a job ends as ``error``."""


class Ledger(Protocol):
    """Access to jobs and artifacts for one worker.

    Every method is one transaction. Any number of workers may call at the same time, also on other machines.
    A job has at most one lease that has not expired, and at most one outcome, which never changes: the first
    writer wins and the others are ignored, because equal jobs give equal results.
    """

    def lease(self, job_id: int, owner: str) -> LeasedJob | None:
        """Lease a job for `LEASE_S`; None if it is not ready."""

    def heartbeat(self, job_id: int, owner: str) -> bool:
        """Renew a lease; False if this owner has lost it."""

    def artifact(self, sha256: str) -> bytes:
        """Return an artifact's bytes."""

    def save(self, job_id: int, rows: Sequence[object]) -> None:
        """Record rows of the resume state of a job; existing rows stay. Their meaning depends on the kind."""

    def record(
        self,
        job_id: int,
        owner: str,
        outcome: Outcome,
        artifacts: Mapping[str, bytes],
        rows: Sequence[object] = (),
    ) -> bool:
        """Record outcome, artifacts and last rows, free the lease and make dependents ready, all or nothing.

        False if the job already had an outcome.
        """

    def hand_back(self, job_id: int, owner: str) -> None:
        """Give up a lease: the job becomes ready again, without a failed attempt."""

    def fail(self, job_id: int, owner: str, reason: str) -> None:
        """Count a failed attempt: the job becomes ready again, or ends as ``error`` with its history."""
