"""What each part of the way of the data costs: store, broker, orchestrator, slot; for `simulation.py`."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.celery_executor import CeleryExecutor, _Sent
from orchestrator.loop import run_campaign
from orchestrator.spec import BATCH
from orchestrator.store import queue
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from research.benchmarks.empty_worker import empty_worker
from research.benchmarks.made_up import create
from tests import servers
from workers.jobs import ForgeryAnswer, Outcome, OutcomeStatus

_WITNESS = b"w" * 120
_FEW, _MANY = 64, 4096
_DONE = Outcome(OutcomeStatus.DONE, {"instances": BATCH}, {"job": 1.0})


@dataclass(frozen=True)
class Costs:
    """Seconds of each step, on PostgreSQL, seen from one client on the same host.

    Attributes
    ----------
    lease_s, answer_s, record_s, heartbeat_s
        One transaction each; `answer_s` for the answers of a batch.
    store_cpu_per_job_s
        Processor time of the database server for lease, answers and record of one job.
    publish_s, broker_cpu_per_message_s
        One message of a single job: time of the sender; the broker's processor time for taking and giving it.
    slot_s
        What a slot spends on a job besides these and the solving: fetching the message, passing data on.
    look_s, look_each_s
        The orchestrator's look at the jobs in flight: of itself, and for each of them.
    ready_s, ready_each_s
        Its query for ready jobs: of itself, and for each job in flight.
    """

    lease_s: float
    answer_s: float
    record_s: float
    heartbeat_s: float
    store_cpu_per_job_s: float
    publish_s: float
    broker_cpu_per_message_s: float
    slot_s: float
    look_s: float
    look_each_s: float
    ready_s: float
    ready_each_s: float


def measure_costs(database: servers.Postgres, broker: servers.Valkey, *, jobs: int) -> Costs:
    """Measure everything on an empty database; `jobs` transactions of each kind."""
    store_url = database.url()
    store = Store(store_url)
    store.upgrade()
    campaign_id = create(store, jobs + _MANY, name="costs")
    ids = queue.ready_jobs(store, campaign_id, limit=jobs + _MANY, other_than=())
    transactions = _transactions(StoreLedger(store), database, ids[:jobs])
    executor = CeleryExecutor(store, broker.url, print)
    try:
        few, many = (_loop(store, campaign_id, executor, ids[jobs : jobs + size]) for size in (_FEW, _MANY))
        started = time.perf_counter()
        executor.submit(ids[jobs:])
        publish_s = (time.perf_counter() - started) / executor._messages
    finally:
        executor.close()
    broker.client().flushall()
    each = [(long - short) / (_MANY - _FEW) for short, long in zip(few, many, strict=True)]
    per_job_s, broker_cpu_s = _empty_run(store, store_url, broker, jobs)
    store.close()
    spent = transactions["lease_s"] + transactions["answer_s"] + transactions["record_s"]
    return Costs(
        **transactions,
        publish_s=publish_s,
        broker_cpu_per_message_s=broker_cpu_s,
        slot_s=max(0.0, per_job_s - spent),
        look_s=max(0.0, few[0] - each[0] * _FEW),
        look_each_s=max(0.0, each[0]),
        ready_s=max(0.0, few[1] - each[1] * _FEW),
        ready_each_s=max(0.0, each[1]),
    )


def _seconds(step: Callable[[int], object], times: int) -> float:
    """Return the median time of a step."""
    seconds = []
    for number in range(times):
        started = time.perf_counter()
        step(number)
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def _transactions(ledger: StoreLedger, database: servers.Postgres, ids: list[int]) -> dict[str, float]:
    answers = [ForgeryAnswer(at, at, "forged", 0.1, 0.1, "solver", _WITNESS) for at in range(BATCH)]
    cpu = database.cpu_seconds
    lease_s = _seconds(lambda number: ledger.lease(ids[number], "cost"), len(ids))
    answer_s = _seconds(lambda number: ledger.save(ids[number], answers), len(ids))
    beats = database.cpu_seconds
    heartbeat_s = _seconds(lambda number: ledger.heartbeat(ids[number], "cost"), len(ids))
    beats = database.cpu_seconds - beats
    record_s = _seconds(lambda number: ledger.record(ids[number], "cost", _DONE, {}), len(ids))
    return {
        "lease_s": lease_s,
        "answer_s": answer_s,
        "record_s": record_s,
        "heartbeat_s": heartbeat_s,
        "store_cpu_per_job_s": (database.cpu_seconds - cpu - beats) / len(ids),
    }


def _loop(
    store: Store, campaign_id: int, executor: CeleryExecutor, in_flight: list[int]
) -> tuple[float, float]:
    """Return what a look and a query for ready jobs take with so many jobs in flight."""
    later = time.monotonic() + 1000
    executor._sent = {job_id: _Sent(0, 1, later) for job_id in in_flight}
    look_s = _seconds(lambda _: executor._look(), 9)
    ready_s = _seconds(
        lambda _: queue.ready_jobs(store, campaign_id, limit=32, other_than=executor.in_flight()), 9
    )
    executor._sent = {}
    return look_s, ready_s


def _empty_run(store: Store, store_url: str, broker: servers.Valkey, jobs: int) -> tuple[float, float]:
    """Return seconds for each job of one slot with an empty handler, and the broker's for each message."""
    executor = CeleryExecutor(store, broker.url, print)
    try:
        with empty_worker(store, store_url, broker.url, slots=1, in_turn=True):
            campaign_id = create(store, jobs, name="empty")
            cpu, started = broker.cpu_seconds, time.perf_counter()
            run_campaign(store, campaign_id, executor, lambda _progress: None)
            seconds = time.perf_counter() - started
            return seconds / jobs, (broker.cpu_seconds - cpu) / executor._messages
    finally:
        executor.close()
