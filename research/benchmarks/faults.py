"""The fault tests at length: each fault again and again, on a campaign as large as wanted.

    python -m research.benchmarks.faults [FAULT ...] [--runs N] [--instances N] [--minutes M] [-o FILE] [options]

Runs the faults of tests/system/faults.py and line_faults.py, each on a fresh store, and holds what the
campaign found against an undisturbed local run of it, row by row. Prints for each fault how often all rows were identical (but for
those that it rightly changes: the poison job, the query that never returns), duplicates, missing rows,
processes that outlived their killed worker, and the seconds until work went on. Exit code 1 if any run
failed its checks, or a worker's jobs were not run elsewhere within 45 s. With -o, the results so far are
kept after each fault.
"""

from __future__ import annotations

import math
import statistics
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from research.benchmarks import common
from tests import servers
from tests.system import faults, line_faults
from tests.system.faults import Seen
from tests.system.fleet import Fleet, RowKey, Size, fleet_of, undisturbed_rows
from tests.system.line_faults import remote_broker, remote_fleet

ELSEWHERE_S = 45.0
"""A killed worker's jobs must run elsewhere within this time."""

PROBES = (1, 5)
"""Signatures of the two campaigns that are timed to find how large one of some minutes is."""

MARGIN = 1.25
"""Times as many signatures as should be enough."""

Rows = Mapping[RowKey, tuple[Any, ...]]


DELAY_S = 0.1
"""Time that everything takes in each direction over a line that delays."""


@dataclass(frozen=True)
class Place:
    """Where a fault strikes. Untyped is what only some kinds of places have; a fault takes its own kind's."""

    fleet: Fleet
    broker: servers.Valkey
    database: Any = None  # servers.Postgres
    broker_line: Any = None  # tests.proxy.BadLine
    remote: Any = None  # tests.system.line_faults.Remote


@contextmanager
def place_of(kind: str, directory: Path, size: Size) -> Iterator[Place]:
    """Make an empty store, a broker, and lines to them, as a kind has it.

    These are ``sqlite``, ``postgresql``, ``broker line`` (with SQLite), ``lines`` and ``slow lines``.
    """
    with ExitStack() as stack:
        broker = stack.enter_context(closing(servers.Valkey()))
        if kind == "broker line":
            fleet, line = stack.enter_context(remote_broker(directory, broker, size))
            yield Place(fleet, broker, broker_line=line)
        elif kind.endswith("lines"):
            delay_s = DELAY_S if kind == "slow lines" else 0.0
            remote = stack.enter_context(remote_fleet(directory, broker, size, delay_s=delay_s))
            yield Place(remote.fleet, broker, remote=remote)
        else:
            database = stack.enter_context(closing(servers.Postgres())) if kind == "postgresql" else None
            fleet = stack.enter_context(fleet_of(directory, kind, broker, size, database))
            yield Place(fleet, broker, database)


@dataclass(frozen=True)
class Fault:
    """One way in which things break; letter and name as in docs/scaling.md."""

    letter: str
    name: str
    kind: str  # of its place
    strike: Callable[[Place], Seen]
    size: Callable[[Size], Size] = lambda size: size  # turns the size that was asked for into this fault's


@dataclass
class Tally:
    """What all runs of a fault gave."""

    fault: str
    runs: int = 0
    identical: int = 0
    duplicates: int = 0
    missing: int = 0
    orphans: int = 0
    recovery_s: tuple[float, ...] = ()
    failures: tuple[str, ...] = ()

    @property
    def is_good(self) -> bool:
        """Whether nothing was lost, doubled, left over or otherwise wrong."""
        bad = self.failures or self.duplicates or self.missing or self.orphans
        return self.identical == self.runs and not bad


def known_faults(times: int, minutes: float) -> list[Fault]:
    """Return all faults; those that can strike again within a campaign do so a number of times."""

    def long(size: Size) -> Size:
        return lasting(replace(size, engines=("z3",), instances=171), minutes * 60)

    def short_limit(size: Size) -> Size:
        return replace(size, engines=("z3",), timeout_s=3)

    return [
        Fault("a", "worker killed, same machine", "postgresql", lambda at: faults.worker_killed_again_and_again(at.fleet, times=times)),
        Fault("a", "worker killed, another machine", "postgresql", lambda at: faults.worker_killed_elsewhere(at.fleet)),
        Fault("b", "job process killed", "sqlite", lambda at: faults.job_process_killed(at.fleet, times=2)),
        Fault("b", "solver killed", "sqlite", lambda at: faults.solver_killed(at.fleet, times=times)),
        Fault("c", "orchestrator killed", "postgresql", lambda at: faults.orchestrator_killed_again_and_again(at.fleet, times=times)),
        Fault("d", "broker stopped 5 s, empty after", "postgresql", lambda at: faults.broker_stopped(at.fleet, at.broker)),
        Fault("e", "broker wiped", "postgresql", lambda at: faults.broker_wiped(at.fleet, at.broker, times=times)),
        Fault("f", "connections cut, database restarted", "postgresql", lambda at: faults.database_restarted(at.fleet, at.database)),
        Fault("g", "poison job", "sqlite", lambda at: faults.poison_job(at.fleet)),
        Fault("h", "query never returns", "sqlite", lambda at: faults.query_that_never_returns(at.fleet), short_limit),
        Fault("i", "second orchestrator", "postgresql", lambda at: faults.second_orchestrator(at.fleet)),
        Fault("j", "full disk, SQLite", "sqlite", lambda at: faults.full_disk(at.fleet)),
        Fault("j", "no space, PostgreSQL", "postgresql", lambda at: faults.store_out_of_space(at.fleet)),
        Fault("j", "read-only, PostgreSQL", "postgresql", lambda at: faults.read_only_store(at.fleet, at.database)),
        Fault("k", "forged messages", "sqlite", lambda at: faults.forged_messages(at.fleet, at.broker)),
        Fault("m", "broker full", "sqlite", lambda at: line_faults.broker_full(at.fleet, at.broker)),
        Fault("m", "broker a replica", "sqlite", lambda at: line_faults.broker_became_replica(at.fleet, at.broker)),
        Fault("n", "broker silent", "broker line", lambda at: line_faults.broker_connections_forgotten(at.fleet, at.broker_line)),
        Fault("o", "store silent", "lines", lambda at: line_faults.store_connections_forgotten(at.remote)),
        Fault("p", "all mute, services stopped", "lines", lambda at: line_faults.stopped_while_all_is_mute(at.remote)),
        Fault("q", "all suspended", "sqlite", lambda at: faults.suspended_again_and_again(at.fleet, times=times), short_limit),
        Fault("r", "lines delay and break", "slow lines", lambda at: line_faults.lines_delay_and_break(at.remote)),
        Fault("l", "heartbeats under load", "postgresql", lambda at: faults.heartbeats_under_load(at.fleet, at_least_s=60 * minutes), long),
    ]  # fmt: skip


