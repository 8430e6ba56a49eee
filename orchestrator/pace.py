"""Things done now and then, not at every turn of a loop."""

from __future__ import annotations

import time

from orchestrator.store import campaigns
from orchestrator.store.campaigns import Progress
from orchestrator.store.database import Store

_SHARE = 0.05
"""Most of the time that counting may take: 10^6 jobs take a second."""


class Due:
    """Something to be done at most once in a while."""

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._next = float("-inf")

    def now(self) -> bool:
        """Return whether it is time, and begin to count anew if so."""
        if time.monotonic() < self._next:
            return False
        self.postpone()
        return True

    def postpone(self, seconds: float | None = None) -> None:
        """Let it be time again after so many seconds, by default the usual ones."""
        self._next = time.monotonic() + (self._every_s if seconds is None else seconds)


class Counter:
    """Counts a campaign's jobs, the more rarely the longer that takes.

    Parameters
    ----------
    store, campaign_id
        What is counted.
    every_s
        The least time between two counts.
    """

    def __init__(self, store: Store, campaign_id: int, *, every_s: float) -> None:
        self._store = store
        self._campaign_id = campaign_id
        self._every_s = every_s
        self._due = Due(every_s)

    def look(self, *, at_once: bool = False) -> Progress | None:
        """Return how far the campaign is; None where it is not time to count, unless `at_once`."""
        if not self._due.now() and not at_once:
            return None
        started = time.monotonic()
        progress = campaigns.progress(self._store, self._campaign_id)
        self._due.postpone(max(self._every_s, (time.monotonic() - started) / _SHARE))
        return progress
