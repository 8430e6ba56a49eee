"""What forgery costs as forests grow: trees, leaves of a tree, eps and features, one at a time.

    python -m research.benchmarks.growth [-o research/benchmarks/results/growth.json] [--plot docs/images/growth.svg]

Trains random forests (no bootstrap) on synthetic data, asks for random signatures around instances of that
data, and lets one number grow from a base point while the others stay. A sweep ends for an engine at its
frontier: the first value at which half of its queries or more are beyond the limit. Seconds are those of one
query, without the start of the process and the building of the solver; every engine gets the same queries,
and answers that contradict one another end the run with exit code 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from research.benchmarks import common, style
from research.benchmarks.racing import Racer
from wm import engines
from wm.embedding.training import Caps, honest_forest
from wm.engines import ForgeryOutcome, ForgeryQuery, Status
from wm.forest import Forest

ROWS = 6000
"""Instances that a forest is trained on."""


@dataclass(frozen=True)
class Point:
    """What a forest and the queries to it are like.

    Attributes
    ----------
    trees, leaves, features
        Of the forest: number of trees, most leaves of each tree, number of features.
    eps
        Largest distance of a witness from its instance.
    """

    trees: int = 120
    leaves: int = 256
    eps: float = 0.5
    features: int = 32


SWEEPS: dict[str, tuple[float, ...]] = {
    "trees": (10, 20, 40, 60, 80, 100, 120, 160, 240),
    "leaves": (8, 16, 32, 64, 128, 256, 512, 1024),
    "eps": (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0),
    "features": (4, 8, 16, 24, 32, 48, 64, 128),
}
LABELS = {"trees": "trees", "leaves": "leaves of a tree", "eps": "eps", "features": "features"}


@dataclass(frozen=True)
class Row:
    """One engine at one value of a sweep.

    Attributes
    ----------
    total_leaves
        Of the whole forest as trained.
    forged, impossible, timeout
        How the queries ended; more than half of them timeouts end a sweep before all were asked.
    median, max
        Seconds; those that the limit struck count as the limit.
    censored
        Half of the queries or more struck the limit: the median is at least the limit.
    """

    sweep: str
    value: float
    engine: str
    total_leaves: int
    n: int
    forged: int
    impossible: int
    timeout: int
    median: float
    max: float
    censored: bool


@dataclass(frozen=True)
class Frontier:
    """First value of a sweep at which an engine's median is beyond the limit; None: not up to the last."""

    sweep: str
    engine: str
    value: float | None
    last: float
    limit_s: float


class ContradictionError(Exception):
    """Two engines contradict each other, or one failed."""


def main() -> int:
    """Sweep, print the table, keep results and plot; return the exit code."""
    parser = common.parser(__doc__)
    parser.add_argument("--engine", action="append", choices=engines.names())
    parser.add_argument("--sweep", action="append", choices=sorted(SWEEPS))
    parser.add_argument("--values", type=float, nargs="+", help="ascending; with a single --sweep")
    parser.add_argument("--queries", type=int, default=3, help="at each value")
    parser.add_argument("--timeout", type=float, default=60.0, help="limit for each query in seconds")
    parser.add_argument("--plot", type=Path, help="an .svg file")
    arguments = parser.parse_args()
    arguments.engine = arguments.engine or ["portfolio", "search", "sat"]
    arguments.sweep = arguments.sweep or list(SWEEPS)
    if arguments.values and len(arguments.sweep) != 1:
        parser.error("--values needs exactly one --sweep")
    rows: list[Row] = []
    try:
        with ExitStack() as stack:
            racers = {name: stack.enter_context(Racer(name)) for name in arguments.engine}
            known: Known = {}
            for name in arguments.sweep:
                for row in sweep(name, arguments, racers, known):
                    rows.append(row)
                    cut = "≥ " * row.censored
                    print(f"{name} {row.value:g}, {row.engine}: median {cut}{row.median:.3g} s", flush=True)
    except ContradictionError as reason:
        print(reason, file=sys.stderr)
        return 1
    found = frontiers(rows, arguments.timeout)
    print(table(rows))
    print(frontier_table(found))
    common.save_results(arguments, rows, base=vars(Point()), frontiers=[vars(one) for one in found])
    caption = f"Median of {arguments.queries} queries; limit {arguments.timeout:g} s"
    if arguments.plot is not None:
        figure = plot(rows, arguments.timeout)
        common.save_plot(figure, arguments.plot, title="Cost of forgery as forests grow", caption=caption)
    return 0


