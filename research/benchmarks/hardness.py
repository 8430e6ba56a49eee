"""How forgery grows hard with the size of a formula: Theorem 1's forests of random 3-SAT and DIMACS files.

    python -m research.benchmarks.hardness [--dimacs FILE ...] [-o research/benchmarks/results/hardness.json]
        [--plot docs/images/hardness.svg]

Draws formulas with 4.26 clauses for each variable, where random 3-SAT is hardest, turns each into the forest
whose signature 0...0 can be forged iff the formula has a model, and asks every engine. Sizes grow until the
limit strikes on most formulas for all engines; an engine whose median is beyond the limit drops out. Every
answer is checked against a SAT solver on the formula itself, every witness against the formula's clauses;
any contradiction makes the exit code 1. Seconds are those of one query, without the start of the process and
the building of the solver.
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

import numpy as np
from matplotlib.figure import Figure
from pysat.solvers import Solver as PysatSolver

from research.benchmarks import common, style
from research.benchmarks.racing import Racer
from wm import engines
from wm.attacks.hardness import Formula, assignment, parse_dimacs, random_3cnf, satisfies, to_forest
from wm.engines import ForgeryOutcome, ForgeryQuery, Status

PLAIN = "cadical153"
"""Solver of the formulas themselves: another one than any engine is built on."""


@dataclass(frozen=True)
class Row:
    """One engine on formulas of one size, or on one file.

    Attributes
    ----------
    source
        "random", or the name of the file.
    forged, impossible, timeout
        How the queries ended.
    lower_quartile, median, upper_quartile
        Seconds; those that the limit struck count as the limit.
    censored
        Half of the queries or more struck the limit: the median is at least the limit.
    plain_median
        Seconds that the plain SAT solver took on the formulas; None where no engine had an answer to check.
    """

    source: str
    n_variables: int
    n_clauses: int
    engine: str
    n: int
    forged: int
    impossible: int
    timeout: int
    lower_quartile: float
    median: float
    upper_quartile: float
    censored: bool
    plain_median: float | None


class ContradictionError(Exception):
    """An engine's answer is not that of the SAT solver, or its witness is no model."""


def main() -> int:
    """Race, print the table, keep results and plot; return the exit code."""
    parser = common.parser(__doc__)
    parser.add_argument("--engine", action="append", choices=engines.names())
    parser.add_argument("--sizes", type=int, nargs="+", help="numbers of variables, ascending")
    parser.add_argument("--ratio", type=float, default=4.26, help="clauses for each variable")
    parser.add_argument("--formulas", type=int, default=7, help="random formulas of each size")
    parser.add_argument("--timeout", type=float, default=2.0, help="limit for each query in seconds")
    parser.add_argument("--dimacs", type=Path, nargs="+", default=[], help="formulas as DIMACS CNF files")
    parser.add_argument("--plot", type=Path, help="an .svg file")
    arguments = parser.parse_args()
    arguments.engine = arguments.engine or ["z3", "z3-bool", "sat", "search", "portfolio"]
    rows: list[Row] = []
    try:
        with ExitStack() as stack:
            racers = {name: stack.enter_context(Racer(name)) for name in arguments.engine}
            for row in itertools.chain(race_files(arguments, racers), race_random(arguments, racers)):
                rows.append(row)
                print(
                    f"{row.source} {row.n_variables} variables, {row.engine}: median {row.median:.3g} s",
                    flush=True,
                )
    except ContradictionError as reason:
        print(reason, file=sys.stderr)
        return 1
    print(table(rows))
    common.save_results(arguments, rows)
    drawn = [row for row in rows if row.source == "random"]
    if drawn and arguments.plot is not None:
        caption = (
            f"Random 3-SAT, {arguments.ratio:g} clauses for each variable, {arguments.formulas} formulas"
        )
        figure = plot(drawn, arguments.timeout)
        common.save_plot(figure, arguments.plot, title="Seconds over number of variables", caption=caption)
    return 0


def race_files(arguments: argparse.Namespace, racers: dict[str, Racer]) -> Iterator[Row]:
    """Race on the formulas in files."""
    for path in arguments.dimacs:
        yield from race(path.name, [parse_dimacs(path.read_text())], racers, arguments.timeout)


