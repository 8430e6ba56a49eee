"""A worker whose handler answers its batch at once; all else about it is real.

    python -m research.benchmarks.empty_worker SLOTS [in-turn]

With `in-turn`, a slot waits until the store knows how a job ended before it begins the next. Store and
broker come from WM_STORE_URL and WM_BROKER_URL.
"""

from __future__ import annotations

import logging
import os
import sys

from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.services import StoreRegistry
from workers.celery.worker import Worker, WorkerSettings
from workers.jobs import ForgeryAnswer, LeasedJob, Outcome, OutcomeStatus
from workers.runtime import context, runner, slots
from workers.runtime.sandbox import End, Hooks, Run


class SlotInTurn(slots.Slot):
    """A slot that does one thing at a time."""

    def run(self, job_id: int) -> None:
        """Run a job and wait until the ledger knows how it ended."""
        super().run(job_id)
        self.tell()
        self._settle()


class EmptySandbox:
    """Answers a batch at once."""

    def run(self, job: LeasedJob, hooks: Hooks, *, slice_s: float) -> Run:
        """Give every query of a batch the same answer."""
        first, count = job.parameters["first"], job.parameters["count"]
        answers = [
            ForgeryAnswer(first + number, number, "impossible", None, 0.0, "", None)
            for number in range(count)
        ]
        early = max(0, count - context._ANSWERS_AT_ONCE)
        if early:  # the others go with the outcome, as from a real handler
            hooks.answer(tuple(answers[:early]))
        outcome = Outcome(OutcomeStatus.DONE, {"instances": count}, {"job": 0.0})
        return Run(End.FINISHED, outcome, {}, tuple(answers[early:]))

    def close(self) -> None:
        """Nothing to end."""


def _main(count: int, *, in_turn: bool) -> None:
    logging.basicConfig(level=logging.WARNING)
    runner.JobSandbox = EmptySandbox  # type: ignore[assignment, attr-defined] # the point of this program
    if in_turn:
        slots.Slot = SlotInTurn  # type: ignore[misc]
    store = Store(os.environ["WM_STORE_URL"])
    settings = WorkerSettings(os.environ["WM_BROKER_URL"], count)
    Worker(settings, StoreLedger(store), StoreRegistry(store)).run()


if __name__ == "__main__":
    _main(int(sys.argv[1]), in_turn="in-turn" in sys.argv[2:])
