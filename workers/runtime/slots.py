"""A worker's slots: one warm process each, all with one ledger."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from workers.jobs import LeasedJob
from workers.runtime.ledger import Ledger
from workers.runtime.messages import End, Run
from workers.runtime.owners import owner_name
from workers.runtime.sandbox import SLICE_S, JobSandbox

_log = logging.getLogger(__name__)


class Slot:
    """Runs jobs one after the other; while one runs, how the one before ended is recorded.

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
        Given each job once it is recorded how it ended, or known that it could not be leased.
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
        self._ledger = ledger
        self._owner = owner_name(number)
        self._stop = stop
        self._slice_s = slice_s
        self._sandbox: JobSandbox | None = None  # started with the first job: there may be none
        self._on_end = on_end
        self._on_failure = on_failure
        self._recorder = ThreadPoolExecutor(1, thread_name_prefix=f"recorder-{number}")
        self._pending: tuple[int, Run | None] | None = None
        self._recording: Future[None] | None = None

    def run(self, job_id: int) -> None:
        """Run a job; call `record` if no other follows at once."""
        try:
            job = self._ledger.lease(job_id, self._owner)
            self.record()
            run = None if job is None else self._run(job)
        except Exception as failure:
            self.record()
            self._fail(job_id, failure)
            return
        if self._recording is not None:
            self._recording.result()  # what the slot holds stays small
        self._pending = job_id, run

    def record(self) -> None:
        """Have it recorded how the last job ended; return before it is."""
        if self._pending is not None:
            self._recording = self._recorder.submit(self._record, *self._pending)
            self._pending = None

    def close(self) -> None:
        """Wait until all is recorded, and end the slot's process."""
        self.record()
        self._recorder.shutdown()
        if self._sandbox is not None:
            self._sandbox.close()

    def _run(self, job: LeasedJob) -> Run:
        if self._sandbox is None:
            self._sandbox = JobSandbox()
        return self._sandbox.run(job, self._ledger, self._owner, self._stop.is_set, slice_s=self._slice_s)

    def _record(self, job_id: int, run: Run | None) -> None:
        try:
            if run is None:
                pass
            elif run.end is End.FAILED:
                self._ledger.fail(job_id, self._owner, run.reason)
            elif run.outcome is not None:
                self._ledger.record(job_id, self._owner, run.outcome, run.artifacts, run.rows)
            else:
                self._ledger.hand_back(job_id, self._owner)
        except Exception as failure:
            self._fail(job_id, failure)
        else:
            self._on_end(job_id)

    def _fail(self, job_id: int, failure: Exception) -> None:
        self._on_failure(failure)
        try:
            self._ledger.hand_back(job_id, self._owner)
        except Exception as reason:
            _log.warning("job %s could not be given back, its lease will expire: %s", job_id, reason)


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
            slot.record()
            self._free.put(slot)

    def close(self) -> None:
        """Wait until it is recorded how all jobs ended, and end the processes of all slots."""
        for slot in self._all:
            slot.close()
