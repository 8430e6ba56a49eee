"""Wrap a ledger so that it waits during an outage of the store."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from workers.errors import LedgerUnavailableError
from workers.jobs import LeasedJob
from workers.runtime.ledger import Ledger
from workers.runtime.outage import Outage

P = ParamSpec("P")
T = TypeVar("T")


class PatientLedger:
    """A `workers.runtime.ledger.Ledger` that tries again until the store answers.

    This is safe because every method is one idempotent transaction. Once `stop` is set the next failure is
    raised.
    """

    def __init__(self, ledger: Ledger, outage: Outage, stop: threading.Event) -> None:
        self._ledger = ledger
        self._outage = outage
        self._stop = stop
        self.artifact = self._patient(ledger.artifact)
        self.save = self._patient(ledger.save)
        self.record = self._patient(ledger.record)
        self.hand_back = self._patient(ledger.hand_back)
        self.fail = self._patient(ledger.fail)

    def lease(self, job_id: int, owner: str) -> LeasedJob | None:
        """Lease a ready job."""
        again = False

        def attempt() -> LeasedJob | None:
            nonlocal again
            if again:  # the first try may have succeeded although its answer was lost
                self._ledger.hand_back(job_id, owner)
            again = True
            return self._ledger.lease(job_id, owner)

        return self._patient(attempt)()

    def heartbeat(self, job_id: int, owner: str) -> bool:
        """Renew a lease; while the store is away nobody else can get it, so the job goes on."""
        try:
            return self._ledger.heartbeat(job_id, owner)
        except LedgerUnavailableError as reason:
            self._outage.away(reason)
            return True

    def _patient(self, call: Callable[P, T]) -> Callable[P, T]:
        def persist(*args: P.args, **kwargs: P.kwargs) -> T:
            while True:
                try:
                    result = call(*args, **kwargs)
                except LedgerUnavailableError as reason:
                    if self._stop.wait(self._outage.away(reason)):
                        raise
                else:
                    self._outage.back()
                    return result

        return persist
