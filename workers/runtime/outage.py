"""Wait for a server that does not answer, or for the ledger: with growing pauses, reported once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from workers.errors import LedgerUnavailableError
from workers.jobs.base import LeasedJob
from workers.runtime.ledger import Ledger

P = ParamSpec("P")
T = TypeVar("T")

_FIRST_PAUSE_S = 0.1
_MAX_PAUSE_S = 5.0


class Outage:
    """Records whether a server is away; may be shared by threads.

    Parameters
    ----------
    server
        Its name in reports.
    report
        Takes one line when it goes away and one when it is back.
    """

    def __init__(self, server: str, report: Callable[[str], None]) -> None:
        self._server = server
        self._report = report
        self._lock = threading.Lock()
        self._pause_s = 0.0

    @property
    def is_on(self) -> bool:
        """Whether it is away."""
        return self._pause_s > 0

    def away(self, reason: object) -> float:
        """Record that it did not answer; return the seconds until the next try."""
        with self._lock:
            if not self.is_on:
                self._report(f"{self._server} does not answer, trying again: {reason}")
            self._pause_s = min(_MAX_PAUSE_S, max(_FIRST_PAUSE_S, 2 * self._pause_s))
            return self._pause_s

    def back(self) -> None:
        """Record that it answered."""
        if not self.is_on:  # without the lock: this is the usual case
            return
        with self._lock:
            if self.is_on:
                self._report(f"{self._server} is back")
            self._pause_s = 0.0


class PatientLedger:
    """A `workers.runtime.ledger.Ledger` that tries again until the store answers.

    This is safe because every method is one idempotent transaction. Once `stop` is set the next failure is
    raised.
    """

    def __init__(self, ledger: Ledger, outage: Outage, stop: threading.Event) -> None:
        self._ledger = ledger
        self._outage = outage
        self._stop = stop
        self.artifact = self._patient(ledger.artifact, only_reads=True)
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

    def _patient(self, call: Callable[P, T], *, only_reads: bool = False) -> Callable[P, T]:
        def persist(*args: P.args, **kwargs: P.kwargs) -> T:
            while True:
                try:
                    result = call(*args, **kwargs)
                except LedgerUnavailableError as reason:
                    if self._stop.wait(self._outage.away(reason)):
                        raise
                else:
                    if not only_reads:  # one that can be read may still refuse what is written
                        self._outage.back()
                    return result

        return persist