def race_random(arguments: argparse.Namespace, racers: dict[str, Racer]) -> Iterator[Row]:
    """Race on random formulas, ever larger, as long as an engine is within the limit."""
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
        for name, racer in racers.items():
            outcomes[name].append(ask(racer, formula, timeout_s))
        answers = {name: found[-1] for name, found in outcomes.items()}
        answered = {
            name: outcome
            for name, outcome in answers.items()
            if outcome.status in (Status.FORGED, Status.IMPOSSIBLE)
        }
        if failed := [outcome for outcome in answers.values() if outcome.status is Status.ERROR]:
            raise ContradictionError(f"{place}: {failed[0].engine} failed: {failed[0].reason}")
        if answered:  # the plain solver has no limit, and little to say where every engine has met its own
            satisfiable, seconds = plain(formula)
            plain_seconds.append(seconds)
            for name, outcome in answered.items():
                check(place, name, formula, outcome, satisfiable=satisfiable)
    return [_row(source, formulas, name, found, timeout_s, plain_seconds) for name, found in outcomes.items()]


def ask(racer: Racer, formula: Formula, timeout_s: float) -> ForgeryOutcome:
    """Ask one engine whether a formula has a model."""
    forest = to_forest(formula)
    racer.load(forest)
    whole_domain = np.full(formula.n_variables, 0.5)
    query = ForgeryQuery(signature=np.zeros(forest.n_trees), label=1, centre=whole_domain, eps=0.5)
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


def _row(
    source: str,
    formulas: Sequence[Formula],
    name: str,
    found: list[ForgeryOutcome],
    timeout_s: float,
    plain_seconds: list[float],
) -> Row:
    statuses = [outcome.status for outcome in found]
    seconds = [
        outcome.seconds if outcome.status in (Status.FORGED, Status.IMPOSSIBLE) else timeout_s
        for outcome in found
    ]
    lower, median, upper = (float(x) for x in np.percentile(seconds, (25, 50, 75)))
    return Row(
        source=source,
        n_variables=formulas[0].n_variables,
        n_clauses=len(formulas[0].clauses),
        engine=name,
        n=len(found),
        forged=statuses.count(Status.FORGED),
        impossible=statuses.count(Status.IMPOSSIBLE),
        timeout=statuses.count(Status.TIMEOUT),
        lower_quartile=lower,
        median=median,
        upper_quartile=upper,
        censored=2 * statuses.count(Status.TIMEOUT) >= len(found),
        plain_median=statistics.median(plain_seconds) if plain_seconds else None,
    )


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table; "≥" before a median that the limit cut off."""
    titles = ["formulas", "variables", "engine", "n", "forged / impossible / timeout", "median s", "plain s"]
    return common.markdown(
        titles,
        [
            [
                row.source,
                row.n_variables,
                row.engine,
                row.n,
                f"{row.forged} / {row.impossible} / {row.timeout}",
                f"{'≥ ' * row.censored}{row.median:.3g}",
                row.plain_median,
            ]
            for row in rows
        ],
    )


def plot(rows: Sequence[Row], timeout_s: float) -> Figure:
    """Draw the median seconds over the number of variables, between quartiles; hollow where censored."""
    names = list(dict.fromkeys(row.engine for row in rows))
    figure, (axes,) = style.panels(1, height_in=4.0)
    handles = []
    for name, look in style.numbered_looks(names).items():
        mine = [row for row in rows if row.engine == name]
        sizes = [row.n_variables for row in mine]
        (line,) = axes.plot(sizes, [row.median for row in mine], label=name, **look.line())
        handles.append(line)
        axes.fill_between(
            sizes,
            [row.lower_quartile for row in mine],
            [row.upper_quartile for row in mine],
            color=look.colour,
            alpha=0.15,
            linewidth=0,
        )
        cut = [row for row in mine if row.censored]
        hollow = look.line(linestyle="none", markerfacecolor="white", markersize=8)
        axes.plot([row.n_variables for row in cut], [row.median for row in cut], **hollow)
    axes.axhline(timeout_s, color=style.FAINT, linestyle=":", linewidth=1)
    axes.set_yscale("log")
    style.finish(axes, x="variables (hollow: at least half struck the limit)", y="median seconds")
    style.legend_below(figure, handles, columns=5)
    return figure


if __name__ == "__main__":
    sys.exit(main())
