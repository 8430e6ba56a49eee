"""Jobs that do nothing through many real slots: the rate, and where store, broker and orchestrator are full.

    python -m research.benchmarks.slots [--slots N ...] [--jobs N] [--seconds S] [-o FILE] [--model throughput.json]

For each number of slots, a campaign of empty jobs on PostgreSQL is fed by a real `wm orchestrate` to workers of
eight slots, whose handler answers at once, until all jobs are done or the time is over. Reported are the jobs a
second, and the processor time that each part takes for a job. The latter hardly depends on what else the
machine does, and gives the rate at which the part is full: one core for the broker, for the orchestrator and
for each worker, `--store-cores` for the store. With `--model`, the rate that simulation.py predicts from
measured costs stands beside it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass

import sqlalchemy as sa

from orchestrator.store import launched, services
from orchestrator.store.database import Store
from orchestrator.store.tables import outcome
from research.benchmarks import common
from research.benchmarks.simulation import Setting, steady
from research.benchmarks.stores import forgery_campaign, process
from research.benchmarks.throughput import Costs
from tests import servers

SLOTS_PER_WORKER = 8
CONNECTIONS = 20
"""Of PostgreSQL, for each worker at most; the orchestrator and this program take few."""
LOOK_S = 0.5


@dataclass(frozen=True)
class Row:
    """One number of slots. Milliseconds are of processor time for each job; of all workers together."""

    slots: int
    jobs: int
    seconds: float
    store_ms: float
    broker_ms: float
    orchestrator_ms: float
    workers_ms: float
    predicted_per_s: float | None

    @property
    def per_s(self) -> float:
        """Jobs a second."""
        return self.jobs / self.seconds


def measure(slots: int, jobs: int, limit_s: float, predicted_per_s: float | None) -> Row:
    """Run empty jobs through so many slots; count from the first outcome on, when all parts are at work."""
    workers = max(1, slots // SLOTS_PER_WORKER)
    with ExitStack() as stack:
        broker = stack.enter_context(closing(servers.Valkey()))
        server = stack.enter_context(closing(servers.Postgres(connections=CONNECTIONS * (workers + 1))))
        store = stack.enter_context(closing(Store(server.url())))
        store.upgrade()
        launched.hand_over(store, forgery_campaign(store, jobs, name="slots"))
        words = ("research.benchmarks.empty_worker", str(min(slots, SLOTS_PER_WORKER)))
        started = [stack.enter_context(process(store, broker.url, *words)) for _ in range(workers)]
        while len(services.workers(store)) < workers:
            if any(worker.poll() is not None for worker in started):
                raise RuntimeError("a worker did not start")
            time.sleep(LOOK_S)
        orchestrator = stack.enter_context(process(store, broker.url, "orchestrator.cli", "orchestrate"))

        def used() -> Iterator[float]:
            """Yield the processor time of store, broker, orchestrator and workers so far."""
            yield server.cpu_seconds
            yield broker.cpu_seconds
            yield servers.cpu_seconds(orchestrator.pid)
            yield sum(servers.cpu_seconds(worker.pid) for worker in started)

        while not (first := recorded(store)):
            time.sleep(LOOK_S)
        before, began = list(used()), time.monotonic()
        while (done := recorded(store)) < jobs and time.monotonic() - began < limit_s:
            time.sleep(LOOK_S)
        seconds, after = time.monotonic() - began, list(used())
        store_ms, broker_ms, orchestrator_ms, workers_ms = (
            1000 * (end - start) / (done - first) for start, end in zip(before, after, strict=True)
        )
        parts = store_ms, broker_ms, orchestrator_ms, workers_ms
        return Row(slots, done - first, seconds, *parts, predicted_per_s)


def recorded(store: Store) -> int:
    """Return how many jobs are done."""
    return int(store.rows(sa.select(sa.func.count()).select_from(outcome))[0][0])


def line(row: Row, store_cores: int) -> list[str]:
    """Return a row of the table; in parentheses the jobs a second at which a part is full."""
    workers = max(1, row.slots // SLOTS_PER_WORKER)
    parts = (
        (row.store_ms, store_cores),
        (row.broker_ms, 1),
        (row.orchestrator_ms, 1),
        (row.workers_ms, workers),
    )
    predicted = "" if row.predicted_per_s is None else f"{row.predicted_per_s:,.0f}"
    cells = (f"{ms:.2f} ({1000 * cores / ms:,.0f})" for ms, cores in parts)
    return [f"{row.slots}", f"{row.jobs:,}", f"{row.seconds:.0f}", f"{row.per_s:,.0f}", predicted, *cells]


def main() -> None:
    """Measure and print a table."""
    parser = common.parser(__doc__, seed=None)
    parser.add_argument("--slots", nargs="+", type=int, default=[8, 16, 64])
    parser.add_argument("--jobs", type=int, default=1_000_000, help="at most, for each number of slots")
    parser.add_argument("--seconds", type=float, default=600.0, help="at most, for each number of slots")
    parser.add_argument("--store-cores", type=int, default=4)
    parser.add_argument(
        "--model", type=common.document, help="JSON by throughput.py: its costs are simulated"
    )
    arguments = parser.parse_args()
    common.end_what_was_started()
    rows = []
    for slots in arguments.slots:
        predicted = None
        if arguments.model is not None:
            costs, cores = Costs(**arguments.model["costs"]), int(arguments.model["machine"]["cores"])
            place = Setting(slots, 0.0, SLOTS_PER_WORKER, round_trip_s=0.0, shared_cores=cores)
            predicted = steady(costs, place).jobs_per_s
        rows.append(measure(slots, arguments.jobs, arguments.seconds, predicted))
        print(f"{slots} slots: {rows[-1].per_s:,.0f} jobs/s", file=sys.stderr)
    titles = "slots | jobs | s | jobs/s | simulated | store ms (full at) | broker | orchestrator | workers"
    print(common.markdown(titles.split(" | "), (line(row, arguments.store_cores) for row in rows)))
    common.save_results(arguments, rows)


if __name__ == "__main__":
    main()
