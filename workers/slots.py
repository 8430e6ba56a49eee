"""A worker's slots: one warm process each, all with one ledger."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

from workers.ledger import Ledger
from workers.runner import Runner, owner_name

_log = logging.getLogger(__name__)


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
        Told what makes it useless to go on, such as a full disk.
    """

    def __init__(
        self, ledger: Ledger, count: int, stop: threading.Event, on_failure: Callable[[Exception], None]
    ) -> None:
        self._ledger = ledger
        self._stop = stop
        self._on_failure = on_failure
        self._free: queue.SimpleQueue[tuple[str, Runner]] = queue.SimpleQueue()
        self._all = [
            (owner_name(slot), Runner(ledger, owner_name(slot), stop.is_set)) for slot in range(count)
        ]
        for slot in self._all:
            self._free.put(slot)

    def run(self, job_ids: list[int]) -> None:
        """Run jobs one after the other; those that cannot be leased are left alone."""
        owner, runner = self._free.get()
        try:
            for job_id in job_ids:
                if self._stop.is_set():
                    return
                self._run(owner, runner, job_id)
        finally:
            self._free.put((owner, runner))

    def _run(self, owner: str, runner: Runner, job_id: int) -> None:
        try:
            runner.run(job_id)
        except Exception as failure:
            self._on_failure(failure)
            try:
                self._ledger.hand_back(job_id, owner)
            except Exception as reason:
                _log.warning("job %s could not be given back, its lease will lapse: %s", job_id, reason)

    def close(self) -> None:
        """End the processes of all slots."""
        for _, runner in self._all:
            runner.close()
