"""Define what an executor of jobs is, and run jobs in processes of this machine."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Sequence
from contextlib import closing
from typing import Protocol

from workers.runtime.ledger import Ledger
from workers.runtime.outage import Outage, PatientLedger
from workers.runtime.sandbox import SLICE_S
from workers.runtime.slots import Slot

_AHEAD = 2
"""Jobs waiting per slot: enough that no slot idles while the loop reads the store."""


class Executor(Protocol):
    """Takes job ids and has the jobs run; their outcomes go to the store."""

    def capacity(self) -> int:
        """Return how many more jobs may be submitted now."""

    def in_flight(self) -> frozenset[int]:
        """Return the jobs that were submitted and have not ended."""

    def submit(self, job_ids: Sequence[int]) -> None:
        """Take jobs to run."""

    def wait(self, timeout_s: float) -> None:
        """Return when some job ended, or after `timeout_s`.

        Raises
        ------
        Exception
            A fault that stopped a worker for good, as a full disk.
        """

    def close(self) -> None:
        """Stop: running jobs are given back within a second."""


def default_workers() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class LocalExecutor:
    """Runs jobs on this machine in `workers` slots: each a thread that supervises one sandboxed process.

    With `outage`, slots wait while the store does not answer, as one that another program keeps locked;
    without, that stops them.
    """

    def __init__(
        self, ledger: Ledger, workers: int, *, slice_s: float = SLICE_S, outage: Outage | None = None
    ) -> None:
        self._waiting: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._stop = threading.Event()
        if outage is not None:
            ledger = PatientLedger(ledger, outage, self._stop)
        self._changed = threading.Condition()
        self._in_flight: set[int] = set()
        self._failure: Exception | None = None
        self._window = workers * (1 + _AHEAD)
        self._threads = [
            threading.Thread(
                target=self._work,
                args=(Slot(ledger, number, self._stop, self._end, self._fail, slice_s=slice_s),),
                name=f"slot-{number}",
                daemon=True,
            )
            for number in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    def capacity(self) -> int:
        """Return how many more jobs may be submitted now."""
        with self._changed:
            return self._window - len(self._in_flight)

    def in_flight(self) -> frozenset[int]:
        """Return the jobs that were submitted and have not ended."""
        with self._changed:
            return frozenset(self._in_flight)

    def submit(self, job_ids: Sequence[int]) -> None:
        """Queue jobs for the slots."""
        with self._changed:
            self._in_flight.update(job_ids)
        for job_id in job_ids:
            self._waiting.put(job_id)

    def wait(self, timeout_s: float) -> None:
        """Return when some job ended, or after `timeout_s`; raise the fault that stopped a slot."""
        with self._changed:
            if self._failure is None:
                self._changed.wait(timeout_s)
            if self._failure is not None:
                raise self._failure

    def close(self) -> None:
        """Stop all slots and end their processes."""
        self._stop.set()
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self, slot: Slot) -> None:
        with closing(slot):
            while not self._stop.is_set():
                if self._waiting.empty():
                    slot.record()
                job_id = self._waiting.get()
                if job_id is None or self._failure is not None:
                    return
                slot.run(job_id)

    def _end(self, job_id: int) -> None:
        with self._changed:
            self._in_flight.discard(job_id)
            self._changed.notify_all()

    def _fail(self, failure: Exception) -> None:
        with self._changed:
            self._failure = self._failure or failure
            self._changed.notify_all()
