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
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from research.benchmarks import common, style
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
    """One engine; times in seconds.

    Attributes
    ----------
    timeouts
        Queries that a time limit ended, all that were meant to.
    median, p99, max
        Of the wall time beyond the limit.
    late
        How many of them overshot by more than `ALLOWED_S`.
    next_median, next_p99, next_max
        Wall time of a trivial query right after, most of it the wait for the new child.
    memouts
        Queries that a memory limit ended, all that were meant to.
    overhead_median, overhead_p99
        Wall time of `solve` on trivial queries beyond what the engine takes for them without it.
    """

    engine: str
    n_variables: int
    timeouts: int
    median: float
    p99: float
    max: float
    late: int
    next_median: float
    next_p99: float
    next_max: float
    memouts: int
    overhead_median: float
    overhead_p99: float


@dataclass(frozen=True)
class Samples:
    """Every overshoot of an engine in seconds."""

    engine: str
    limits: list[float]
    overshoots: list[float]


class WrongEndError(Exception):
    """A query ended otherwise than it had to."""


def main() -> int:
    """Measure, print the table, keep results and plot; return the exit code."""
    parser = common.parser(__doc__)
    parser.add_argument("--engine", action="append", choices=engines.names())
    parser.add_argument("--count", type=int, default=200, help="forced timeouts of each engine")
    parser.add_argument("--memouts", type=int, default=20, help="forced memory limits of each engine")
    parser.add_argument("--trivial", type=int, default=200, help="trivial queries, for the overhead")
    parser.add_argument("--variables", type=int, default=400, help="of the formula, 4.26 clauses for each")
    parser.add_argument("--plot", type=Path, help="an .svg file")
    arguments = parser.parse_args()
    arguments.engine = arguments.engine or ["z3", "z3-bool", "sat", "search", "portfolio"]
    rng = np.random.default_rng(arguments.seed)
    forest = to_forest(random_3cnf(arguments.variables, round(4.26 * arguments.variables), rng))
    rows: list[Row] = []
    samples: list[Samples] = []
    try:
        for name in arguments.engine:
            row, sample = measure(name, forest, arguments)
            rows.append(row)
            samples.append(sample)
            print(f"{name}: at most {1e3 * row.max:.3g} ms beyond the limit", flush=True)
    except WrongEndError as reason:
        print(reason, file=sys.stderr)
        return 1
    print(table(rows))
    common.save_results(arguments, rows, samples=[vars(sample) for sample in samples])
    if arguments.plot is not None:
        caption = f"{arguments.count} forced timeouts of each engine, limits {LIMITS_S[0]}-{LIMITS_S[1]} s"
        figure = plot(samples)
        common.save_plot(figure, arguments.plot, title="Wall time beyond the limit", caption=caption)
    return 0


def measure(name: str, forest: Forest, arguments: argparse.Namespace) -> tuple[Row, Samples]:
    """Force timeouts and memouts on one engine."""
    hard, trivial = hard_query(forest), trivial_query(forest)
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
        walls = []
        for _ in range(arguments.trivial):
            started = time.perf_counter()
            expect(engine, trivial, Status.IMPOSSIBLE)
            walls.append(time.perf_counter() - started)
        expect(engine, easy_query(forest), Status.FORGED)  # the last child can do more than decline
    overhead = np.array(walls) - alone(name, forest, trivial, arguments.trivial)
    row = Row(
        engine=name,
        n_variables=forest.n_features,
        timeouts=len(beyond),
        median=float(np.median(beyond)),
        p99=float(np.quantile(beyond, 0.99)),
        max=max(beyond),
        late=sum(seconds > ALLOWED_S for seconds in beyond),
        next_median=float(np.median(after)),
        next_p99=float(np.quantile(after, 0.99)),
        next_max=max(after),
        memouts=arguments.memouts,
        overhead_median=float(np.median(overhead)),
        overhead_p99=float(np.quantile(overhead, 0.99)),
    )
    return row, Samples(name, limits, beyond)


def hard_query(forest: Forest) -> ForgeryQuery:
    """Ask for a model of the formula, anywhere in the domain."""
    d, m = forest.n_features, forest.n_trees
    return ForgeryQuery(signature=np.zeros(m), label=1, centre=np.full(d, 0.5), eps=0.5)


def trivial_query(forest: Forest) -> ForgeryQuery:
    """Ask around a centre that is farther than eps from the domain."""
    d, m = forest.n_features, forest.n_trees
    return ForgeryQuery(signature=np.zeros(m), label=1, centre=np.full(d, 2.0), eps=0.5)


def easy_query(forest: Forest) -> ForgeryQuery:
    """Ask for the votes that the centre itself draws, and for no other point."""
    centre = np.zeros(forest.n_features)
    return ForgeryQuery(signature=forest.votes(centre[None])[0] != 1, label=1, centre=centre, eps=0.0)


def expect(
    engine: IsolatedEngine,
    query: ForgeryQuery,
    status: Status,
    *,
    timeout_s: float = PATIENCE_S,
    memory_bytes: int | None = None,
) -> ForgeryOutcome:
    """Ask, and raise `WrongEndError` unless the query ends as it has to."""
    outcome = engine.solve(query, timeout_s=timeout_s, memory_bytes=memory_bytes)
    if outcome.status is not status:
        raise WrongEndError(
            f"{engine.name}: {outcome.status} ({outcome.reason}) instead of {status} under a limit of "
            f"{timeout_s:g} s and {memory_bytes} bytes; --variables makes the query harder"
        )
    return outcome


def alone(name: str, forest: Forest, query: ForgeryQuery, count: int) -> float:
    """Return the median seconds that an engine takes for a query in this process, without limits."""
    solver = engines.solver_class(name)(forest)
    solver.answer(query)
    seconds = []
    for _ in range(count):
        started = time.perf_counter()
        solver.answer(query)
        seconds.append(time.perf_counter() - started)
    return float(np.median(seconds))


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table; times in milliseconds."""
    titles = [
        "engine",
        "timeouts",
        "beyond the limit: median / p99 / max ms",
        f"above {1e3 * ALLOWED_S:g} ms",
        "next query: median / p99 / max ms",
        "memouts",
        "overhead: median / p99 ms",
    ]
    return common.markdown(
        titles,
        [
            [
                row.engine,
                row.timeouts,
                _milliseconds(row.median, row.p99, row.max),
                row.late,
                _milliseconds(row.next_median, row.next_p99, row.next_max),
                row.memouts,
                _milliseconds(row.overhead_median, row.overhead_p99),
            ]
            for row in rows
        ],
    )


def _milliseconds(*seconds: float) -> str:
    return " / ".join(f"{1e3 * one:.3g}" for one in seconds)


def plot(samples: Sequence[Samples]) -> Figure:
    """Draw a histogram of the overshoots of each engine, on one scale, with what is allowed."""
    most = max(ALLOWED_S, *(max(sample.overshoots) for sample in samples))
    figure, panels = style.panels(len(samples), height_in=1.7)
    looks = style.numbered_looks([sample.engine for sample in samples])
    edges = np.linspace(0, 1e3 * most, 81)
    for axes, sample in zip(panels, samples, strict=True):
        axes.hist(1e3 * np.array(sample.overshoots), bins=edges, color=looks[sample.engine].colour)
        axes.axvline(1e3 * ALLOWED_S, color=style.FAINT, linestyle=":")
        axes.set_yscale("log")
        y = "timeouts" if style.is_leftmost(axes) else ""
        style.finish(axes, title=sample.engine, x="ms beyond the limit (dotted: allowed)", y=y)
    return figure


if __name__ == "__main__":
    sys.exit(main())
