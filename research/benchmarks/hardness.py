"""How forgery grows hard with the size of a formula: Theorem 1's forests of random 3-SAT and DIMACS files.

    python -m research.benchmarks.hardness [--dimacs FILE ...] [-o research/benchmarks/results/hardness.json]
        [--plot docs/images/hardness.svg]

Draws formulas with 4.26 clauses for each variable, where random 3-SAT is hardest, turns each into the forest
whose signature 0...0 can be forged iff the formula has a model, and asks every engine. Sizes grow until the
limit ends most queries of all engines; an engine whose median is beyond the limit drops out. Every answer is
checked against a SAT solver on the formula itself, every witness against the formula's clauses; any
contradiction makes the exit code 1. Seconds are those of one query, without the start of the process and the
building of the solver.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pysat.solvers import Solver as PysatSolver

from research.benchmarks import common
from research.benchmarks.common import ContradictionError
from research.benchmarks.racing import Racer
from wm.attacks.hardness import Formula, assignment, parse_dimacs, random_3cnf, satisfies, to_forest
from wm.engines import ForgeryOutcome, ForgeryQuery, Status

PLAIN = "cadical153"
"""Solver of the formulas themselves: another one than any engine is built on."""


@dataclass(frozen=True)
class Row:
    """One engine on formulas of one size, or on one file; seconds that the limit cut off count as the limit."""

    source: str  # "random", or the name of the file
    n_variables: int
    n_clauses: int
    engine: str
    n: int
    forged: int
    impossible: int
    timeout: int
    censored: bool  # half of the queries or more hit the limit: the median is at least the limit
    lower_quartile: float
    median: float
    upper_quartile: float
    plain_median: float | None  # of the plain SAT solver; None where no engine had an answer to check


def races(arguments: argparse.Namespace, racers: dict[str, Racer]) -> Iterator[Row]:
    """Race on the formulas in files, then on random ones, ever larger, as long as an engine is within the limit."""
    for path in arguments.dimacs:
        yield from race(path.name, [parse_dimacs(path.read_text())], racers, arguments.timeout)
    still = dict(racers)
    for size in arguments.sizes or itertools.count(20, 20):
        rngs = [np.random.default_rng([arguments.seed, size, number]) for number in range(arguments.formulas)]
        formulas = [random_3cnf(size, round(arguments.ratio * size), rng) for rng in rngs]
        for row in race("random", formulas, still, arguments.timeout):
            yield row
            if row.censored:
                del still[row.engine]
        if not still:
            return


def race(source: str, formulas: Sequence[Formula], racers: dict[str, Racer], timeout_s: float) -> list[Row]:
    """Put formulas of one size to every engine and check the answers."""
    outcomes: dict[str, list[ForgeryOutcome]] = {name: [] for name in racers}
    plain_seconds: list[float] = []
    for number, formula in enumerate(formulas):
        place = f"{source}, {formula.n_variables} variables, formula {number}"
        answered = {}
        for name, racer in racers.items():
            outcome = ask(racer, formula, timeout_s)
            outcomes[name].append(outcome)
            if outcome.status is Status.ERROR:
                raise ContradictionError(f"{place}: {name} failed: {outcome.reason}")
            if outcome.status in (Status.FORGED, Status.IMPOSSIBLE):
                answered[name] = outcome
        if answered:  # the plain solver has no limit, and little to say where every engine has met its own
            satisfiable, seconds = plain(formula)
            plain_seconds.append(seconds)
            for name, outcome in answered.items():
                check(place, name, formula, outcome, satisfiable=satisfiable)
    variables, clauses = formulas[0].n_variables, len(formulas[0].clauses)
    plain_median = statistics.median(plain_seconds) if plain_seconds else None
    rows = []
    for name, found in outcomes.items():
        lower, median, upper = np.percentile(common.seconds_of(found, timeout_s), (25, 50, 75)).tolist()
        ended = common.ended(found, len(found))
        rows.append(Row(source, variables, clauses, name, *ended, lower, median, upper, plain_median))
    return rows


def ask(racer: Racer, formula: Formula, timeout_s: float) -> ForgeryOutcome:
    """Ask one engine whether a formula has a model."""
    forest = to_forest(formula)
    racer.load(forest)
    everywhere = np.full(formula.n_variables, 0.5)
    query = ForgeryQuery(signature=np.zeros(forest.n_trees), label=1, centre=everywhere, eps=0.5)
    return racer.solve(query, timeout_s=timeout_s)


def plain(formula: Formula) -> tuple[bool, float]:
    """Return whether a formula has a model, and the seconds that a SAT solver took to say so."""
    with PysatSolver(name=PLAIN, bootstrap_with=[list(clause) for clause in formula.clauses]) as solver:
        started = time.perf_counter()
        satisfiable = bool(solver.solve())
        return satisfiable, time.perf_counter() - started


def check(place: str, name: str, formula: Formula, outcome: ForgeryOutcome, *, satisfiable: bool) -> None:
    """Raise `ContradictionError` unless an answer agrees with the plain solver and is borne out."""
    if (outcome.status is Status.FORGED) != satisfiable:
        raise ContradictionError(f"{place}: {name} says {outcome.status}, {PLAIN} {satisfiable}")
    if outcome.witness is not None and not satisfies(formula, assignment(outcome.witness, formula)):
        raise ContradictionError(f"{place}: the witness of {name} is no model")


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table; "≥" before a median that the limit cut off."""
    return common.table(
        f"formulas | variables | engine | n | {common.ENDED} | median s | plain s",
        rows,
        lambda row: (
            f"{row.source} | {row.n_variables} | {row.engine} | {row.n} | {common.ended_text(row)} "
            f"| {common.median_text(row)} | {common.cell(row.plain_median)}"
        ),
    )


