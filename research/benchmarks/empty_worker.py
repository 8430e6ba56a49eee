"""A worker whose handler answers its batch at once; all else about it is real.

    python -m research.benchmarks.empty_worker SLOTS [in-turn]

With `in-turn`, a slot waits until the store knows how a job ended before it begins the next. Store and
broker come from WM_STORE_URL and WM_BROKER_URL.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable

from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.services import StoreRegistry
from workers.celery.worker import Worker
from workers.jobs.base import LeasedJob, Outcome, OutcomeStatus
from workers.jobs.forging import ForgeryAnswer
from workers.runtime import context, slots
from workers.runtime.ledger import Ledger
from workers.runtime.messages import End, Run


class SlotInTurn(slots.Slot):
    """A slot that does one thing at a time."""

    def run(self, job_id: int) -> None:
        """Run a job and wait until it is recorded how it ended."""
        super().run(job_id)
        self.record()
        if self._recording is not None:
            self._recording.result()


class EmptySandbox:
    """Answers a batch at once."""

    def run(
        self, job: LeasedJob, ledger: Ledger, owner: str, stop: Callable[[], bool], *, slice_s: float
    ) -> Run:
        """Give every query of a batch the same answer."""
        first, count = job.parameters["first"], job.parameters["count"]
        answers = [
            ForgeryAnswer(first + number, number, "impossible", None, 0.0, "", None)
            for number in range(count)
        ]
        early = max(0, count - context._MAX_PENDING)
        if early:  # the others go with the outcome, as from a real handler
            ledger.save(job.job_id, answers[:early])
        outcome = Outcome(OutcomeStatus.DONE, {"instances": count}, {"job": 0.0})
        return Run(End.FINISHED, outcome, {}, tuple(answers[early:]))

    def close(self) -> None:
        """Nothing to end."""


def _main(count: int, *, in_turn: bool) -> None:
    logging.basicConfig(level=logging.WARNING)
    slots.JobSandbox = EmptySandbox  # type: ignore[assignment, attr-defined] # the point of this program
    if in_turn:
        slots.Slot = SlotInTurn  # type: ignore[misc]
    store = Store(os.environ["WM_STORE_URL"])
    broker_url = os.environ["WM_BROKER_URL"]
    Worker(broker_url, StoreLedger(store), StoreRegistry(store), concurrency=count).run()


if __name__ == "__main__":
    _main(int(sys.argv[1]), in_turn="in-turn" in sys.argv[2:])