def lasting(size: Size, seconds: float) -> Size:
    """Return the size with signatures enough for workers on busy processors to be at it so long, and longer.

    One undisturbed worker, timed here, is as fast as two that share two processors with two other programs.
    """
    few, more = (undisturbed_seconds(replace(size, signatures=count)) for count in PROBES)
    of_one = max(0.1, (more - few) / (PROBES[1] - PROBES[0]))
    return replace(size, signatures=math.ceil(MARGIN * seconds / of_one))


def undisturbed_seconds(size: Size) -> float:
    """Return how long an undisturbed local run takes."""
    with tempfile.TemporaryDirectory() as directory:
        began = time.monotonic()
        undisturbed_rows(Path(directory), size)
        return time.monotonic() - began


def run(fault: Fault, size: Size, undisturbed: Rows, tally: Tally) -> None:
    """Let a fault strike once, and count what came of it."""
    tally.runs += 1
    try:
        with tempfile.TemporaryDirectory() as name, place_of(fault.kind, Path(name), size) as place:
            seen = fault.strike(place)
            found = place.fleet.difference(undisturbed)
    except Exception as failure:
        traceback.print_exc()
        tally.failures += (f"{type(failure).__name__}: {str(failure)[:200]}",)
        return
    tally.identical += found.changed == seen.affected and not (found.missing or found.surplus)
    tally.duplicates += found.duplicates + len(found.surplus)
    tally.missing += len(found.missing)
    tally.orphans += seen.orphans
    tally.recovery_s += seen.recovery_s
    if fault.letter == "a" and max(seen.recovery_s, default=0.0) > ELSEWHERE_S:
        tally.failures += (f"its jobs ran elsewhere only after {max(seen.recovery_s):.1f} s",)


def line(tally: Tally) -> str:
    """Return a fault's row of the table."""
    recovery = "-"
    if tally.recovery_s:
        recovery = f"{statistics.median(tally.recovery_s):.1f} ({max(tally.recovery_s):.1f})"
    counts = (tally.runs, tally.identical, tally.duplicates, tally.missing, tally.orphans)
    return f"| {tally.fault} | {' | '.join(map(str, counts))} | {recovery} |"


def main() -> int:
    """Run and print a table; return 1 if anything was not as it must be."""
    parser = common.parser(__doc__, seed=None)
    parser.add_argument("faults", nargs="*", metavar="FAULT", help="letters a to r; by default all")
    parser.add_argument("--runs", type=int, default=5, help="times that each fault is provoked")
    parser.add_argument("--times", type=int, default=4, help="strikes in each run, where it can strike again")
    parser.add_argument("--instances", type=int, default=150, help="queries for each signature and distance")
    parser.add_argument("--signatures", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=3.0, help="of load, for l")
    arguments = parser.parse_args()
    common.end_what_was_started()
    asked = Size(signatures=arguments.signatures, instances=arguments.instances)
    known = known_faults(arguments.times, arguments.minutes)
    if unknown := set(arguments.faults) - {fault.letter for fault in known}:
        parser.error(f"there is no fault {unknown.pop()!r}")
    references: dict[Size, Rows] = {}
    tallies = []
    titles = "fault | runs | identical | duplicates | missing | orphans | recovery s, median (most)"
    print(common.markdown(titles.split(" | "), []))
    for fault in known:
        if arguments.faults and fault.letter not in arguments.faults:
            continue
        size = fault.size(asked)
        if size not in references:
            with tempfile.TemporaryDirectory() as directory:
                references[size] = undisturbed_rows(Path(directory), size)
        tally = Tally(f"{fault.letter} {fault.name}")
        # One run of minutes says as much as several.
        for _ in range(1 if fault.letter == "l" else arguments.runs):
            started = time.monotonic()
            run(fault, size, references[size], tally)
            print(f"{tally.fault}: {time.monotonic() - started:.0f} s", file=sys.stderr)
        tallies.append(tally)
        print(line(tally), flush=True)
        for failure in tally.failures:
            print(f"  {tally.fault}: {failure}", flush=True)
        common.save_results(arguments, tallies)
    return 0 if all(tally.is_good for tally in tallies) else 1


if __name__ == "__main__":
    sys.exit(main())
