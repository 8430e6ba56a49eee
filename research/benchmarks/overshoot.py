"""How far queries overshoot their limits, and how soon the slot is free again.

    python -m research.benchmarks.overshoot [-o research/benchmarks/results/overshoot.json]
        [--plot docs/images/overshoot.svg]

Asks every engine a query that it cannot answer within a second (Theorem 1's forest of random 3-SAT at its
transition), under time limits drawn uniformly from 0.02-0.3 s, and measures the wall time of `solve` beyond
the limit; then that of a trivial query right after, while the killed child is being replaced: one whose box
is empty, which every engine answers without its solver. A memory limit below what the process holds already
must strike as a memory limit. The overhead of a query is the wall time of `solve` on trivial queries, less
what the engine itself needs for them when it is called in this process. Exit code 1 if a query ended
otherwise than it had to.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from research.benchmarks import common
from research.benchmarks.common import ContradictionError
from wm import engines
from wm.attacks.hardness import random_3cnf, to_forest
from wm.engines import ForgeryOutcome, ForgeryQuery, Status
from wm.engines.isolated import IsolatedEngine
from wm.forest import Forest

LIMITS_S = (0.02, 0.3)
"""Range that time limits are drawn from."""

ALLOWED_S = 0.2
"""No query may overshoot its limit by more."""

PATIENCE_S = 60.0
"""Limit where none is meant to strike."""


@dataclass(frozen=True)
class Row:
    """One engine; times in seconds."""

    engine: str
    n_variables: int
    timeouts: int  # queries that a time limit ended, all that were meant to
    median: float  # of the wall time beyond the limit
    p99: float
    max: float
    late: int  # how many of them overshot by more than `ALLOWED_S`
    next_median: float  # wall time of a trivial query right after, most of it the wait for the new child
    next_p99: float
    next_max: float
    memouts: int  # queries that a memory limit ended, all that were meant to
    overhead_median: float  # wall time of `solve` on trivial queries beyond what the engine itself takes
    overhead_p99: float


@dataclass(frozen=True)
class Samples:
    """Every overshoot of an engine in seconds."""

    engine: str
    limits: list[float]
    overshoots: list[float]


def measure(name: str, forest: Forest, arguments: argparse.Namespace) -> tuple[Row, Samples]:
    """Force timeouts and memouts on one engine."""
    hard, trivial = query(forest, 0.5), query(forest, 2.0)
    rng = np.random.default_rng([arguments.seed, 1])
    limits = rng.uniform(*LIMITS_S, arguments.count).tolist()
    beyond, after = [], []
    with engines.create(name, forest) as engine:
        expect(engine, trivial, Status.IMPOSSIBLE)
        for limit in limits:
            started = time.perf_counter()
            expect(engine, hard, Status.TIMEOUT, timeout_s=limit)
            ended = time.perf_counter()
            expect(engine, trivial, Status.IMPOSSIBLE)
            beyond.append(ended - started - limit)
            after.append(time.perf_counter() - ended)
        for _ in range(arguments.memouts):
            # One byte: what the process holds already is too much, so the first look at it ends the query.
            expect(engine, hard, Status.MEMOUT, memory_bytes=1)
            expect(engine, trivial, Status.IMPOSSIBLE, memory_bytes=2**32)
        walls = common.seconds_each(
            lambda one: expect(engine, one, Status.IMPOSSIBLE), [trivial] * arguments.trivial
        )
        expect(engine, easy_query(forest), Status.FORGED)  # the last child can do more than decline
    overhead = np.array(walls) - alone(name, forest, trivial, arguments.trivial)
    (median, p99), (next_median, next_p99) = (
        np.quantile(all_s, (0.5, 0.99)).tolist() for all_s in (beyond, after)
    )
    late = sum(seconds > ALLOWED_S for seconds in beyond)
    timed = (median, p99, max(beyond), late, next_median, next_p99, max(after))
    overheads = np.quantile(overhead, (0.5, 0.99)).tolist()
    row = Row(name, forest.n_features, len(beyond), *timed, arguments.memouts, *overheads)
    return row, Samples(name, limits, beyond)


def query(forest: Forest, at: float) -> ForgeryQuery:
    """Ask for a model of the formula within 0.5 of a point: of 0.5, anywhere; of 2.0, nowhere."""
    d, m = forest.n_features, forest.n_trees
    return ForgeryQuery(signature=np.zeros(m), label=1, centre=np.full(d, at), eps=0.5)


def easy_query(forest: Forest) -> ForgeryQuery:
    """Ask for the votes that the centre itself draws, and for no other point."""
    centre = np.zeros(forest.n_features)
    return ForgeryQuery(signature=forest.votes(centre[None])[0] != 1, label=1, centre=centre, eps=0.0)


def expect(
    engine: IsolatedEngine,
    asked: ForgeryQuery,
    status: Status,
    *,
    timeout_s: float = PATIENCE_S,
    memory_bytes: int | None = None,
) -> ForgeryOutcome:
    """Ask, and raise `ContradictionError` unless the query ends as it has to."""
    outcome = engine.solve(asked, timeout_s=timeout_s, memory_bytes=memory_bytes)
    if outcome.status is not status:
        raise ContradictionError(
            f"{engine.name}: {outcome.status} ({outcome.reason}) instead of {status} under a limit of "
            f"{timeout_s:g} s and {memory_bytes} bytes; --variables makes the query harder"
        )
    return outcome


def alone(name: str, forest: Forest, asked: ForgeryQuery, count: int) -> float:
    """Return the median seconds that an engine takes for a query in this process, without limits."""
    solver = engines.solver_class(name)(forest)
    solver.answer(asked)
    return float(np.median(common.seconds_each(solver.answer, [asked] * count)))


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table; times in milliseconds."""

    def times(*seconds: float) -> str:
        return " / ".join(f"{1e3 * one:.3g}" for one in seconds)

    return common.table(
        f"engine | timeouts | beyond the limit: median / p99 / max ms | above {1e3 * ALLOWED_S:g} ms "
        "| next query: median / p99 / max ms | memouts | overhead: median / p99 ms",
        rows,
        lambda row: (
            f"{row.engine} | {row.timeouts} | {times(row.median, row.p99, row.max)} | {row.late} "
            f"| {times(row.next_median, row.next_p99, row.next_max)} | {row.memouts} "
            f"| {times(row.overhead_median, row.overhead_p99)}"
        ),
    )


