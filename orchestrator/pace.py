"""Limit how often something is done in a loop."""

from __future__ import annotations

import time

import sqlalchemy as sa

from orchestrator.store import campaigns
from orchestrator.store.campaigns import Progress
from orchestrator.store.database import Store

_MAX_SHARE = 0.05
"""Maximum share of the time spent on counting: 10^6 jobs take a second."""


JUMP_S = 5.0
"""Difference of two clocks' steps above which one of them jumped."""

SUSPENSION_S = 20.0
"""Time between two looks above which a process was suspended."""


class Due:
    """Something that is due at most once every `every_s` seconds."""

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._next = float("-inf")

    def now(self) -> bool:
        """Return whether it is due, and start the next period if so."""
        if time.monotonic() < self._next:
            return False
        self.postpone()
        return True

    def postpone(self, seconds: float | None = None) -> None:
        """Make it due after `seconds`, by default after its period."""
        self._next = time.monotonic() + (self._every_s if seconds is None else seconds)


class Jumps:
    """Notices that the store's clock jumped, or that this process was suspended.

    Either makes healthy leases look expired. Where looks are as far apart for another reason, as after a very
    long turn of a loop, that counts as a suspension too, which does no harm.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen: tuple[float, float] | None = None

    def look(self) -> float:
        """Return the seconds of a jump or suspension since the last look; 0 without one."""
        times = self._store.rows(sa.select(self._store.clock()))[0][0], time.monotonic()
        before, self._seen = self._seen, times
        if before is None:
            return 0.0
        by_store, by_process = (now - then for now, then in zip(times, before, strict=True))
        if abs(by_store - by_process) > JUMP_S:
            return abs(float(by_store - by_process))
        return by_process if by_process > SUSPENSION_S else 0.0


class Counter:
    """Counts a campaign's jobs at most every `every_s` seconds, and less often if a count takes long."""

    def __init__(self, store: Store, campaign_id: int, *, every_s: float) -> None:
        self._store = store
        self._campaign_id = campaign_id
        self._every_s = every_s
        self._due = Due(every_s)

    def look(self, *, at_once: bool = False) -> Progress | None:
        """Return the campaign's progress; None if a count is not due, unless `at_once`."""
        if not self._due.now() and not at_once:
            return None
        started = time.monotonic()
        progress = campaigns.progress(self._store, self._campaign_id)
        self._due.postpone(max(self._every_s, (time.monotonic() - started) / _MAX_SHARE))
        return progress
