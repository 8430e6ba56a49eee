"""Run jobs in the slots of a worker: one prepared process each, all with one ledger."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from workers.jobs.base import LeasedJob
from workers.runtime.ledger import Ledger
from workers.runtime.messages import End, Run
from workers.runtime.owners import owner_name
from workers.runtime.sandbox import SLICE_S, JobSandbox

_log = logging.getLogger(__name__)


class Slot:
    """Runs jobs one after the other; the end of a job is recorded while the next one runs.

    It is not recorded during the next lease, for which the slot's process waits.

    Parameters
    ----------
    ledger
        Used by two threads.
    number
        Unique among the slots of this process.
    stop
        Once set, the running job is given back.
    on_end
        Called with each job after its end is recorded, or if it could not be leased.
    on_failure
        Called with a fault that makes further work useless, as a full disk.
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
        self._sandbox: JobSandbox | None = None  # started with the first job
        self._on_end = on_end
        self._on_failure = on_failure
        self._recorder = ThreadPoolExecutor(1, thread_name_prefix=f"recorder-{number}")
        self._pending: tuple[int, Run | None] | None = None
        self._recording: Future[None] | None = None

    def run(self, job_id: int) -> None:
        """Run a job; call `record` unless another follows at once."""
        try:
            job = self._ledger.lease(job_id, self._owner)
            self.record()
            run = None if job is None else self._run(job)
        except Exception as failure:
            self.record()
            self._fail(job_id, failure)
            return
        if self._recording is not None:
            self._recording.result()  # at most one outcome waits in memory
        self._pending = job_id, run

    def record(self) -> None:
        """Start to record the end of the last job."""
        if self._pending is not None:
            self._recording = self._recorder.submit(self._record, *self._pending)
            self._pending = None

    def close(self) -> None:
        """Wait until everything is recorded, and end the slot's process."""
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
    """Runs jobs for several threads, `count` jobs at once.

    Once `stop` is set, running jobs are given back and no other starts; `on_failure` as in `Slot`.
    """

    def __init__(
        self, ledger: Ledger, count: int, stop: threading.Event, on_failure: Callable[[Exception], None]
    ) -> None:
        self._stop = stop
        self._lock = threading.Lock()
        self._running = 0
        self._idle_since = time.monotonic()
        self._free: queue.SimpleQueue[Slot] = queue.SimpleQueue()
        self._all = [Slot(ledger, number, stop, lambda _job_id: None, on_failure) for number in range(count)]
        for slot in self._all:
            self._free.put(slot)

    def idle_s(self) -> float:
        """Return the seconds for which no slot has run anything."""
        with self._lock:
            return 0.0 if self._running else time.monotonic() - self._idle_since

    def _count(self, change: int) -> None:
        with self._lock:
            self._running += change
            self._idle_since = time.monotonic()

    def run(self, job_ids: list[int]) -> None:
        """Run jobs one after the other; skip those that cannot be leased."""
        slot = self._free.get()
        self._count(1)
        try:
            for job_id in job_ids:
                if self._stop.is_set():
                    return
                slot.run(job_id)
        finally:
            self._count(-1)
            slot.record()
            self._free.put(slot)

    def close(self) -> None:
        """Wait until everything is recorded, and end the processes of all slots."""
        for slot in self._all:
            slot.close()
