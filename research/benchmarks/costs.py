"""What each part of the path of a job costs: store, broker, orchestrator, slot; for `simulation.py`."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from statistics import median

from orchestrator.celery_executor import CeleryExecutor, _Sent
from orchestrator.loop import run_campaign
from orchestrator.store import queue
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from research.benchmarks.stores import empty_worker, forgery_campaign
from tests import servers
from wm.attacks.forgery import BATCH
from workers.jobs import ForgeryAnswer, Outcome, OutcomeStatus

FEW, MANY = 64, 4096
DONE = Outcome(OutcomeStatus.DONE, {"instances": BATCH}, {"job": 1.0})
ANSWERS = [ForgeryAnswer(at, at, "forged", 0.1, 0.1, "solver", b"w" * 120) for at in range(BATCH)]


@dataclass(frozen=True)
class Costs:
    """Seconds of each step, on PostgreSQL, seen from one client on the same host."""

    lease_s: float
    answer_s: float  # the answers of a whole batch
    record_s: float
    heartbeat_s: float
    store_cpu_per_job_s: float  # processor time of the database server for lease, answers and record
    publish_s: float  # the sender's time for a message of a single job
    broker_cpu_per_message_s: float  # taking and giving it
    slot_s: float  # what a slot spends besides these and the solving: fetching the message, passing data on
    look_s: float  # the orchestrator's look at the jobs in flight: of itself, and for each of them
    look_each_s: float
    ready_s: float  # its query for ready jobs: of itself, and for each job in flight
    ready_each_s: float


def measure_costs(database: servers.Postgres, broker: servers.Valkey, *, jobs: int) -> Costs:
    """Measure everything on an empty database; `jobs` transactions of each kind."""
    with closing(Store(database.url())) as store:
        store.upgrade()
        campaign_id = forgery_campaign(store, jobs + MANY, name="costs")
        ids = queue.ready_jobs(store, campaign_id, limit=jobs + MANY, excluded=())
        mine, others, ledger = ids[:jobs], ids[jobs:], StoreLedger(store)
        cpu = database.cpu_seconds
        lease_s = _seconds(lambda at: ledger.lease(mine[at], "cost"), jobs)
        answer_s = _seconds(lambda at: ledger.save(mine[at], ANSWERS), jobs)
        before_beats = database.cpu_seconds
        heartbeat_s = _seconds(lambda at: ledger.heartbeat(mine[at], "cost"), jobs)
        beats = database.cpu_seconds - before_beats
        record_s = _seconds(lambda at: ledger.record(mine[at], "cost", DONE, {}), jobs)
        store_cpu_s = (database.cpu_seconds - cpu - beats) / jobs
        with closing(CeleryExecutor(store, broker.url, print)) as executor:

            def look(in_flight: int) -> tuple[float, float]:
                """Return seconds of a look and of a query for ready jobs with so many in flight."""
                later = time.monotonic() + 1000
                executor._sent = {job_id: _Sent(0, 1, later) for job_id in others[:in_flight]}
                known = executor.in_flight()
                ready = _seconds(lambda _: queue.ready_jobs(store, campaign_id, limit=32, excluded=known), 9)
                return _seconds(lambda _: executor._look(), 9), ready

            few, many = look(FEW), look(MANY)
            executor._sent = {}
            started = time.perf_counter()
            executor.submit(others)
            publish_s = (time.perf_counter() - started) / executor._messages
        broker.client().flushall()
        (look_s, look_each_s), (ready_s, ready_each_s) = map(_line, few, many)
        with (
            closing(CeleryExecutor(store, broker.url, print)) as executor,
            empty_worker(store, broker.url, slots=1, in_turn=True),
        ):
            campaign_id = forgery_campaign(store, jobs, name="empty")
            cpu, started = broker.cpu_seconds, time.perf_counter()
            run_campaign(store, campaign_id, executor, lambda _progress: None)
            per_job_s = (time.perf_counter() - started) / jobs
            broker_cpu_s = (broker.cpu_seconds - cpu) / executor._messages
    slot_s = max(0.0, per_job_s - lease_s - answer_s - record_s)
    transactions = lease_s, answer_s, record_s, heartbeat_s, store_cpu_s
    return Costs(*transactions, publish_s, broker_cpu_s, slot_s, look_s, look_each_s, ready_s, ready_each_s)


def _line(few_s: float, many_s: float) -> tuple[float, float]:
    """Return the seconds of a step of itself, and for each job in flight."""
    each_s = max(0.0, (many_s - few_s) / (MANY - FEW))
    return max(0.0, few_s - each_s * FEW), each_s


def _seconds(step: Callable[[int], object], times: int) -> float:
    """Return the median time of a step."""
    seconds = []
    for number in range(times):
        started = time.perf_counter()
        step(number)
        seconds.append(time.perf_counter() - started)
    return median(seconds)
