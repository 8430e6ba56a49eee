"""Wait for a server that does not answer: with growing pauses, reported once."""

from __future__ import annotations

import threading
from collections.abc import Callable

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
