"""A worker's slots: one warm process each, all with one ledger."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from workers.runtime.ledger import Ledger
from workers.runtime.runner import Runner, owner_name
from workers.runtime.sandbox import SLICE_S, Run

_log = logging.getLogger(__name__)


class Slot:
    """Runs jobs one after the other; while one runs, the ledger is told how the one before ended.

    Not while the next is leased: that is what the slot's process waits for.

    Parameters
    ----------
    ledger
        May be used by two threads.
    number
        Tells it from the other slots of this process.
    stop
        Once set, the running job is given back.
    on_end
        Given each job once the ledger knows how it ended, or that it could not be leased.
    on_failure
        Given what makes it useless to go on, such as a full disk.
    slice_s
        See `workers.runtime.sandbox.SLICE_S`.
    """

    def __init__(
        self,
        ledger: Ledger,
        number: int,
        stop: threading.Event,
        on_end: Callable[[int], None],
        on_failure: Callable[[Exception], None],
        *,
        slice_s: float = SLICE_S,
    ) -> None:
        self._runner = Runner(ledger, owner_name(number), stop.is_set, slice_s=slice_s)
        self._on_end = on_end
        self._on_failure = on_failure
        self._teller = ThreadPoolExecutor(1, thread_name_prefix=f"teller-{number}")
        self._untold: tuple[int, Run | None] | None = None
        self._telling: Future[None] | None = None

    def run(self, job_id: int) -> None:
        """Run a job; call `tell` if no other follows at once."""
        try:
            job = self._runner.lease(job_id)
            self.tell()
            run = None if job is None else self._runner.run(job)
        except Exception as failure:
            self.tell()
            self._fail(job_id, failure)
            return
        self._settle()  # what the slot holds stays small
        self._untold = job_id, run

    def tell(self) -> None:
        """Have the ledger told how the last job ended; return before it knows."""
        if self._untold is not None:
            self._telling = self._teller.submit(self._tell, *self._untold)
            self._untold = None

    def close(self) -> None:
        """Wait until the ledger knows all, and end the slot's process."""
        self.tell()
        self._settle()
        self._teller.shutdown()
        self._runner.close()

    def _settle(self) -> None:
        if self._telling is not None:
            self._telling.result()

    def _tell(self, job_id: int, run: Run | None) -> None:
        try:
            if run is not None:
                self._runner.tell(job_id, run)
        except Exception as failure:
            self._fail(job_id, failure)
        else:
            self._on_end(job_id)

    def _fail(self, job_id: int, failure: Exception) -> None:
        self._on_failure(failure)
        try:
            self._runner.hand_back(job_id)
        except Exception as reason:
            _log.warning("job %s could not be given back, its lease will lapse: %s", job_id, reason)


class Slots:
    """Runs jobs for any thread that asks, as many at once as there are slots.

    Parameters
    ----------
    ledger
        May be used by several threads.
    count
        Number of slots.
    stop
        Once set, running jobs are given back and no other is begun.
    on_failure
        As in `Slot`.
    """

    def __init__(
        self, ledger: Ledger, count: int, stop: threading.Event, on_failure: Callable[[Exception], None]
    ) -> None:
        self._stop = stop
        self._free: queue.SimpleQueue[Slot] = queue.SimpleQueue()
        self._all = [Slot(ledger, number, stop, lambda _job_id: None, on_failure) for number in range(count)]
        for slot in self._all:
            self._free.put(slot)

    def run(self, job_ids: list[int]) -> None:
        """Run jobs one after the other; those that cannot be leased are left alone."""
        slot = self._free.get()
        try:
            for job_id in job_ids:
                if self._stop.is_set():
                    return
                slot.run(job_id)
        finally:
            slot.tell()
            self._free.put(slot)

    def close(self) -> None:
        """Wait until the ledger knows how all jobs ended, and end the processes of all slots."""
        for slot in self._all:
            slot.close()
