"""What the way of the data costs: rates with empty queries, overhead and speed-up with real ones.

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
import platform
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from orchestrator.celery_executor import CeleryExecutor
from orchestrator.loop import run_campaign
from orchestrator.spec import BATCH
from orchestrator.store import campaigns
from orchestrator.store.database import Store
from research.benchmarks import common, made_up
from research.benchmarks.costs import measure_costs
from research.benchmarks.empty_worker import empty_worker
from research.benchmarks.real_campaign import Place, Turn, turns
from tests import servers

PARTS = ("empty", "campaign", "costs")
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


@contextmanager
def store_urls(kinds: str, *, durable: bool) -> Iterator[dict[str, str]]:
    """Make an empty store of each kind; return their URLs."""
    with tempfile.TemporaryDirectory() as directory:
        made = {"sqlite": f"sqlite:///{directory}/wm.db"} if kinds != "postgresql" else {}
        database = servers.Postgres(durable=durable) if kinds != "sqlite" else None
        if database is not None:
            made["postgresql"] = database.url()
        try:
            yield made
        finally:
            if database is not None:
                database.close()


def measure_empty(kind: str, store_url: str, broker: servers.Valkey, jobs: int, slots: int) -> float:
    """Return queries a second from the first message to the last outcome."""
    broker.client().flushall()
    store = Store(store_url)
    store.upgrade()
    campaign_id = made_up.create(store, jobs, name=f"{kind}-{slots}-{time.time_ns()}")
    executor = CeleryExecutor(store, broker.url, print)
    try:
        with empty_worker(store, store_url, broker.url, slots):
            started = time.perf_counter()
            run_campaign(store, campaign_id, executor, lambda _progress: None)
            seconds = time.perf_counter() - started
        done = campaigns.progress(store, campaign_id).done_weight
        if done != jobs * BATCH:
            raise RuntimeError(f"{done} of {jobs * BATCH} queries have an answer")
        return jobs * BATCH / seconds
    finally:
        executor.close()
        store.close()


def empty(arguments: argparse.Namespace, broker: servers.Valkey) -> list[Empty]:
    """Measure empty queries with one slot and two, in turns."""
    rates: dict[tuple[str, int], list[float]] = {}
    with store_urls(arguments.store, durable=arguments.durable) as urls:
        for _ in range(arguments.repeats):
            for kind, url in urls.items():
                for slots in (1, 2):
                    rate = measure_empty(kind, url, broker, arguments.jobs, slots)
                    rates.setdefault((kind, slots), []).append(rate)
    print("\nempty queries\nstore       slots  queries/s (median, least, most)")
    found = [Empty(kind, slots, each) for (kind, slots), each in rates.items()]
    for row in found:
        print(f"{row.store:<11} {row.slots:>5}  {_spread(row.queries_per_s, '9,.0f')}", flush=True)
    return found


def campaign(arguments: argparse.Namespace, broker: servers.Valkey) -> list[Campaign]:
    """Measure real campaigns on each store."""
    print("\nreal campaigns (median, least, most)")
    found = []
    for words in arguments.campaign or CAMPAIGNS:
        dataset, engine, signatures, *batches = words.split(":")
        batch = int(batches[0]) if batches else BATCH
        with store_urls(arguments.store, durable=arguments.durable) as urls:
            for kind, url in urls.items():
                broker.client().flushall()
                store = Store(url)
                store.upgrade()
                place = Place(store, url, broker.url, dataset, engine, int(signatures), batch)
                row = Campaign(dataset, engine, kind, batch, 500 * int(signatures), [])
                for turn in turns(place, arguments.repeats):
                    row.turns.append(turn)
                    print(f"  {turn}", flush=True)
                store.close()
                found.append(row)
                bare = [1000 * turn.bare_s / row.queries for turn in row.turns]
                print(
                    f"{dataset} {engine} {kind}, {batch} a job: "
                    f"{row.queries} queries, {_spread(bare, '.3f')} ms each; "
                    f"overhead {_spread([100 * turn.overhead for turn in row.turns], '.1f')} %; "
                    f"two slots {_spread([turn.speedup for turn in row.turns], '.2f')} times one",
                    flush=True,
                )
    return found


def costs(arguments: argparse.Namespace, broker: servers.Valkey) -> Any:
    """Measure each part on PostgreSQL."""
    with closing(servers.Postgres(durable=arguments.durable)) as database:
        broker.client().flushall()
        found = measure_costs(database, broker, jobs=arguments.jobs)
    print("\ncosts, in milliseconds")
    for name, seconds in asdict(found).items():
        print(f"  {name:<26} {1000 * seconds:.4f}")
    return found


def _spread(values: list[float], form: str) -> str:
    return f"{statistics.median(values):{form}} ({min(values):{form}}, {max(values):{form}})"


def main() -> None:
    """Measure and print tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; by default all")
    parser.add_argument("--jobs", type=int, default=1000, help="empty batches of queries")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--store", choices=["sqlite", "postgresql", "both"], default="both")
    parser.add_argument("--campaign", action="append", metavar="DATASET:ENGINE:SIGNATURES[:BATCH]")
    parser.add_argument("--durable", action="store_true", help="PostgreSQL waits for the disk at each commit")
    parser.add_argument("-o", "--output", type=Path, help="JSON, read by simulation.py")
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"unknown part {unknown.pop()!r}: give some of {', '.join(PARTS)}")
    common.end_what_was_started()
    broker = servers.Valkey()
    measured: dict[str, Any] = {
        "machine": {"cores": os.cpu_count(), "processor": platform.processor() or platform.machine()}
    }
    try:
        for part in arguments.parts or PARTS:
            found = {"empty": empty, "campaign": campaign, "costs": costs}[part](arguments, broker)
            measured[part] = [asdict(row) for row in found] if isinstance(found, list) else asdict(found)
    finally:
        broker.close()
    if arguments.output is not None:
        arguments.output.write_text(json.dumps(measured, indent=2) + "\n")


if __name__ == "__main__":
    main()
