"""How many workers one orchestrator, broker and store can keep busy, simulated from measured costs.

    python -m research.benchmarks.throughput costs -o throughput.json
    python -m research.benchmarks.simulation throughput.json [--workers N ...] [--batch S ...] [options]

A SimPy model of the loop: the orchestrator's turns (look, ready jobs, messages), the broker, slots that fetch,
lease, solve, answer, heartbeat, and record while they solve the next job how the last one ended; and a
PostgreSQL server with several cores. Each slot has a core of its own; the slots of one worker share a Python
process for all but the solving. Checked against measured runs, where everything shares the machine's cores.
"""

from __future__ import annotations

import json
import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import numpy as np
import simpy

from orchestrator import celery_executor as executor
from research.benchmarks import common
from research.benchmarks.costs import Costs
from wm.attacks.forgery import BATCH
from workers.runtime import context
from workers.runtime.ledger import HEARTBEAT_S
from workers.runtime.sandbox import SLICE_S

ROUND_TRIPS = 5  # of a transaction: a look, begin with the first statement, two or three more, commit
QUANTUM_S = 0.004  # a core goes to the next in line after this long, as in an operating system
TURN_S = 0.5
COUNTING = 0.05  # share of the orchestrator's time that goes into counting
FULL = 0.9  # a part that is busy for this share of the time cannot do more
STARVING = 0.05  # with slots waiting for this share of their time, too few messages arrive

Steps = Generator[simpy.Event, Any, None]


@dataclass(frozen=True)
class Setting:
    """What is simulated."""

    slots: int
    batch_s: float  # solving in a job of `BATCH` queries
    slots_per_worker: int = 8
    store_cores: int = 4
    round_trip_s: float = 0.0002
    shared_cores: int | None = None  # if everything runs on one machine


@dataclass(frozen=True)
class Simulated:
    """Jobs a second, share of the slots' time spent solving, and the part that cannot do more, if any."""

    jobs_per_s: float
    efficiency: float
    full: str


class Part(simpy.Resource):
    """A process or a server with so many cores, and how long they were busy."""

    busy_s = 0.0


