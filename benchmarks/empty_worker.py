"""A worker whose handler answers its batch at once; all else about it is real.

    python benchmarks/empty_worker.py SLOTS

Store and broker come from WM_STORE_URL and WM_BROKER_URL.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from orchestrator.store import services
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from orchestrator.store.services import StoreRegistry
from workers import runner
from workers.jobs import ForgeryAnswer, LeasedJob, Outcome, OutcomeStatus
from workers.sandbox import End, Hooks, Run
from workers.worker import Worker, WorkerSettings


class EmptySandbox:
    """Answers a batch at once."""

    def run(self, job: LeasedJob, hooks: Hooks, *, slice_s: float) -> Run:
        """Give every query of a batch the same answer."""
        first, count = job.parameters["first"], job.parameters["count"]
        answers = [
            ForgeryAnswer(first + number, number, "impossible", None, 0.0, "", None)
            for number in range(count)
        ]
        hooks.answer(tuple(answers))
        return Run(End.FINISHED, Outcome(OutcomeStatus.DONE, {"instances": count}, {"job": 0.0}))

    def close(self) -> None:
        """Nothing to end."""


@contextmanager
def empty_worker(store: Store, store_url: str, broker_url: str, slots: int) -> Iterator[None]:
    """Run such a worker in a process of its own, ready before the block begins."""
    environment = os.environ | {"WM_STORE_URL": store_url, "WM_BROKER_URL": broker_url}
    worker = subprocess.Popen([sys.executable, __file__, str(slots)], env=environment)  # noqa: S603 - this file
    try:
        while not services.workers(store):
            if worker.poll() is not None:
                raise RuntimeError("the worker did not start")
            time.sleep(0.05)
        time.sleep(1.0)  # until it listens
        yield
    finally:
        worker.terminate()
        worker.wait(timeout=40)


def _main(slots: int) -> None:
    logging.basicConfig(level=logging.WARNING)
    runner.JobSandbox = EmptySandbox  # type: ignore[assignment, misc] # the point of this program
    store = Store(os.environ["WM_STORE_URL"])
    settings = WorkerSettings(os.environ["WM_BROKER_URL"], slots)
    Worker(settings, StoreLedger(store), StoreRegistry(store)).run()


if __name__ == "__main__":
    _main(int(sys.argv[1]))
