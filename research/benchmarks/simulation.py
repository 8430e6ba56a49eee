"""How many workers one orchestrator, broker and store can keep busy, simulated from measured costs.

    python -m research.benchmarks.throughput costs -o throughput.json
    python -m research.benchmarks.simulation throughput.json [--workers N ...] [--batch S ...] [options]

A SimPy model of orchestrator, broker, slots and PostgreSQL. Each slot has a core of its own; the slots of one
worker share a Python process for all but the solving. Checked against measured runs on one machine's cores.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from random import Random
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import simpy

from orchestrator import celery_executor as executor
from research.benchmarks import common
from research.benchmarks.throughput import Costs
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


class Part(simpy.Resource):
    """A process or a server with so many cores, and how long they were busy."""

    busy_s = 0.0


class Model:
    """A campaign of so many jobs on its way through all parts."""

    def __init__(self, costs: Costs, setting: Setting, jobs: int | None = None) -> None:
        self.costs, self.setting, self.jobs = costs, setting, jobs
        self.env = env = simpy.Environment()
        self.queue, self.all_ended = simpy.Store(env), env.event()
        uniform = Random(1).uniform  # noqa: S311 - a simulation
        # No two batches take the same time: else all slots would want everything at the same moment.
        batches = (setting.batch_s * uniform(0.5, 1.5) for _ in itertools.count())
        self.planned = itertools.islice(batches, jobs)
        self.ready: list[float] = []  # seconds of solving left in jobs that were handed back
        self.in_flight = self.dropped = self.ended = 0
        self.solved_s = self.waited_s = 0.0
        self.cores = Part(env, setting.shared_cores) if setting.shared_cores else None
        alone = (self.cores or Part(env, cores) for cores in (1, 1, setting.store_cores))
        self.orchestrator, self.broker, self.store = alone
        self.workers = [Part(env) for _ in range(math.ceil(setting.slots / setting.slots_per_worker))]
        self.store_share = costs.store_cpu_per_job_s / (costs.lease_s + costs.answer_s + costs.record_s)
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

    def orchestrate(self) -> Steps:
        """As `orchestrator.service.Orchestrator` and `CeleryExecutor` do it."""
        env, costs, me, slots = self.env, self.costs, self.orchestrator, self.setting.slots
        sizes = (executor._MIN_WINDOW, executor._WINDOW_PER_SLOT * slots, executor._MAX_WINDOW)
        window, rate, counted_at, counted = sorted(sizes)[1], 0.0, 0.0, 0
        while True:
            if (since := env.now - counted_at) >= executor._COUNT_EVERY_S:
                rate, counted_at, counted = (self.ended - counted) / since, env.now, self.ended
                yield from self.use(me, COUNTING * executor._COUNT_EVERY_S)
            if window > self.in_flight:
                yield from self.transaction(me, costs.ready_s + costs.ready_each_s * self.in_flight)
                free = window - self.in_flight
                jobs, self.ready = self.ready[:free], self.ready[free:]
                jobs += itertools.islice(self.planned, free - len(jobs))
                size = max(1, min(executor._MAX_IN_MESSAGE, int(rate / slots * executor._MESSAGE_S)))
                for message in (jobs[start : start + size] for start in range(0, len(jobs), size)):
                    yield from self.use(me, costs.publish_s)
                    yield from self.use(self.broker, costs.broker_cpu_per_message_s / 2)
                    self.in_flight += len(message)
                    self.queue.put(message)
            turn_ends, dropped = env.now + TURN_S, 0
            while not dropped and env.now < turn_ends:
                yield env.timeout(executor.look_pause_s(self.in_flight, rate))
                yield from self.transaction(me, costs.look_s + costs.look_each_s * self.in_flight)
                dropped, self.dropped = self.dropped, 0
                self.in_flight -= dropped

    def work(self, worker: Part) -> Steps:
        """As `workers.runtime.slots` does it."""
        env, costs = self.env, self.costs
        recorded: simpy.Event = env.timeout(0)
        each_answer_s = max(0.0, costs.answer_s - costs.heartbeat_s) / BATCH
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
        is_over, costs = left_s <= 1e-9, self.costs
        yield from self.transaction(worker, costs.record_s + answer_s if is_over else costs.heartbeat_s)
        self.dropped += 1
        self.ended += is_over
        if not is_over:
            self.ready.append(left_s)
        elif self.ended == self.jobs:
            self.all_ended.succeed()


class Simulated(NamedTuple):
    """Jobs a second, share of the slots' time spent solving, and the part that cannot do more, if any."""

    jobs_per_s: float
    efficiency: float
    full: str