class Model:
    """A campaign of so many jobs on its way through all parts."""

    def __init__(self, costs: Costs, setting: Setting, jobs: float = math.inf) -> None:
        self.costs, self.setting = costs, setting
        self.jobs = self.planned = jobs
        self.env = env = simpy.Environment()
        self.queue = simpy.Store(env)
        self.ready: list[float] = []  # seconds of solving left in jobs that were handed back
        self.in_flight = self.dropped = self.ended = 0
        self.solved_s = self.waited_s = 0.0
        self.random = Random(1)  # noqa: S311 - a simulation
        self.cores = Part(env, setting.shared_cores) if setting.shared_cores else None
        self.store = self.cores or Part(env, setting.store_cores)
        self.orchestrator, self.broker = self.cores or Part(env), self.cores or Part(env)
        self.workers = [Part(env) for _ in range(math.ceil(setting.slots / setting.slots_per_worker))]
        self.store_share = costs.store_cpu_per_job_s / (costs.lease_s + costs.answer_s + costs.record_s)
        self.all_ended = env.event()
        env.process(self.orchestrate())
        for slot in range(setting.slots):
            env.process(self.work(self.workers[slot // setting.slots_per_worker]))

    def use(self, part: Part, seconds: float) -> Steps:
        """Keep a core of a part busy, in turns with others; a worker that shares cores is locked meanwhile."""
        if self.cores not in (None, part):
            with part.request() as lock:
                yield lock
                yield from self.use(self.cores, seconds)
            return
        while seconds > 1e-9:
            turn = min(seconds, QUANTUM_S)
            with part.request() as core:
                yield core
                yield self.env.timeout(turn)
            part.busy_s += turn
            seconds -= turn

    def transaction(self, part: Part, seconds: float) -> Steps:
        """Do what takes so long on an idle machine, some of it in the database server."""
        yield from self.use(part, seconds * (1 - self.store_share))
        yield from self.use(self.store, seconds * self.store_share)
        yield self.env.timeout(ROUND_TRIPS * self.setting.round_trip_s)

    def take(self, count: int) -> list[float]:
        """Return ready jobs as seconds of solving, those handed back first."""
        taken, self.ready = self.ready[:count], self.ready[count:]
        new = int(min(count - len(taken), self.planned))
        self.planned -= new
        # No two batches take the same time: else all slots would want everything at the same moment.
        return taken + [self.setting.batch_s * self.random.uniform(0.5, 1.5) for _ in range(new)]

    def orchestrate(self) -> Steps:
        """As `orchestrator.service.Orchestrator` and `CeleryExecutor` do it."""
        env, costs, slots = self.env, self.costs, self.setting.slots
        window = max(executor._MIN_WINDOW, executor._WINDOW_PER_SLOT * slots)
        window = min(executor._MAX_WINDOW, window)
        rate, counted_at, counted = 0.0, 0.0, 0
        while True:
            if (since := env.now - counted_at) >= executor._COUNT_EVERY_S:
                rate, counted_at, counted = (self.ended - counted) / since, env.now, self.ended
                yield from self.use(self.orchestrator, COUNTING * executor._COUNT_EVERY_S)
            if window > self.in_flight:
                seconds = costs.ready_s + costs.ready_each_s * self.in_flight
                yield from self.transaction(self.orchestrator, seconds)
                jobs = self.take(window - self.in_flight)
                size = max(1, min(executor._MAX_IN_MESSAGE, int(rate / slots * executor._MESSAGE_S)))
                for message in (jobs[start : start + size] for start in range(0, len(jobs), size)):
                    yield from self.use(self.orchestrator, costs.publish_s)
                    yield from self.use(self.broker, costs.broker_cpu_per_message_s / 2)
                    self.in_flight += len(message)
                    self.queue.put(message)
            turn_ends, dropped = env.now + TURN_S, 0
            while not dropped and env.now < turn_ends:
                yield env.timeout(executor.look_pause_s(self.in_flight, rate))
                seconds = costs.look_s + costs.look_each_s * self.in_flight
                yield from self.transaction(self.orchestrator, seconds)
                dropped, self.dropped = self.dropped, 0
                self.in_flight -= dropped

    def work(self, worker: Part) -> Steps:
        """As `workers.runtime.slots` does it."""
        env, costs = self.env, self.costs
        each_answer_s = max(0.0, costs.answer_s - costs.heartbeat_s) / BATCH
        recorded: simpy.Event = env.timeout(0)
        while True:
            since = env.now
            jobs = yield self.queue.get()
            self.waited_s += env.now - since
            yield from self.use(self.broker, costs.broker_cpu_per_message_s / 2)
            for left_s in jobs:
                yield from self.use(worker, costs.slot_s)
                yield from self.transaction(worker, costs.lease_s)
                slice_s = min(left_s, SLICE_S)
                answers = BATCH * slice_s / self.setting.batch_s if self.setting.batch_s else BATCH
                by_time = min(BATCH, round(slice_s / context._FLUSH_EVERY_S))
                parts = max(1, by_time, math.ceil(answers / context._MAX_PENDING))
                answer_s = each_answer_s * answers / parts
                for part in range(parts):
                    if part:  # the supervisor does it while the job's process goes on
                        env.process(self.transaction(worker, costs.heartbeat_s + answer_s))
                    if self.cores is None:
                        yield env.timeout(slice_s / parts)
                    else:  # in a process of its own
                        yield from self.use(self.cores, slice_s / parts)
                    self.solved_s += slice_s / parts
                for _ in range(int(slice_s / HEARTBEAT_S)):
                    env.process(self.transaction(worker, costs.heartbeat_s))
                yield recorded
                recorded = env.process(self.record(worker, left_s - slice_s, answer_s))

    def record(self, worker: Part, left_s: float, answer_s: float) -> Steps:
        """Record how a job ended, or that it is to be continued."""
        is_over = left_s <= 1e-9
        seconds = self.costs.record_s + answer_s if is_over else self.costs.heartbeat_s
        yield from self.transaction(worker, seconds)
        self.dropped += 1
        self.ended += is_over
        if not is_over:
            self.ready.append(left_s)
        if is_over and self.ended == self.jobs:
            self.all_ended.succeed()

    def counts(self) -> np.ndarray:
        """Return jobs ended, seconds solved and waited, and seconds that each kind of part was busy."""
        busy = (self.orchestrator.busy_s, self.broker.busy_s, self.store.busy_s / self.store.capacity)
        workers = sum(worker.busy_s for worker in self.workers) / len(self.workers)
        return np.array([self.ended, self.solved_s, self.waited_s, *busy, workers])


def steady(costs: Costs, setting: Setting) -> Simulated:
    """Simulate a campaign without end, after a warm-up in which every slot gets work."""
    model, slice_s = Model(costs, setting), min(setting.batch_s, SLICE_S)
    window = executor._WINDOW_PER_SLOT * setting.slots
    warm_s = 5.0 + 2 * window * costs.publish_s + 2 * slice_s
    lasts_s = max(20.0, 6 * slice_s, 200 * slice_s / setting.slots)  # else the ends would count too much
    model.env.run(warm_s)
    before = model.counts()
    model.env.run(warm_s + lasts_s)
    jobs, solved, waited, *busy = (model.counts() - before) / lasts_s
    parts = dict(zip(("orchestrator", "broker", "store", "worker"), busy, strict=True))
    full = max(parts, key=parts.__getitem__)
    if waited / setting.slots >= STARVING and max(parts["broker"], parts["store"]) < FULL:
        full = "orchestrator"  # it pauses between its looks: it is never busy all the time
    elif parts[full] < FULL:
        full = ""
    return Simulated(float(jobs), float(solved / setting.slots), full)


def whole(costs: Costs, setting: Setting, jobs: int) -> float:
    """Simulate a campaign of so many jobs; return the seconds it takes."""
    model = Model(costs, setting, jobs)
    model.env.run(model.all_ended)
    return float(model.env.now)


def validate(costs: Costs, measured: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Yield runs that were measured on one machine: what, slots, seconds measured, seconds simulated."""
    here = Setting(1, 0.0, round_trip_s=0.0, shared_cores=int(measured["machine"]["cores"]))
    for row in measured.get("campaign", []):
        if (row["store"], row["batch"]) != ("postgresql", BATCH):
            continue  # the costs are those of PostgreSQL and of the usual jobs
        jobs = row["queries"] // BATCH
        bare_s, *taken = (
            median(turn[name] for turn in row["turns"]) for name in ("bare_s", "one_slot_s", "two_slots_s")
        )
        for slots, seconds in enumerate(taken, start=1):
            simulated = whole(costs, replace(here, slots=slots, batch_s=bare_s / jobs), jobs)
            yield f"{row['dataset']} {row['engine']}", slots, seconds, simulated
    for row in measured.get("empty", []):
        if row["store"] == "postgresql":
            simulated = whole(costs, replace(here, slots=row["slots"]), 1000)
            yield "1000 empty jobs", row["slots"], 1000 * BATCH / median(row["queries_per_s"]), simulated


def main() -> None:
    """Simulate and print tables as Markdown."""
    parser = common.parser(__doc__, seed=None)
    parser.add_argument("measured", type=Path, help="JSON by throughput.py")
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 4, 16, 64, 256, 1000], help="slots")
    parser.add_argument("--batch", nargs="+", type=float, default=[0.02, 0.2, 2, 20], help="seconds of a job")
    parser.add_argument("--slots-per-worker", type=int, default=8)
    parser.add_argument("--store-cores", type=int, default=4)
    parser.add_argument("--round-trip-ms", type=float, default=0.2)
    given = parser.parse_args()
    measured = json.loads(given.measured.read_text())
    costs = Costs(**measured["costs"])
    print(common.markdown(["run", "slots", "measured s", "simulated s"], validate(costs, measured)))
    place = (given.slots_per_worker, given.store_cores, given.round_trip_ms / 1000)

    def line(slots: int) -> str:
        found = [steady(costs, Setting(slots, batch_s, *place)) for batch_s in given.batch]
        cells = (f"{one.efficiency:.0%}, {one.jobs_per_s:,.0f} jobs/s, {one.full} full" for one in found)
        return " | ".join([str(slots), *(cell.removesuffix(",  full") for cell in cells)])

    titles = " | ".join(["slots", *(f"{batch_s:g} s" for batch_s in given.batch)])
    print("\n" + common.table(titles, given.workers, line))


if __name__ == "__main__":
    main()
