"""What the path of a job costs: rates with empty queries, overhead and speed-up with real ones.

    python -m research.benchmarks.throughput [empty] [campaign] [costs] [-o FILE] [options]

`empty`: queries a second from the first message to the last outcome when the handler answers at once; all
else is real (planned jobs, store, broker, worker process, leases, answers, outcomes).
`campaign`: real forgery campaigns against a bare loop over the engine, in turns; see real_campaign.py.
`costs`: each part of a job's path by itself, on PostgreSQL, for simulation.py.

Starts its own servers; see tests/servers.py. Without a word all three are measured, and with -o kept as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from orchestrator.celery_executor import CeleryExecutor, _Sent
from orchestrator.loop import run_campaign
from orchestrator.store import campaigns, queue
from orchestrator.store.database import Store
from orchestrator.store.ledger import StoreLedger
from research.benchmarks import common
from research.benchmarks.common import seconds_each
from research.benchmarks.real_campaign import Place, Turn, turns
from research.benchmarks.stores import empty_worker, forgery_campaign, opened
from tests import servers
from wm.attacks.forgery import BATCH
from workers.jobs.base import Outcome, OutcomeStatus
from workers.jobs.forging import ForgeryAnswer

CAMPAIGNS = ["breast-cancer:z3:4", "breast-cancer:sat:20"]
"""Data set, engine, number of signatures, each with 500 queries, and queries of a job if not the usual."""


IN_FLIGHT = (64, 4096)
"""Numbers of jobs in flight at which the orchestrator's steps are measured."""


@dataclass(frozen=True)
class Empty:
    """Queries a second with an empty handler, one for each repeat."""

    store: str
    slots: int
    queries_per_s: list[float]


@dataclass(frozen=True)
class Campaign:
    """A real campaign; `turns` are paired."""

    dataset: str
    engine: str
    store: str
    batch: int
    queries: int
    turns: list[Turn]


@dataclass(frozen=True)
class Costs:
    """Seconds of each step, seen from one client on the same host."""

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


def run_empty(
    store: Store, broker: servers.Valkey, jobs: int, slots: int, *, in_turn: bool = False
) -> tuple[float, float]:
    """Return seconds from the first message to the last outcome, and the broker's for each message."""
    broker.client().flushall()
    campaign_id = forgery_campaign(store, jobs, name=f"{slots}-{time.time_ns()}")
    with (
        closing(CeleryExecutor(store, broker.url, print)) as executor,
        empty_worker(store, broker.url, slots, in_turn=in_turn),
    ):
        cpu_s, started = broker.cpu_seconds, time.perf_counter()
        run_campaign(store, campaign_id, executor, lambda _progress: None)
        seconds, messages = time.perf_counter() - started, executor._messages
    done = campaigns.progress(store, campaign_id).done_weight
    if done != jobs * BATCH:
        raise RuntimeError(f"{done} of {jobs * BATCH} queries have an answer")
    return seconds, (broker.cpu_seconds - cpu_s) / messages


def empty(arguments: argparse.Namespace, broker: servers.Valkey) -> list[Empty]:
    """Measure empty queries with one slot and two, in turns."""
    found = []
    for kind in arguments.store:
        with opened(kind, durable=arguments.durable) as store:
            rows = [Empty(kind, slots, []) for slots in (1, 2)]
            for row in rows * arguments.repeats:
                seconds, _ = run_empty(store, broker, arguments.jobs, row.slots)
                row.queries_per_s.append(arguments.jobs * BATCH / seconds)
        found += rows
    titles = "empty queries: store | slots | queries/s (median, least, most)"
    spreads = ((row.store, row.slots, _spread(row.queries_per_s, ",.0f")) for row in found)
    print(common.markdown(titles.split(" | "), spreads))
    return found


def campaign(arguments: argparse.Namespace, broker: servers.Valkey) -> list[Campaign]:
    """Measure real campaigns on each store."""
    print("\nreal campaigns (median, least, most)")
    found = []
    for words in arguments.campaign or CAMPAIGNS:
        dataset, engine, signatures, *batches = words.split(":")
        batch = int(batches[0]) if batches else BATCH
        for kind in arguments.store:
            broker.client().flushall()
            row = Campaign(dataset, engine, kind, batch, 500 * int(signatures), [])
            with opened(kind, durable=arguments.durable) as store:
                for turn in turns(
                    Place(store, broker.url, dataset, engine, int(signatures), batch), arguments.repeats
                ):
                    row.turns.append(turn)
                    print(f"  {turn}", flush=True)
            found.append(row)
            print(
                f"{dataset} {engine} {kind}, {batch} a job: {row.queries} queries, "
                f"{_spread([1000 * turn.bare_s / row.queries for turn in row.turns], '.3f')} ms each; "
                f"overhead {_spread([100 * turn.overhead for turn in row.turns], '.1f')} %; "
                f"two slots {_spread([turn.speedup for turn in row.turns], '.2f')} times one",
                flush=True,
            )
    return found