def steady(costs: Costs, setting: Setting) -> Simulated:
    """Simulate a campaign without end, after a warm-up in which every slot gets work."""
    model, slice_s = Model(costs, setting), min(setting.batch_s, SLICE_S)
    warm_s = 5.0 + 2 * executor._WINDOW_PER_SLOT * setting.slots * costs.publish_s + 2 * slice_s
    lasts_s = max(20.0, 6 * slice_s, 200 * slice_s / setting.slots)  # else the ends would count too much
    counts: list[list[Any]] = []
    for until_s in (warm_s, warm_s + lasts_s):
        model.env.run(until_s)
        parts = ([model.orchestrator], [model.broker], [model.store], model.workers)
        busy = [np.mean([part.busy_s / part.capacity for part in group]) for group in parts]
        counts.append([model.ended, model.solved_s, model.waited_s, *busy])
    jobs, solved, waited, *busy = np.diff(counts, axis=0)[0] / lasts_s
    shares = dict(zip(("orchestrator", "broker", "store", "worker"), busy, strict=True))
    starving = waited / setting.slots >= STARVING and max(shares["broker"], shares["store"]) < FULL
    # The orchestrator pauses between its looks: it is never busy all the time.
    full = "orchestrator" if starving else max(shares, key=shares.__getitem__)
    return Simulated(jobs, solved / setting.slots, full if starving or shares[full] >= FULL else "")


def whole(costs: Costs, setting: Setting, jobs: int) -> float:
    """Simulate a campaign of so many jobs; return the seconds it takes."""
    model = Model(costs, setting, jobs)
    model.env.run(model.all_ended)
    return float(model.env.now)


def validate(costs: Costs, measured: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Yield runs that were measured on one machine: what, slots, seconds measured, seconds simulated."""
    here = Setting(1, 0.0, round_trip_s=0.0, shared_cores=int(measured["machine"]["cores"]))
    runs, names = [], ("bare_s", "one_slot_s", "two_slots_s")
    for row in measured.get("campaign", []):
        if (row["store"], row["batch"]) == ("postgresql", BATCH):  # as those whose costs these are
            what, jobs = f"{row['dataset']} {row['engine']}", row["queries"] // BATCH
            bare_s, *taken = (median(turn[name] for turn in row["turns"]) for name in names)
            runs += [(what, slots, jobs, bare_s, seconds) for slots, seconds in enumerate(taken, 1)]
    for row in measured.get("empty", []):
        if row["store"] == "postgresql":
            seconds = 1000 * BATCH / median(row["queries_per_s"])
            runs.append(("1000 empty jobs", row["slots"], 1000, 0.0, seconds))
    for what, slots, jobs, bare_s, seconds in runs:
        yield what, slots, seconds, whole(costs, replace(here, slots=slots, batch_s=bare_s / jobs), jobs)


def main() -> None:
    """Simulate and print tables as Markdown."""
    parser = common.parser(__doc__, seed=None)
    parser.add_argument("measured", type=common.document, help="JSON by throughput.py")
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 4, 16, 64, 256, 1000], help="slots")
    parser.add_argument("--batch", nargs="+", type=float, default=[0.02, 0.2, 2, 20], help="seconds of a job")
    parser.add_argument("--slots-per-worker", type=int, default=8)
    parser.add_argument("--store-cores", type=int, default=4)
    parser.add_argument("--round-trip-ms", type=float, default=0.2)
    given = parser.parse_args()
    costs = Costs(**given.measured["costs"])
    print(common.markdown(["run", "slots", "measured s", "simulated s"], validate(costs, given.measured)))
    place = (given.slots_per_worker, given.store_cores, given.round_trip_ms / 1000)

    def line(slots: int) -> list[str]:
        found = (steady(costs, Setting(slots, batch_s, *place)) for batch_s in given.batch)
        cells = (f"{one.efficiency:.0%}, {one.jobs_per_s:,.0f} jobs/s, {one.full} full" for one in found)
        return [str(slots), *(cell.removesuffix(",  full") for cell in cells)]

    titles = ["slots", *(f"{batch_s:g} s" for batch_s in given.batch)]
    print("\n" + common.markdown(titles, map(line, given.workers)))


if __name__ == "__main__":
    main()
