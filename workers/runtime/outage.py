"""Waiting for a server that went away: with growing pauses, saying so once."""

from __future__ import annotations

import threading
from collections.abc import Callable

_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0


class Outage:
    """Whether a server is away; may be shared by threads.

    Parameters
    ----------
    what
        The server, for people.
    say
        Takes one line when it goes away and one when it is back.
    """

    def __init__(self, what: str, say: Callable[[str], None]) -> None:
        self._what = what
        self._say = say
        self._lock = threading.Lock()
        self._pause_s = 0.0

    @property
    def is_on(self) -> bool:
        """Whether it is away."""
        return self._pause_s > 0

    def away(self, reason: object) -> float:
        """Note that it did not answer; return how many seconds to wait before the next try."""
        with self._lock:
            if not self.is_on:
                self._say(f"{self._what} does not answer, trying again: {reason}")
            self._pause_s = min(_LONGEST_PAUSE_S, max(_FIRST_PAUSE_S, 2 * self._pause_s))
            return self._pause_s

    def back(self) -> None:
        """Note that it answered."""
        if not self.is_on:  # without the lock: this is the usual case
            return
        with self._lock:
            if self.is_on:
                self._say(f"{self._what} is back")
            self._pause_s = 0.0