def plot(samples: Sequence[Samples]) -> Any:
    """Draw a histogram of the overshoots of each engine, on one scale, with what is allowed."""
    from research.benchmarks import style

    most = max(ALLOWED_S, *(max(sample.overshoots) for sample in samples))
    figure, panels = style.panels(len(samples), height_in=1.7)
    looks = style.numbered_looks([sample.engine for sample in samples])
    edges = np.linspace(0, 1e3 * most, 81)
    for axes, sample in zip(panels, samples, strict=True):
        axes.hist(1e3 * np.array(sample.overshoots), bins=edges.tolist(), color=looks[sample.engine].colour)
        axes.axvline(1e3 * ALLOWED_S, color=style.FAINT, linestyle=":")
        axes.set_yscale("log")
        y = "timeouts" if style.is_leftmost(axes) else ""
        style.finish(axes, title=sample.engine, x="ms beyond the limit (dotted: allowed)", y=y)
    return figure


def main() -> int:
    """Measure, print the table, keep results and plot; return the exit code."""
    measured = ["z3", "z3-bool", "sat", "search", "portfolio"]
    parser = common.race_parser(__doc__, measured, timeout_s=PATIENCE_S)
    parser.add_argument("--count", type=int, default=200, help="forced timeouts of each engine")
    parser.add_argument("--memouts", type=int, default=20, help="forced memory limits of each engine")
    parser.add_argument("--trivial", type=int, default=200, help="trivial queries, for the overhead")
    parser.add_argument("--variables", type=int, default=400, help="of the formula, 4.26 clauses for each")
    arguments = parser.parse_args()
    arguments.engine = arguments.engine or measured
    rng = np.random.default_rng(arguments.seed)
    forest = to_forest(random_3cnf(arguments.variables, round(4.26 * arguments.variables), rng))
    rows: list[Row] = []
    samples: list[Samples] = []
    for name in arguments.engine:
        row, sample = measure(name, forest, arguments)
        rows.append(row)
        samples.append(sample)
        print(f"{name}: at most {1e3 * row.max:.3g} ms beyond the limit", flush=True)
    print(table(rows))
    common.save_results(arguments, rows, samples=[vars(sample) for sample in samples])
    caption = f"{arguments.count} forced timeouts of each engine, limits {LIMITS_S[0]}-{LIMITS_S[1]} s"
    common.save_plot(arguments, lambda: plot(samples), title="Wall time beyond the limit", caption=caption)
    return 0


if __name__ == "__main__":
    sys.exit(common.exit_code(main))
