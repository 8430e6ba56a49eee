"""What the path of a job costs: rates with empty queries, overhead and speed-up with real ones.

    python -m research.benchmarks.throughput [empty] [campaign] [costs] [-o FILE] [options]

`empty`: queries a second from the first message to the last outcome when the handler answers at once; all
else is real (planned jobs, store, broker, worker process, leases, answers, outcomes).
`campaign`: real forgery campaigns against a bare loop over the engine, in turns; see real_campaign.py.
`costs`: each part by itself, for simulation.py; see costs.py.

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
from statistics import median
from typing import Any

from pydantic import TypeAdapter

from orchestrator.celery_executor import CeleryExecutor
from orchestrator.loop import run_campaign
from orchestrator.store import campaigns
from orchestrator.store.database import Store
from research.benchmarks import common
from research.benchmarks.costs import Costs, measure_costs
from research.benchmarks.real_campaign import Place, Turn, turns
from research.benchmarks.stores import empty_worker, forgery_campaign, opened
from tests import servers
from wm.attacks.forgery import BATCH

CAMPAIGNS = ["breast-cancer:z3:4", "breast-cancer:sat:20"]
"""Data set, engine, number of signatures, each with 500 queries, and queries of a job if not the usual."""


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


def measure_empty(store: Store, broker: servers.Valkey, jobs: int, slots: int) -> float:
    """Return queries a second from the first message to the last outcome."""
    broker.client().flushall()
    campaign_id = forgery_campaign(store, jobs, name=f"{slots}-{time.time_ns()}")
    with (
        closing(CeleryExecutor(store, broker.url, print)) as executor,
        empty_worker(store, broker.url, slots),
    ):
        started = time.perf_counter()
        run_campaign(store, campaign_id, executor, lambda _progress: None)
        seconds = time.perf_counter() - started
    done = campaigns.progress(store, campaign_id).done_weight
    if done != jobs * BATCH:
        raise RuntimeError(f"{done} of {jobs * BATCH} queries have an answer")
    return jobs * BATCH / seconds


def empty(arguments: argparse.Namespace, broker: servers.Valkey) -> list[Empty]:
    """Measure empty queries with one slot and two, in turns."""
    found = []
    for kind in arguments.store:
        with opened(kind, durable=arguments.durable) as store:
            rows = [Empty(kind, slots, []) for slots in (1, 2)]
            for row in rows * arguments.repeats:
                row.queries_per_s.append(measure_empty(store, broker, arguments.jobs, row.slots))
        found += rows
    titles = "empty queries: store | slots | queries/s (median, least, most)"
    print(
        common.table(
            titles, found, lambda row: f"{row.store} | {row.slots} | {_spread(row.queries_per_s, ',.0f')}"
        )
    )
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
    """Measure each part on PostgreSQL."""
    broker.client().flushall()
    with closing(servers.Postgres(durable=arguments.durable)) as database:
        found = measure_costs(database, broker, jobs=arguments.jobs)
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
