"""Lone queries where forging turns from possible to impossible, in processor time.

    python -m research.benchmarks.peak [--trees N ...] [--engine NAME ...] [-o research/benchmarks/results/peak.json]

Forests and queries are those of `growth`, whose cost has its peak at 120 trees. Each query is put to each engine in
turn, in a process of its own that has its solver ready and has answered nothing before, under a limit of processor
time. So what else the machine does changes the seconds little, and nothing is learned from other queries. Answers
that contradict one another end the run with exit code 1.
"""

from __future__ import annotations

import os
import pickle
import resource
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from research.benchmarks import common
from research.benchmarks.common import ContradictionError
from research.benchmarks.growth import Point, build
from wm.engines import ForgeryQuery, solver_class
from wm.engines.isolated import replay_fault
from wm.engines.protocol import Solver
from wm.forest import Forest


@dataclass(frozen=True)
class Row:
    """One engine on the queries of one forest; those without an answer count as the limit."""

    trees: int
    engine: str
    forged: int
    impossible: int
    timeout: int
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median processor seconds."""
        return statistics.median(self.seconds)


def asked_apart(solver: Solver, query: ForgeryQuery, limit_s: float) -> tuple[bytes | None, float]:
    """Return a query's pickled witness (None at the limit) and its processor seconds, from a child process."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        os.close(reader)
        started = time.process_time()
        limit = int(started + limit_s) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
        witness = solver.answer(query).witness
        spent = time.process_time() - started
        with os.fdopen(writer, "wb") as pipe:
            pickle.dump((pickle.dumps(witness), spent), pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answered = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(answered) if answered else (None, limit_s)  # noqa: S301 - our own child's


def race(
    forest: Forest, asked: Sequence[ForgeryQuery], trees: int, engines: Sequence[str], limit_s: float
) -> Iterator[Row]:
    """Put the queries to every engine, one after the other."""
    solvers = {name: solver_class(name)(forest) for name in engines}
    rows = {name: Row(trees, name, 0, 0, 0, ()) for name in engines}
    for number, query in enumerate(asked):
        said: dict[str, bool] = {}
        for name, solver in solvers.items():
            answer, seconds = asked_apart(solver, query, limit_s)
            row = replace(rows[name], seconds=(*rows[name].seconds, min(seconds, limit_s)))
            if answer is None:
                rows[name] = replace(row, timeout=row.timeout + 1)
                continue
            witness = pickle.loads(answer)  # noqa: S301 - the same
            if witness is not None and (fault := replay_fault(forest, query, witness)):
                raise ContradictionError(f"{trees} trees, query {number}, {name}: {fault}")
            said[name] = witness is not None
            rows[name] = replace(
                row, forged=row.forged + said[name], impossible=row.impossible + (not said[name])
            )
            print(f"{trees} trees, query {number}, {name}: {said[name]} {seconds:.2f} s", flush=True)
        if len(set(said.values())) > 1:
            raise ContradictionError(f"{trees} trees, query {number}: {said}")
    yield from rows.values()


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table."""
    return common.table(
        f"trees | engine | n | {common.ENDED} | processor seconds of each | median",
        rows,
        lambda row: (
            f"{row.trees} | {row.engine} | {len(row.seconds)} | {common.ended_text(row)} "
            f"| {' / '.join(f'{each:.3g}' for each in row.seconds)} | {row.median:.3g}"
        ),
    )


def main() -> int:
    """Race, print the table, keep results; return the exit code."""
    raced = ["sat", "learning", "portfolio"]
    parser = common.race_parser(__doc__, raced, timeout_s=60.0)
    parser.set_defaults(plot=None)
    parser.add_argument("--trees", type=int, nargs="+", default=[60, 100, 120])
    parser.add_argument("--queries", type=int, default=3, help="for each forest")
    arguments = parser.parse_args()
    arguments.engine = arguments.engine or raced
    rows: list[Row] = []
    for trees in arguments.trees:
        forest, asked = build(Point(trees=trees), arguments.seed, arguments.queries)
        rows += race(forest, asked, trees, arguments.engine, arguments.timeout)
        common.save_results(arguments, rows)
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(common.exit_code(main))
