"""The paper's whole forgery grids on one core: every eps of every instance, and least distances.

    WM_DATA_DIR=... python -m research.benchmarks.forgery_grid -o research/benchmarks/results/forgery_grid.json

For each data set: attacker's signatures x instances (as many as the trigger set has) x eps .1 to .9, asking
no query whose answer follows from another; then the least distance of each instance; and for each signature
and label whether a forgery is impossible in the whole domain.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from research.benchmarks import common
from research.benchmarks.common import SETTINGS
from research.benchmarks.forgery import attacker, is_free, parser, prepare
from wm import engines
from wm.attacks.forgery import Forger, Target
from wm.datasets import Split
from wm.embedding.common import trigger_size
from wm.engines import Engine, ForgeryQuery, Status
from wm.engines.minimal import MinimalSearch
from wm.forest import Forest
from wm.signature import Signature

EPS = (0.1, 0.3, 0.5, 0.7, 0.9)


@dataclass(frozen=True)
class Row:
    """One data set: outcomes by status, wall seconds on one core, the engine's highest memory."""

    dataset: str
    signatures: int
    instances: int
    engine: str
    grid_forged: tuple[int, ...]
    grid_outcomes: dict[str, int]
    grid_follows: int
    grid_free: int
    grid_seconds: float
    least_outcomes: dict[str, int]
    least_median: float | None
    least_seconds: float
    domain_outcomes: dict[str, int]
    domain_seconds: float
    peak_mb: float


def whole_grid(
    forger: Forger, made: Split, signatures: list[Signature], rows: np.ndarray
) -> tuple[list[int], Counter[str], int, int]:
    """Answer every eps of every instance; return forged by eps, outcomes, those that follow, free ones."""
    forged, outcomes, follows, free = [0] * len(EPS), Counter[str](), 0, 0
    for signature in signatures:
        for row in rows:
            query = ForgeryQuery(
                signature=signature, label=made.y_test[row], centre=made.X_test[row], eps=EPS[0]
            )
            for place, found in enumerate(forger.over_distances(query, EPS)):
                forged[place] += found.status is Status.FORGED
                outcomes[found.status.value] += 1
                follows += found.followed_from is not None
            free += sum(is_free(replace(query, eps=eps)) for eps in EPS)
    return forged, outcomes, follows, free


def whole_domain(engine: Engine, forest: Forest, signatures: list[Signature], timeout: float) -> Counter[str]:
    """Ask for each signature and label whether any instance of [0, 1]^d will do."""
    centre = np.full(forest.n_features, 0.5)
    return Counter(
        engine.solve(
            ForgeryQuery(signature=signature, label=label, centre=centre, eps=0.5), timeout_s=timeout
        ).status.value
        for signature in signatures
        for label in (0, 1)
    )


def measure(name: str, arguments: argparse.Namespace) -> Row:
    """Run one data set's grid, its least distances and its whole domains, each with an engine of its own."""
    made, forest = prepare(name, arguments.cache)
    count = trigger_size(len(made.y_train), 0.02)
    rows, signatures = attacker(made, forest, SETTINGS[name][1], arguments.signatures, count)
    started = time.perf_counter()
    with Forger(forest, arguments.engine, timeout_s=arguments.timeout) as forger:
        forged, outcomes, follows, free = whole_grid(forger, made, signatures, rows)
        grid_seconds, memory = time.perf_counter() - started, common.peak_mb(forger.child_pid)
    started = time.perf_counter()
    least: Counter[str] = Counter()
    distances = []
    with engines.create(arguments.engine, forest) as engine:
        search = MinimalSearch(forest, engine)
        for signature in signatures:
            target = Target(made.X_test[rows], made.y_test[rows], signature, eps=1.0)
            for query in target.queries():
                found = search.find(query, timeout_s=arguments.timeout)
                least[found.status.value] += 1
                if found.distance is not None:
                    distances.append(found.distance)
        least_seconds, memory = time.perf_counter() - started, max(memory, common.peak_mb(engine.child_pid))
    started = time.perf_counter()
    with engines.create(arguments.engine, forest) as engine:
        domain = whole_domain(engine, forest, signatures, arguments.timeout)
    domain_seconds = time.perf_counter() - started
    median = float(np.median(distances)) if distances else None
    return Row(
        *(name, len(signatures), count, arguments.engine, tuple(forged), dict(outcomes), follows, free),
        *(grid_seconds, dict(least), median, least_seconds, dict(domain), domain_seconds, memory),
    )


def table(grids: Sequence[Row]) -> str:
    """Return the grids as a Markdown table."""

    def counts(outcomes: dict[str, int]) -> str:
        return ", ".join(f"{count} {status}" for status, count in sorted(outcomes.items()))

    return common.table(
        "data set | signatures x instances | forged at eps .1 / .3 / .5 / .7 / .9 | outcomes | follow | free "
        "| grid s | least distances s | whole domain | s | peak MB",
        grids,
        lambda grid: (
            f"{grid.dataset} | {grid.signatures} x {grid.instances} "
            f"| {' / '.join(map(str, grid.grid_forged))} | {counts(grid.grid_outcomes)} | {grid.grid_follows} "
            f"| {grid.grid_free} | {grid.grid_seconds:.3g} "
            f"| {grid.least_seconds:.3g} ({counts(grid.least_outcomes)}) | {counts(grid.domain_outcomes)} "
            f"| {grid.domain_seconds:.3g} | {grid.peak_mb:.0f}"
        ),
    )


def main() -> None:
    """Run the grids and print them."""
    options = parser(__doc__)
    options.add_argument("--engine", choices=engines.names(), default="portfolio")
    options.add_argument("--signatures", type=int, default=10)
    arguments = options.parse_args()
    grids = []
    for name in arguments.dataset or sorted(SETTINGS):
        grids.append(measure(name, arguments))
        print(json.dumps(asdict(grids[-1]), indent=1), flush=True)
    common.save_results(arguments, grids, seeds={name: seed for name, (_, seed) in SETTINGS.items()}, eps=EPS)


if __name__ == "__main__":
    main()
