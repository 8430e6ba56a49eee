"""How many workers one orchestrator, broker and store can keep busy, by simulation from measured costs.

    python -m research.benchmarks.throughput -o throughput.json
    python -m research.benchmarks.simulation throughput.json [--workers N,N,...] [--batch S,S,...] [options]

A discrete-event model of the loop: the orchestrator's turns (look, ready jobs, messages), the broker, slots
that fetch, lease, solve, answer, heartbeat, and tell while they solve the next job how the last one ended;
and a PostgreSQL server with many cores. Each slot has a core of its own; the slots of one worker share a
Python process for all but the solving. Held against the measured runs with one slot and two, where everything
shares the machine's cores.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from orchestrator import celery_executor as executor
from orchestrator.spec import BATCH
from research.benchmarks import events
from research.benchmarks.costs import Costs
from research.benchmarks.events import Get, Hold, Process, Resource, Simulation, Use
from workers.runtime import context
from workers.runtime.ledger import HEARTBEAT_S
from workers.runtime.sandbox import SLICE_S

_ROUND_TRIPS = 5
"""Of a transaction: begin with the first statement, two or three more, commit; the pool's look before it."""

_TURN_S = 0.5
_COUNTING = 0.05
_FULL = 0.9
"""A part that is busy for this share of the time is said to be full."""

_STARVING = 0.05
"""With slots waiting for this share of their time, too few messages come."""


@dataclass(frozen=True)
class Setting:
    """What is simulated.

    Attributes
    ----------
    slots, slots_per_worker
        Jobs at once, and how many of them are one worker process.
    batch_s
        Seconds of solving in a job of the usual number of queries.
    store_cores
        Cores of the database server.
    round_trip_s
        Between a worker and the store or the broker.
    shared_cores
        If given, everything is on one machine with so many cores.
    """

    slots: int
    batch_s: float
    slots_per_worker: int = 8
    store_cores: int = 4
    round_trip_s: float = 0.0002
    shared_cores: int | None = None


@dataclass(frozen=True)
class Simulated:
    """What came of it; shares from 0 to 1.

    Attributes
    ----------
    seconds, jobs
        Simulated time after the warm-up, and jobs that ended in it.
    efficiency
        Share of the slots' time that was spent solving.
    orchestrator, broker, store, worker
        How busy each part was; of the workers the mean.
    waiting
        Share of the slots' time that was spent waiting for a message.
    """

    seconds: float
    jobs: int
    efficiency: float
    orchestrator: float
    broker: float
    store: float
    worker: float
    waiting: float

    @property
    def full(self) -> str:
        """The part that cannot do more; empty if none."""
        if self.waiting >= _STARVING and max(self.broker, self.store) < _FULL:
            return "orchestrator"  # it pauses between its looks: it is never busy for all of the time
        parts = {name: getattr(self, name) for name in ("orchestrator", "broker", "store", "worker")}
        name = max(parts, key=lambda part: parts[part])
        return name if parts[name] >= _FULL else ""


@dataclass
class _Job:
    """A batch on its way: what is left of it, and how often it was taken."""

    left_s: float
    lease: int = 0


@dataclass
class _World:
    """The parts and what passes between them."""

    costs: Costs
    setting: Setting
    most_jobs: float
    simulation: Simulation = field(default_factory=Simulation)
    queue: events.Store = field(default_factory=events.Store)
    ready: list[_Job] = field(default_factory=list)
    planned: int = 0
    in_flight: int = 0
    dropped: int = 0
    ended: int = 0
    solved_s: float = 0.0
    waited_s: float = 0.0
    random: Random = field(default_factory=lambda: Random(1))  # noqa: S311 - a simulation

    def __post_init__(self) -> None:
        shared = self.setting.shared_cores
        one = None if shared is None else Resource(shared)
        self.store = one or Resource(self.setting.store_cores)
        self.orchestrator = one or Resource(1)
        self.broker = one or Resource(1)
        workers = math.ceil(self.setting.slots / self.setting.slots_per_worker)
        self.workers = [Resource(1) for _ in range(workers)]
        costs = self.costs
        #: Share of a transaction's time that is the server's.
        self.server_share = costs.store_cpu_per_job_s / (costs.lease_s + costs.answer_s + costs.record_s)

    def work(self, who: Resource, seconds: float) -> Use:
        """Return the use of a Python process (one thing at a time), with a core where cores are few."""
        shared = self.store if self.setting.shared_cores is not None else None
        return Use(who, seconds) if shared in (None, who) else Use(shared, seconds, lock=who)

    def transaction(self, who: Resource, seconds: float) -> Process:
        """Do a transaction that takes so long on an idle machine."""
        yield self.work(who, seconds * (1 - self.server_share))
        yield Use(self.store, seconds * self.server_share)
        if self.setting.round_trip_s:
            yield Hold(_ROUND_TRIPS * self.setting.round_trip_s)

    def take(self, most: int) -> list[_Job]:
        """Return ready jobs, those handed back first."""
        taken = self.ready[:most]
        del self.ready[:most]
        while len(taken) < most and self.planned < self.most_jobs:
            self.planned += 1
            # No two batches take the same time: else all slots would want everything at the same moment.
            taken.append(_Job(self.setting.batch_s * self.random.uniform(0.5, 1.5)))
        return taken