def costs(arguments: argparse.Namespace, broker: servers.Valkey) -> Costs:
    """Measure each part on an empty PostgreSQL; `--jobs` transactions of each kind."""
    jobs = arguments.jobs
    done = Outcome(OutcomeStatus.DONE, {"instances": BATCH}, {"job": 1.0})
    answers = [ForgeryAnswer(at, at, "forged", 0.1, 0.1, "solver", b"w" * 120) for at in range(BATCH)]
    with (
        closing(servers.Postgres(durable=arguments.durable)) as database,
        closing(Store(database.url())) as store,
    ):
        store.upgrade()
        ledger, many = StoreLedger(store), jobs + max(IN_FLIGHT)
        campaign_id = forgery_campaign(store, many, name="costs")
        ids = queue.ready_jobs(store, campaign_id, limit=many, excluded=())

        def transaction(step: Callable[[int], object]) -> tuple[float, float]:
            """Return its median seconds, and the server's processor time for each."""
            cpu_s = database.cpu_seconds
            seconds = seconds_each(step, ids[:jobs])
            return median(seconds), (database.cpu_seconds - cpu_s) / jobs

        lease_s, lease_cpu_s = transaction(lambda job_id: ledger.lease(job_id, "cost"))
        answer_s, answer_cpu_s = transaction(lambda job_id: ledger.save(job_id, answers))
        heartbeat_s, _ = transaction(lambda job_id: ledger.heartbeat(job_id, "cost"))
        record_s, record_cpu_s = transaction(lambda job_id: ledger.record(job_id, "cost", done, {}))
        store_cpu_s = lease_cpu_s + answer_cpu_s + record_cpu_s
        with closing(CeleryExecutor(store, broker.url, print)) as executor:
            looks = []
            for in_flight in IN_FLIGHT:
                sent = _Sent(0, 1, time.monotonic() + 1000)
                executor._sent = dict.fromkeys(ids[jobs : jobs + in_flight], sent)
                others = partial(queue.ready_jobs, store, campaign_id, excluded=executor.in_flight())
                both = (executor._look, partial(others, limit=32))
                looks.append([median(seconds_each(lambda do: do(), [step] * 9)) for step in both])
            (look_each_s, ready_each_s), (look_s, ready_s) = np.polyfit(IN_FLIGHT, looks, 1).clip(0).tolist()
            executor._sent = {}
            publish_s = sum(seconds_each(executor.submit, [ids[jobs:]])) / executor._messages
        run_s, broker_cpu_s = run_empty(store, broker, jobs, slots=1, in_turn=True)
    slot_s = max(0.0, run_s / jobs - lease_s - answer_s - record_s)
    steps = lease_s, answer_s, record_s, heartbeat_s, store_cpu_s, publish_s, broker_cpu_s, slot_s
    found = Costs(*steps, look_s, look_each_s, ready_s, ready_each_s)
    rows = [(name, f"{1000 * seconds:.4f}") for name, seconds in asdict(found).items()]
    print("\n" + common.markdown(["cost", "ms"], rows))
    return found


PARTS: dict[str, Callable[[argparse.Namespace, servers.Valkey], Any]] = {
    "empty": empty,
    "campaign": campaign,
    "costs": costs,
}


def _spread(values: list[float], form: str) -> str:
    return f"{median(values):{form}} ({min(values):{form}}, {max(values):{form}})"


def main() -> None:
    """Measure and print tables."""
    parser = common.parser(__doc__, seed=None)
    common.add_store(parser)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; by default all")
    parser.add_argument("--jobs", type=int, default=1000, help="empty batches of queries")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--campaign", action="append", metavar="DATASET:ENGINE:SIGNATURES[:BATCH]")
    parser.add_argument("--durable", action="store_true", help="PostgreSQL waits for the disk at each commit")
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"unknown part {unknown.pop()!r}: give some of {', '.join(PARTS)}")
    common.end_what_was_started()
    measured: dict[str, Any] = {"machine": {"cores": os.cpu_count(), "processor": common.processor()}}
    with closing(servers.Valkey()) as broker:
        for part in arguments.parts or PARTS:
            measured[part] = TypeAdapter(Any).dump_python(PARTS[part](arguments, broker))
    if arguments.output is not None:
        arguments.output.write_text(json.dumps(measured, indent=2) + "\n")


if __name__ == "__main__":
    main()