Known = dict[tuple[Point, str], list[ForgeryOutcome]]
"""How an engine's queries at a point ended: sweeps meet at the base, where queries can be the longest."""


def sweep(name: str, arguments: argparse.Namespace, racers: dict[str, Racer], known: Known) -> Iterator[Row]:
    """Race along one sweep, as long as an engine is within the limit; add to what is known."""
    still = dict(racers)
    for value in arguments.values or SWEEPS[name]:
        kind = type(getattr(Point(), name))
        point = replace(Point(), **{name: kind(value)})
        forest, asked = pose(point, arguments.seed, arguments.queries)
        for engine, racer in still.items():
            if (point, engine) not in known:
                known[point, engine] = ask(racer, forest, asked, arguments.timeout)
        outcomes = {engine: known[point, engine] for engine in still}
        compare(f"{name} {value:g}", outcomes)
        for engine, found in outcomes.items():
            row = _row(name, value, engine, forest, found, len(asked), arguments.timeout)
            yield row
            if row.censored:
                del still[engine]
        if not still:
            return


@cache
def pose(point: Point, seed: int, n_queries: int) -> tuple[Forest, list[ForgeryQuery]]:
    """Return the forest of a point, and queries around instances of its data."""
    X, y = synthetic(point.features, seed)
    caps = Caps(max_depth=None, max_leaf_nodes=point.leaves)
    forest = honest_forest(X[:ROWS], y[:ROWS], n_trees=point.trees, caps=caps, seed=seed)
    rng = np.random.default_rng([seed, 1])
    asked = []
    for row in range(ROWS, ROWS + n_queries):
        signature = rng.permutation(np.arange(point.trees) % 2)
        asked.append(ForgeryQuery(signature=signature, label=y[row], centre=X[row], eps=point.eps))
    return forest, asked