def _orchestrate(world: _World) -> Process:
    """As `orchestrator.service.Orchestrator` and `CeleryExecutor` do it."""
    costs, slots, who = world.costs, world.setting.slots, world.orchestrator
    window = min(executor._LARGEST_WINDOW, max(executor._SMALLEST_WINDOW, executor._WINDOW_PER_SLOT * slots))
    rate, counted_at, counted = 0.0, 0.0, 0
    while True:
        if world.simulation.now - counted_at >= executor._COUNT_EVERY_S:
            rate = (world.ended - counted) / (world.simulation.now - counted_at)
            counted_at, counted = world.simulation.now, world.ended
            yield Use(who, _COUNTING * executor._COUNT_EVERY_S)
        if window > world.in_flight:
            yield from world.transaction(who, costs.ready_s + costs.ready_each_s * world.in_flight)
            jobs = world.take(window - world.in_flight)
            size = max(1, min(executor._MOST_IN_MESSAGE, int(rate / slots * executor._MESSAGE_S)))
            for start in range(0, len(jobs), size):
                yield Use(who, costs.publish_s)
                yield Use(world.broker, costs.broker_cpu_per_message_s / 2)
                world.in_flight += len(jobs[start : start + size])
                world.simulation.put(world.queue, jobs[start : start + size])
        turn_ends = world.simulation.now + _TURN_S
        while True:
            yield Hold(executor.look_pause_s(world.in_flight, rate))
            yield from world.transaction(who, costs.look_s + costs.look_each_s * world.in_flight)
            dropped, world.dropped = world.dropped, 0
            world.in_flight -= dropped
            if dropped or world.simulation.now >= turn_ends:
                break


def _slot(world: _World, who: Resource) -> Process:
    """As `workers.runtime.slots` does it."""
    costs, setting = world.costs, world.setting
    each_answer_s = max(0.0, costs.answer_s - costs.heartbeat_s) / BATCH
    told = events.Store()
    world.simulation.put(told, None)

    def answer(seconds: float) -> None:
        """Have the supervisor do a transaction while the job's process goes on."""
        world.simulation.start(world.transaction(who, seconds))

    def tell(job: _Job, last_answers: float) -> Process:
        """Tell how a job ended, or that it is to be continued."""
        is_over = job.left_s <= 1e-9
        record_s = costs.record_s + each_answer_s * last_answers
        yield from world.transaction(who, record_s if is_over else costs.heartbeat_s)
        if is_over:
            world.ended += 1
        else:
            world.ready.append(job)
        world.dropped += 1
        world.simulation.put(told, None)

    while True:
        since = world.simulation.now
        jobs = yield Get(world.queue)
        world.waited_s += world.simulation.now - since
        yield Use(world.broker, costs.broker_cpu_per_message_s / 2)
        for job in jobs:
            yield world.work(who, costs.slot_s)
            yield from world.transaction(who, costs.lease_s)
            slice_s = min(job.left_s, SLICE_S)
            answers = BATCH * slice_s / setting.batch_s if setting.batch_s else BATCH
            parts = max(
                1,
                min(BATCH, round(slice_s / context._ROWS_EVERY_S)),
                math.ceil(answers / context._ROWS_AT_ONCE),
            )
            for part in range(parts):
                if part:
                    answer(costs.heartbeat_s + each_answer_s * answers / parts)
                if setting.shared_cores is None:
                    yield Hold(slice_s / parts)
                elif slice_s:  # in a process of its own
                    yield Use(world.store, slice_s / parts)
                world.solved_s += slice_s / parts
            for _ in range(int(slice_s / HEARTBEAT_S)):
                answer(costs.heartbeat_s)
            job.left_s -= slice_s
            yield Get(told)
            world.simulation.start(tell(job, answers / parts))


