"""How many queries a second the way of the data carries when the queries themselves cost nothing.

    python benchmarks/throughput.py [--jobs N] [--slots N] [--store sqlite|postgresql|both]

Everything is real (planned jobs, store, broker, worker process, leases, answers, outcomes) but the handler,
which answers its batch at once. Starts its own servers; see tests/servers.py.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from orchestrator.plan import BATCH, Cell, PlannedJob
from orchestrator.spec import parse_spec
from orchestrator.store import campaigns
from orchestrator.store.campaigns import create_campaign
from orchestrator.store.database import Store
from workers.jobs import ForgeryAnswer, ForgeryParameters, JobKind, Outcome, OutcomeStatus
from workers.sandbox import End, Hooks, Run

SPEC = """
name = "empty"
seed = 1
dataset = { name = "breast-cancer" }
forest = { n_estimators = 12, max_depth = 4 }
"""


class EmptySandbox:
    """Answers a batch at once."""

    def run(self, job: Any, hooks: Hooks, *, slice_s: float) -> Run:
        """Give every query of a batch the same answer."""
        first = job.parameters["first"]
        hooks.answer(
            tuple(
                ForgeryAnswer(first + number, number, "impossible", None, 0.0, "", None)
                for number in range(BATCH)
            )
        )
        return Run(End.FINISHED, Outcome(OutcomeStatus.DONE, {"instances": BATCH}, {"job": 0.0}))

    def close(self) -> None:
        """Nothing to end."""


def planned(count: int) -> list[PlannedJob]:
    """Return made-up batches, all of one point of the grid."""
    cell = Cell(
        scheme="paper", trigger_share=0.02, ones_share=0.5, repeat=0, engine="sat", signature=0, eps=0.5
    )
    jobs = []
    for number in range(count):
        parameters = ForgeryParameters(
            engine="sat", signature=0, ones_share=0.5, eps=0.5, first=number * BATCH, count=BATCH, repeat=0,
            seed=1, timeout_s=1.0,
        )  # fmt: skip
        data = parameters.model_dump(mode="json")
        jobs.append(PlannedJob(f"{number:064}", JobKind.FORGERY, data, (), cell, BATCH))
    return jobs


def work() -> None:
    """Be a worker whose handler is empty; store, broker and slots come from the environment."""
    import logging

    from orchestrator.store.ledger import StoreLedger
    from orchestrator.store.services import StoreRegistry
    from workers import runner
    from workers.worker import Worker, WorkerSettings

    logging.basicConfig(level=logging.WARNING)
    runner.JobSandbox = EmptySandbox  # type: ignore[assignment, misc] # the point of this benchmark
    store = Store(os.environ["WM_STORE_URL"])
    settings = WorkerSettings(os.environ["WM_BROKER_URL"], int(os.environ["SLOTS"]))
    Worker(settings, StoreLedger(store), StoreRegistry(store)).run()


def measure(store_url: str, broker_url: str, jobs: int, slots: int) -> float:
    """Return queries a second from the first message to the last outcome."""
    from orchestrator.celery_executor import CeleryExecutor
    from orchestrator.loop import run_campaign

    store = Store(store_url)
    store.upgrade()
    campaign_id = create_campaign(store, parse_spec(SPEC), planned(jobs), {})
    environment = os.environ | {"WM_STORE_URL": store_url, "WM_BROKER_URL": broker_url, "SLOTS": str(slots)}
    command = [sys.executable, __file__, "--work"]
    worker = subprocess.Popen(command, env=environment)  # noqa: S603 - this very file
    executor = CeleryExecutor(store, broker_url, print)
    try:
        from orchestrator.store import services

        while not services.workers(store):
            time.sleep(0.05)
        time.sleep(1.0)  # until it listens
        started = time.perf_counter()
        run_campaign(store, campaign_id, executor, lambda _progress: None)
        seconds = time.perf_counter() - started
        done = campaigns.progress(store, campaign_id).done_weight
        if done != jobs * BATCH:
            raise RuntimeError(f"{done} of {jobs * BATCH} queries have an answer")
        return jobs * BATCH / seconds
    finally:
        worker.terminate()
        worker.wait(timeout=40)
        executor.close()
        store.close()


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--store", choices=["sqlite", "postgresql", "both"], default="both")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work()
        return
    from tests import servers

    broker = servers.Valkey()
    print("store       slots  queries/s")
    for kind in ("sqlite", "postgresql") if arguments.store == "both" else (arguments.store,):
        broker.client().flushall()
        if kind == "sqlite":
            with tempfile.TemporaryDirectory() as directory:
                url = f"sqlite:///{directory}/wm.db"
                rate = measure(url, broker.url, arguments.jobs, arguments.slots)
        else:
            database = servers.Postgres()
            rate = measure(database.url(), broker.url, arguments.jobs, arguments.slots)
            database.close()
        print(f"{kind:<11} {arguments.slots:>5}  {rate:>9,.0f}", flush=True)
    broker.close()


if __name__ == "__main__":
    main()
