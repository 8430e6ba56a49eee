"""Measure the time in which a process could run, for limits that a suspension must not use up."""

from __future__ import annotations

import time

_LONGEST_GAP_S = 1.0
"""Gap between two looks after which the process counts as suspended; looks are some 0.1 s apart."""


class RunningTime:
    """Time since its making, without gaps in which this process could not run.

    `docker pause`, Slurm's suspend and a hypervisor stop all processes of a job together. When they go on,
    clocks have moved, but nobody has worked. Whoever enforces a limit therefore looks several times a second:
    a much longer gap between two looks is no running time.
    """

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._running_s = 0.0
        self.suspended_s = 0.0
        """Sum of the gaps so far."""

    def look(self) -> float:
        """Return the running time so far, in seconds."""
        now = time.monotonic()
        gap_s, self._last = now - self._last, now
        if gap_s > _LONGEST_GAP_S:
            self.suspended_s += gap_s
        else:
            self._running_s += gap_s
        return self._running_s