def synthetic(features: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return data in [0, 1] , two classes, 60% of the features telling, 5% of the labels wrong."""
    from sklearn.datasets import make_classification
    from sklearn.preprocessing import minmax_scale

    X, y = make_classification(
        n_samples=ROWS + 1000,
        n_features=features,
        n_informative=max(2, round(0.6 * features)),
        n_redundant=0,
        n_clusters_per_class=2 if features < 8 else 4,
        flip_y=0.1,
        random_state=seed,
    )
    return minmax_scale(X).astype(np.float32), y


def ask(
    racer: Racer, forest: Forest, asked: Sequence[ForgeryQuery], timeout_s: float
) -> list[ForgeryOutcome]:
    """Put the queries to an engine; where the median is already sure to be beyond the limit, not the rest."""
    racer.load(forest)
    found: list[ForgeryOutcome] = []
    for query in asked:
        found.append(racer.solve(query, timeout_s=timeout_s))
        if found[-1].status is Status.ERROR:
            raise ContradictionError(f"{found[-1].engine} failed: {found[-1].reason}")
        if 2 * sum(outcome.status is Status.TIMEOUT for outcome in found) >= len(asked):
            break
    return found


def compare(place: str, outcomes: dict[str, list[ForgeryOutcome]]) -> None:
    """Raise `ContradictionError` if two engines answered a query differently."""
    for number in range(max(map(len, outcomes.values()))):
        answers = {
            engine: found[number].status
            for engine, found in outcomes.items()
            if number < len(found) and found[number].status in (Status.FORGED, Status.IMPOSSIBLE)
        }
        if len(set(answers.values())) > 1:
            raise ContradictionError(f"{place}, query {number}: {answers}")


def _row(
    name: str,
    value: float,
    engine: str,
    forest: Forest,
    found: list[ForgeryOutcome],
    n_asked: int,
    timeout_s: float,
) -> Row:
    statuses = [outcome.status for outcome in found]
    timeouts = statuses.count(Status.TIMEOUT)
    censored = 2 * timeouts >= n_asked
    seconds = [timeout_s if outcome.status is Status.TIMEOUT else outcome.seconds for outcome in found]
    return Row(
        sweep=name,
        value=value,
        engine=engine,
        total_leaves=int(forest.is_leaf.sum()),
        n=len(found),
        forged=statuses.count(Status.FORGED),
        impossible=statuses.count(Status.IMPOSSIBLE),
        timeout=timeouts,
        median=timeout_s if censored else float(np.median(seconds)),
        max=max(seconds),
        censored=censored,
    )


def frontiers(rows: Sequence[Row], limit_s: float) -> list[Frontier]:
    """Return where each engine's median passes the limit in each sweep."""
    found = []
    for name, engine in dict.fromkeys((row.sweep, row.engine) for row in rows):
        mine = [row for row in rows if (row.sweep, row.engine) == (name, engine)]
        value = next((row.value for row in mine if row.censored), None)
        found.append(Frontier(name, engine, value, mine[-1].value, limit_s))
    return found


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table; "≥" before a median that the limit cut off."""
    titles = [
        "growing",
        "value",
        "leaves in all",
        "engine",
        "forged / impossible / timeout",
        "median s",
        "max s",
    ]
    return common.markdown(
        titles,
        [
            [
                LABELS[row.sweep],
                f"{row.value:g}",
                row.total_leaves,
                row.engine,
                f"{row.forged} / {row.impossible} / {row.timeout}",
                f"{'≥ ' * row.censored}{row.median:.3g}",
                row.max,
            ]
            for row in rows
        ],
    )


def frontier_table(found: Sequence[Frontier]) -> str:
    """Return, for each sweep and engine, the first value beyond the limit as a Markdown table."""
    names = list(dict.fromkeys(one.engine for one in found))
    lines = []
    for name in dict.fromkeys(one.sweep for one in found):
        mine = {one.engine: one for one in found if one.sweep == name}
        cells = [
            f"{mine[engine].value:g}" if mine[engine].value is not None else f"beyond {mine[engine].last:g}"
            for engine in names
        ]
        lines.append([LABELS[name], *cells])
    limit = found[0].limit_s if found else 0.0
    return common.markdown([f"median passes {limit:g} s at", *names], lines)


def plot(rows: Sequence[Row], timeout_s: float) -> Figure:
    """Draw the median seconds over each sweep's number; hollow where an engine met its frontier."""
    sweeps = list(dict.fromkeys(row.sweep for row in rows))
    names = list(dict.fromkeys(row.engine for row in rows))
    figure, panels = style.panels(len(sweeps))
    handles = {}
    for axes, name in zip(panels, sweeps, strict=True):
        for engine, look in style.numbered_looks(names).items():
            mine = [row for row in rows if (row.sweep, row.engine) == (name, engine)]
            (handles[engine],) = axes.plot(
                [row.value for row in mine], [row.median for row in mine], label=engine, **look.line()
            )
            cut = [row for row in mine if row.censored]
            hollow = look.line(linestyle="none", markerfacecolor="white", markersize=8)
            axes.plot([row.value for row in cut], [row.median for row in cut], **hollow)
        axes.axhline(timeout_s, color=style.FAINT, linestyle=":", linewidth=1)
        axes.set_yscale("log")
        if name != "eps":
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter("{x:g}")
        style.finish(axes, x=LABELS[name], y="median seconds" if style.is_leftmost(axes) else "")
    style.legend_below(figure, list(handles.values()))
    return figure


if __name__ == "__main__":
    sys.exit(main())