def median_table(rows: Sequence[Row]) -> str:
    """Return the medians as a Markdown table with a column for each engine."""
    titles = ["formulas", "variables"]
    return common.median_table(titles, rows, lambda row: (row.source, row.n_variables), "plain_median")


def plot(rows: Sequence[Row], timeout_s: float) -> Any:
    """Draw the median seconds over the number of variables, between quartiles; hollow where censored."""
    from research.benchmarks import style

    figure, (axes,) = style.panels(1, height_in=4.0)
    names = list(dict.fromkeys(row.engine for row in rows))
    handles = common.draw(axes, rows, "n_variables", names, timeout_s)
    style.finish(axes, x="variables (hollow: at least half hit the limit)", y="median seconds")
    style.legend_below(figure, handles, columns=5)
    return figure


def main() -> int:
    """Race, print the table, keep results and plot; return the exit code."""
    raced = ["z3", "z3-bool", "sat", "search", "portfolio"]
    parser = common.race_parser(__doc__, raced, timeout_s=2.0)
    parser.add_argument("--sizes", type=int, nargs="+", help="numbers of variables, ascending")
    parser.add_argument("--ratio", type=float, default=4.26, help="clauses for each variable")
    parser.add_argument("--formulas", type=int, default=7, help="random formulas of each size")
    parser.add_argument("--dimacs", type=Path, nargs="+", default=[], help="formulas as DIMACS CNF files")
    arguments = parser.parse_args()
    arguments.engine = arguments.engine or raced
    rows: list[Row] = []
    with ExitStack() as stack:
        racers = {name: stack.enter_context(Racer(name)) for name in arguments.engine}
        for row in races(arguments, racers):
            rows.append(row)
            place = f"{row.source} {row.n_variables} variables, {row.engine}"
            print(f"{place}: median {row.median:.3g} s", flush=True)
    print(table(rows))
    common.save_results(arguments, rows)
    drawn = [row for row in rows if row.source == "random"]
    if drawn:
        of = f"{arguments.ratio:g} clauses for each variable, {arguments.formulas} formulas"
        title, caption = "Seconds over number of variables", f"Random 3-SAT, {of}"
        common.save_plot(arguments, lambda: plot(drawn, arguments.timeout), title=title, caption=caption)
    return 0


if __name__ == "__main__":
    sys.exit(common.exit_code(main))