def _begin(costs: Costs, setting: Setting, most_jobs: float) -> _World:
    world = _World(costs, setting, most_jobs)
    world.simulation.start(_orchestrate(world))
    for number in range(setting.slots):
        world.simulation.start(_slot(world, world.workers[number // setting.slots_per_worker]))
    return world


def steady(costs: Costs, setting: Setting) -> Simulated:
    """Simulate a campaign without end, after a warm-up in which every slot gets work."""
    world = _begin(costs, setting, math.inf)
    now = world.simulation
    window = executor._WINDOW_PER_SLOT * setting.slots
    warm_s = 5.0 + 2 * window * costs.publish_s + 2 * min(setting.batch_s, SLICE_S)
    now.run(lambda: now.now >= warm_s)
    parts = [world.orchestrator, world.broker, world.store, *world.workers]
    before = [part.busy_s for part in parts]
    ended, solved_s, waited_s, start_s = world.ended, world.solved_s, world.waited_s, now.now
    slice_s = min(setting.batch_s, SLICE_S)
    lasts_s = max(20.0, 6 * slice_s, 200 * slice_s / setting.slots)  # else the ends would count too much
    now.run(lambda: now.now >= start_s + lasts_s)
    seconds = now.now - start_s
    busy = [
        (part.busy_s - earlier) / seconds / part.servers for part, earlier in zip(parts, before, strict=True)
    ]
    return Simulated(
        seconds=seconds,
        jobs=world.ended - ended,
        efficiency=(world.solved_s - solved_s) / seconds / setting.slots,
        orchestrator=busy[0],
        broker=busy[1],
        store=busy[2],
        worker=statistics.mean(busy[3:]),
        waiting=(world.waited_s - waited_s) / seconds / setting.slots,
    )


def whole(costs: Costs, setting: Setting, jobs: int) -> float:
    """Simulate a campaign of so many jobs; return the seconds it takes."""
    world = _begin(costs, setting, jobs)
    world.simulation.run(lambda: world.ended == jobs)
    return world.simulation.now


def validate(costs: Costs, measured: dict[str, Any]) -> Iterator[tuple[str, int, float, float]]:
    """Yield runs that were measured on one machine: what, slots, seconds measured, seconds simulated."""
    here = Setting(1, 0.0, round_trip_s=0.0, shared_cores=int(measured["machine"]["cores"]))
    for row in measured.get("campaign", []):
        if row["store"] != "postgresql" or row["batch"] != BATCH:
            continue  # the costs are those of PostgreSQL and of the usual jobs
        jobs = row["queries"] // BATCH
        batch_s = statistics.median(turn["bare_s"] for turn in row["turns"]) / jobs
        for slots, name in ((1, "one_slot_s"), (2, "two_slots_s")):
            seconds = statistics.median(turn[name] for turn in row["turns"])
            simulated = whole(costs, replace(here, slots=slots, batch_s=batch_s), jobs)
            yield f"{row['dataset']} {row['engine']}", slots, seconds, simulated
    for row in measured.get("empty", []):
        if row["store"] == "postgresql":
            seconds = 1000 * BATCH / statistics.median(row["queries_per_s"])
            yield (
                "1000 empty jobs",
                row["slots"],
                seconds,
                whole(costs, replace(here, slots=row["slots"]), 1000),
            )


def main() -> None:
    """Simulate and print tables as Markdown."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("measured", type=Path, help="JSON by throughput.py")
    parser.add_argument("--workers", default="1,4,16,64,256,1000", help="numbers of slots")
    parser.add_argument("--batch", default="0.02,0.2,2,20", help="seconds of solving in a job of 50 queries")
    parser.add_argument("--slots-per-worker", type=int, default=8)
    parser.add_argument("--store-cores", type=int, default=4)
    parser.add_argument("--round-trip-ms", type=float, default=0.2)
    for name in Costs.__dataclass_fields__:
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    measured = json.loads(arguments.measured.read_text())
    given = {name: getattr(arguments, name) for name in Costs.__dataclass_fields__}
    costs = Costs(**measured["costs"] | {name: value for name, value in given.items() if value is not None})
    print("| run | slots | measured s | simulated s |\n| --- | --- | --- | --- |")
    for what, slots, seconds, simulated in validate(costs, measured):
        print(f"| {what} | {slots} | {seconds:.1f} | {simulated:.1f} |")
    batches = [float(batch) for batch in arguments.batch.split(",")]
    print("\n| slots | " + " | ".join(f"{batch:g} s" for batch in batches) + " |")
    print("| --- |" + " --- |" * len(batches))
    for slots in map(int, arguments.workers.split(",")):
        cells = []
        for batch_s in batches:
            setting = Setting(
                slots,
                batch_s,
                arguments.slots_per_worker,
                arguments.store_cores,
                arguments.round_trip_ms / 1000,
            )
            found = steady(costs, setting)
            full = f", {found.full} full" if found.full else ""
            cells.append(f"{100 * found.efficiency:.0f} %, {found.jobs / found.seconds:,.0f} jobs/s{full}")
        print(f"| {slots} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
