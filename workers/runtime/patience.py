"""A ledger that outlasts an outage of the store behind it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from workers.errors import LedgerUnavailableError
from workers.jobs import ForgeryAnswer, LeasedJob, Outcome
from workers.runtime.ledger import Ledger
from workers.runtime.outage import Outage

T = TypeVar("T")


class PatientLedger:
    """Keeps the contract of `workers.runtime.ledger.Ledger`; tries again until the store answers.

    That is safe because every method is one transaction which, done twice, does what it does once. Whoever
    must not wait for ever sets `stop`: then the next failure is raised.
    """

    def __init__(self, ledger: Ledger, outage: Outage, stop: threading.Event) -> None:
        self._ledger = ledger
        self._outage = outage
        self._stop = stop

    def lease(self, job_id: int, owner: str) -> LeasedJob | None:
        """Take the right to run a ready job."""
        again = False

        def attempt() -> LeasedJob | None:
            nonlocal again
            if again:  # the first try may have been recorded without our hearing of it
                self._ledger.hand_back(job_id, owner)
            again = True
            return self._ledger.lease(job_id, owner)

        return self._persist(attempt)

    def heartbeat(self, job_id: int, owner: str) -> bool:
        """Renew a lease; while the store is away nobody else can take it, so the job goes on."""
        try:
            return self._ledger.heartbeat(job_id, owner)
        except LedgerUnavailableError as reason:
            self._outage.away(reason)
            return True

    def artifact(self, sha256: str) -> bytes:
        """Return an artifact's bytes."""
        return self._persist(lambda: self._ledger.artifact(sha256))

    def answer(self, job_id: int, answers: Sequence[ForgeryAnswer]) -> None:
        """Record answers."""
        self._persist(lambda: self._ledger.answer(job_id, answers))

    def prove(self, job_id: int, label: int) -> None:
        """Keep a proof in the whole domain."""
        self._persist(lambda: self._ledger.prove(job_id, label))

    def record(
        self,
        job_id: int,
        owner: str,
        outcome: Outcome,
        artifacts: Mapping[str, bytes],
        answers: Sequence[ForgeryAnswer] = (),
    ) -> bool:
        """Record an outcome."""
        return self._persist(lambda: self._ledger.record(job_id, owner, outcome, artifacts, answers))

    def hand_back(self, job_id: int, owner: str) -> None:
        """Give up a lease."""
        self._persist(lambda: self._ledger.hand_back(job_id, owner))

    def fail(self, job_id: int, owner: str, reason: str) -> None:
        """Count a failed attempt."""
        self._persist(lambda: self._ledger.fail(job_id, owner, reason))

    def _persist(self, call: Callable[[], T]) -> T:
        while True:
            try:
                result = call()
            except LedgerUnavailableError as reason:
                if self._stop.wait(self._outage.away(reason)):
                    raise
            else:
                self._outage.back()
                return result
