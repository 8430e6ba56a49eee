"""Large tables: what embedding takes beside scikit-learn's plain forest, and what verification takes.

    python -m research.benchmarks.large [--rows N] [--features N] [--trees N] [--jobs N] [--way NAME ...]
        [-o research/benchmarks/results/large.json]

Made-up rows: the class hangs on six features and on noise, so that trees are deep. Each way runs in a process of
its own that makes the rows first; its peak of memory counts rows, libraries and model. A line-up is not judged
here: that takes as long as to train all candidates, each of which takes as long as one of the owner's trees.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from research.benchmarks import common


@dataclass(frozen=True)
class Row:
    """One way; seconds by the clock and of the processor, memory in MiB."""

    way: str
    rows: int
    features: int
    trees: int
    leaves: float  # of a tree, on average
    clock_s: float
    processor_s: float
    verify_s: float | None  # by the clock; None where nothing is verified
    data_mb: float  # resident before the fit
    peak_mb: float


@dataclass(frozen=True)
class Made:
    """A forest, and what its owner or a judge does with it."""

    leaves: float
    verify: Callable[[], Any] | None


def made_up(n: int, d: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return n rows of d features in [0, 1), and their classes."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d), dtype=np.float32)
    score = np.sin(6 * X[:, :4]).sum(axis=1) + X[:, 4] * X[:, 5] + rng.normal(0, 0.3, n)
    return X, (score > np.median(score)).astype(np.int64)


def plain(X: NDArray[np.float32], y: NDArray[np.int64], trees: int, jobs: int) -> Made:
    """Fit scikit-learn's forest."""
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(trees, bootstrap=False, n_jobs=jobs, random_state=1).fit(X, y)
    return Made(float(np.mean([tree.get_n_leaves() for tree in model.estimators_])), None)


def marked(X: NDArray[np.float32], y: NDArray[np.int64], trees: int, jobs: int) -> Made:
    """Embed by scheme `paper`."""
    import wm

    size = min(100, len(y) // 100)
    owned = wm.embed(X, y, n_estimators=trees, trigger_rows=size, scheme="paper", seed=1, n_jobs=jobs)
    return Made(float(owned.forest.tree_leaves.mean()), lambda: wm.verify(owned.claim, owned.forest))


def lined_up(X: NDArray[np.float32], y: NDArray[np.int64], trees: int, jobs: int) -> Made:
    """Embed by scheme `lineup`."""
    import wm

    owned = wm.embed(X, y, n_estimators=trees, scheme="lineup", seed=1, n_jobs=jobs)
    return Made(float(owned.forest.tree_leaves.mean()), None)


WAYS: dict[str, Callable[[NDArray[np.float32], NDArray[np.int64], int, int], Made]] = {
    "scikit-learn": plain,
    "paper": marked,
    "lineup": lined_up,
}


def measure(way: str, arguments: argparse.Namespace) -> Row:
    """Run one way in a process of its own."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_run, args=(way, vars(arguments), sender))
    child.start()
    sender.close()
    found: Row = receiver.recv()
    child.join()
    return found


def _run(way: str, given: Mapping[str, Any], sender: Connection) -> None:
    rows, features, trees = given["rows"], given["features"], given["trees"]
    # What is imported and compiled once does not count.
    WAYS[way](*made_up(3000, features, 1), 20, 1)
    X, y = made_up(rows, features, given["seed"])
    common.reset_peak()
    before, clock, processor = common.peak_mb(os.getpid()), time.perf_counter(), time.process_time()
    made = WAYS[way](X, y, trees, given["jobs"])
    clock, processor = time.perf_counter() - clock, time.process_time() - processor
    peak, verified = common.peak_mb(os.getpid()), None
    if made.verify is not None:
        verified = common.seconds_each(lambda do: do(), [made.verify])[0]
    sender.send(Row(way, rows, features, trees, made.leaves, clock, processor, verified, before, peak))


def table(rows: Sequence[Row]) -> str:
    """Return the ways as a table, with ratios to scikit-learn's forest."""
    base = next(row for row in rows if row.way == "scikit-learn")
    return common.table(
        "way | rows x features | trees | leaves of a tree | clock s | processor s | times plain, processor | "
        "verification s | with rows MiB | peak MiB | times plain, peak",
        rows,
        lambda row: (
            f"{row.way} | {row.rows} x {row.features} | {row.trees} | {row.leaves:.0f} | {row.clock_s:.1f} "
            f"| {row.processor_s:.1f} | {row.processor_s / base.processor_s:.2f} | {common.cell(row.verify_s)} "
            f"| {row.data_mb:.0f} | {row.peak_mb:.0f} | {row.peak_mb / base.peak_mb:.2f}"
        ),
    )


def main() -> int:
    """Measure and print a table."""
    parser = common.parser(__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--trees", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1, help="threads")
    parser.add_argument("--way", nargs="+", choices=list(WAYS), default=list(WAYS))
    arguments = parser.parse_args()
    rows: list[Row] = []
    for way in arguments.way:
        rows.append(measure(way, arguments))
        print(rows[-1], file=sys.stderr)
        common.save_results(arguments, rows)
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
