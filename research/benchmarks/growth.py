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
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.preprocessing import minmax_scale

from research.benchmarks import common
from research.benchmarks.common import ContradictionError
from research.benchmarks.racing import Racer
from wm.embedding.training import Caps, honest_forest
from wm.engines import ForgeryOutcome, ForgeryQuery, Status
from wm.forest import Forest

ROWS = 6000
"""Instances that a forest is trained on."""


@dataclass(frozen=True)
class Point:
    """A forest (at most so many leaves in each tree) and the largest distance of a witness."""

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
    """One engine at one value of a sweep; seconds that the limit cut off count as the limit."""

    sweep: str
    value: float
    engine: str
    total_leaves: int
    n: int  # queries; too many timeouts end a sweep before all were asked
    forged: int
    impossible: int
    timeout: int
    censored: bool  # half of the queries or more hit the limit: the median is at least the limit
    median: float
    max: float


@dataclass(frozen=True)
class Frontier:
    """First value of a sweep at which an engine's median is beyond the limit; None: not up to the last."""

    sweep: str
    engine: str
    value: float | None
    last: float
    limit_s: float


Known = dict[tuple[Point, str], list[ForgeryOutcome]]
"""How an engine's queries at a point ended: sweeps meet at the base, where queries can be the longest."""


def sweep(name: str, arguments: argparse.Namespace, racers: dict[str, Racer], known: Known) -> Iterator[Row]:
    """Race along one sweep, as long as an engine is within the limit; add to what is known."""
    still = dict(racers)
    for value in arguments.values or SWEEPS[name]:
        kind = type(getattr(Point(), name))
        point = replace(Point(), **{name: kind(value)})
        forest, asked = build(point, arguments.seed, arguments.queries)
        for engine, racer in still.items():
            if (point, engine) not in known:
                known[point, engine] = ask(racer, forest, asked, arguments.timeout)
        outcomes = {engine: known[point, engine] for engine in still}
        common.compare(f"{name} {value:g}", outcomes)
        leaves, timeout_s = int(forest.is_leaf.sum()), arguments.timeout
        for engine, found in outcomes.items():
            seconds, ended = common.seconds_of(found, timeout_s), common.ended(found, len(asked))
            median = timeout_s if ended[-1] else float(np.median(seconds))
            yield Row(name, value, engine, leaves, *ended, median, max(seconds))
            if ended[-1]:
                del still[engine]
        if not still:
            return


@cache
def build(point: Point, seed: int, n_queries: int) -> tuple[Forest, list[ForgeryQuery]]:
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
        if common.ended(found, len(asked))[-1]:
            break
    return found


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
    return common.table(
        f"growing | value | leaves in all | engine | {common.ENDED} | median s | max s",
        rows,
        lambda row: (
            f"{LABELS[row.sweep]} | {row.value:g} | {row.total_leaves} | {row.engine} "
            f"| {common.ended_text(row)} | {common.median_text(row)} | {row.max:.3g}"
        ),
    )


def median_table(rows: Sequence[Row]) -> str:
    """Return the medians as a Markdown table with a column for each engine."""
    titles = ["growing", "value", "leaves in all"]
    return common.median_table(
        titles, rows, lambda row: (LABELS[row.sweep], f"{row.value:g}", row.total_leaves)
    )


def frontier_table(found: Sequence[Frontier]) -> str:
    """Return, for each sweep and engine, the first value beyond the limit as a Markdown table."""
    names = list(dict.fromkeys(one.engine for one in found))
    lines = []
    for name in dict.fromkeys(one.sweep for one in found):
        mine = {one.engine: one for one in found if one.sweep == name}
        cells = [
            f"beyond {one.last:g}" if one.value is None else f"{one.value:g}"
            for one in (mine[engine] for engine in names)
        ]
        lines.append([LABELS[name], *cells])
    limit = found[0].limit_s if found else 0.0
    return common.markdown([f"median passes {limit:g} s at", *names], lines)


def plot(rows: Sequence[Row], timeout_s: float) -> Any:
    """Draw the median seconds over each sweep's number; hollow where an engine met its frontier."""
    from research.benchmarks import style

    sweeps = list(dict.fromkeys(row.sweep for row in rows))
    names = list(dict.fromkeys(row.engine for row in rows))
    figure, panels = style.panels(len(sweeps))
    for axes, name in zip(panels, sweeps, strict=True):
        handles = common.draw(axes, [row for row in rows if row.sweep == name], "value", names, timeout_s)
        if name != "eps":
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter("{x:g}")
        style.finish(axes, x=LABELS[name], y="median seconds" if style.is_leftmost(axes) else "")
    style.legend_below(figure, handles)
    return figure


def main() -> int:
    """Sweep, print the table, keep results and plot; return the exit code."""
    raced = ["portfolio", "search", "sat"]
    parser = common.race_parser(__doc__, raced, timeout_s=60.0)
    parser.add_argument("--sweep", action="append", choices=sorted(SWEEPS))
    parser.add_argument("--values", type=float, nargs="+", help="ascending; with a single --sweep")
    parser.add_argument("--queries", type=int, default=3, help="at each value")
    arguments = parser.parse_args()
    arguments.engine = arguments.engine or raced
    arguments.sweep = arguments.sweep or list(SWEEPS)
    if arguments.values and len(arguments.sweep) != 1:
        parser.error("--values needs exactly one --sweep")
    rows: list[Row] = []
    with ExitStack() as stack:
        racers = {name: stack.enter_context(Racer(name)) for name in arguments.engine}
        known: Known = {}
        for name in arguments.sweep:
            for row in sweep(name, arguments, racers, known):
                rows.append(row)
                print(f"{name} {row.value:g}, {row.engine}: median {common.median_text(row)} s", flush=True)
    found = frontiers(rows, arguments.timeout)
    print(table(rows))
    print(frontier_table(found))
    common.save_results(arguments, rows, base=asdict(Point()), frontiers=[asdict(one) for one in found])
    caption = f"Median of {arguments.queries} queries; limit {arguments.timeout:g} s"
    title = "Cost of forgery as forests grow"
    common.save_plot(arguments, lambda: plot(rows, arguments.timeout), title=title, caption=caption)
    return 0


if __name__ == "__main__":
    sys.exit(common.exit_code(main))
