"""Forgery engines against each other: the same queries on the paper's three forests, in one run.

    WM_DATA_DIR=... python benchmarks/forgery.py --dataset ijcnn1 --engine z3 --engine search -o out.json

Trains the paper's forests (kept in --cache), puts the same queries to every engine, one process at a
time, and prints for each data set, eps and engine how they ended, seconds per query, and the ratio of
the means to the reference engine's on the queries that both answered. Slow engines get the first --slow-
queries of them only.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from wm import engines, streams
from wm.attacks.forgery import attacker_instances, attacker_signature
from wm.datasets import Source, Split, load, split
from wm.engines import ForgeryOutcome, ForgeryQuery, Status
from wm.forest import Forest
from wm.signature import random_signature
from wm.streams import Role
from wm.training import adjusted_caps, honest_forest, standard_caps
from wm.tuning import Hyperparameters
from wm.watermark import Plan, watermark

SETTINGS = {
    "breast-cancer": (Hyperparameters(70, 8), 2),
    "mnist2-6": (Hyperparameters(90, 24), 42),
    "ijcnn1": (Hyperparameters(80, 18), 7),
}
"""Trees, depth and seed of the paper's experiments."""

SLOW = ("z3", "z3-bool")


@dataclass(frozen=True)
class Row:
    """One engine on one data set at one eps; seconds are the engine's own, the limit where it struck."""

    dataset: str
    eps: float
    engine: str
    n: int
    forged: int
    impossible: int
    timeout: int
    other: int
    median: float
    mean: float
    max: float
    total: float
    ready_seconds: float
    peak_mb: float
    times_faster: float | None
    common: int


def prepare(name: str, cache: Path) -> tuple[Split, Forest]:
    """Return the paper's split and a watermarked forest (artifact's limits and step), cached."""
    chosen, seed = SETTINGS[name]
    made = split(load(Source(name=name)), seed=seed, scaling="paper")
    file = cache / f"{name}.forest.npz"
    if file.exists():
        return made, Forest.load(file)
    standard = honest_forest(
        made.X_train,
        made.y_train,
        n_trees=chosen.n_estimators,
        caps=standard_caps(chosen),
        seed=streams.integer_seed(seed, Role.STANDARD_FOREST),
    )
    plan = Plan(
        scheme="paper",
        signature=random_signature(chosen.n_estimators, 0.5, streams.generator(seed, Role.OWNER_SIGNATURE)),
        trigger_share=0.02,
        caps=adjusted_caps(standard, chosen, "artifact"),
        seed=seed,
        repeat=0,
        weight_step=30.0,
        max_rounds=500,
        model_id=name,
    )
    forest = watermark(made, plan).embedded.forest
    cache.mkdir(parents=True, exist_ok=True)
    forest.save(file)
    return made, forest


def queries(
    made: Split, forest: Forest, seed: int, eps: float, signatures: int, instances: int
) -> list[ForgeryQuery]:
    """Return the queries in the order in which every engine gets them: instances first, then signatures."""
    rows = attacker_instances(seed, rows=len(made.y_test), count=instances, repeat=0)
    drawn = [
        attacker_signature(seed, number=number, length=forest.n_trees, ones_share=0.5, repeat=0)
        for number in range(signatures)
    ]
    return [
        ForgeryQuery(signature=signature, label=made.y_test[row], centre=made.X_test[row], eps=eps)
        for row in rows
        for signature in drawn
    ]


def peak_mb(pid: int | None) -> float:
    """Return the highest resident memory of a process in MB; 0 where the system does not tell."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def race(made: Split, forest: Forest, name: str, eps: float, arguments: argparse.Namespace) -> list[Row]:
    """Put the same queries to every engine."""
    asked = queries(made, forest, SETTINGS[name][1], eps, arguments.signatures, arguments.instances)
    outcomes: dict[str, list[ForgeryOutcome]] = {}
    costs: dict[str, tuple[float, float]] = {}
    for engine_name in arguments.engine:
        mine = asked[: arguments.slow_queries] if engine_name in SLOW else asked
        started = time.perf_counter()
        with engines.create(engine_name, forest) as engine:
            first = engine.solve(mine[0], timeout_s=arguments.timeout)
            ready = time.perf_counter() - started - first.seconds
            rest = [engine.solve(query, timeout_s=arguments.timeout) for query in mine[1:]]
            costs[engine_name] = ready, peak_mb(engine.child_pid)
        outcomes[engine_name] = [first, *rest]
    reference = outcomes[arguments.engine[0]]
    return [
        _row(name, eps, engine_name, found, reference, *costs[engine_name])
        for engine_name, found in outcomes.items()
    ]


def _row(
    name: str,
    eps: float,
    engine: str,
    found: list[ForgeryOutcome],
    reference: list[ForgeryOutcome],
    ready: float,
    memory: float,
) -> Row:
    seconds = [outcome.seconds for outcome in found]
    counts = Counter(outcome.status for outcome in found)
    both = min(len(found), len(reference))
    for ours, theirs in zip(found, reference, strict=False):
        answers = {Status.FORGED, Status.IMPOSSIBLE}
        if ours.status != theirs.status and {ours.status, theirs.status} <= answers:
            raise SystemExit(f"{name}, eps {eps}: {engine} says {ours.status}, the reference {theirs.status}")
    mine = float(np.sum(seconds[:both]))
    return Row(
        dataset=name,
        eps=eps,
        engine=engine,
        n=len(found),
        forged=counts[Status.FORGED],
        impossible=counts[Status.IMPOSSIBLE],
        timeout=counts[Status.TIMEOUT],
        other=counts[Status.MEMOUT] + counts[Status.ERROR],
        median=statistics.median(seconds),
        mean=statistics.fmean(seconds),
        max=max(seconds),
        total=sum(seconds),
        ready_seconds=ready,
        peak_mb=memory,
        times_faster=sum(outcome.seconds for outcome in reference[:both]) / mine,
        common=both,
    )


def table(rows: list[Row]) -> str:
    """Return the rows as a Markdown table; times in milliseconds."""
    lines = [
        "| data set | eps | engine | n | forged / impossible / timeout / other | median ms | mean ms "
        "| max ms | total s | ready s | peak MB | times faster (on n) |",
        "| --- " * 12 + "|",
    ]
    lines += [
        f"| {row.dataset} | {row.eps:g} | {row.engine} | {row.n} "
        f"| {row.forged} / {row.impossible} / {row.timeout} / {row.other} "
        f"| {row.median * 1e3:.3g} | {row.mean * 1e3:.3g} | {row.max * 1e3:.3g} | {row.total:.3g} "
        f"| {row.ready_seconds:.2g} | {row.peak_mb:.0f} | {row.times_faster:.3g} ({row.common}) |"
        for row in rows
    ]
    return "\n".join(lines)


def main() -> None:
    """Run the races and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dataset", action="append", choices=sorted(SETTINGS))
    parser.add_argument(
        "--engine", action="append", choices=engines.names(), help="the first is the reference"
    )
    parser.add_argument("--eps", action="append", type=float)
    parser.add_argument("--signatures", type=int, default=2)
    parser.add_argument("--instances", type=int, default=20)
    parser.add_argument("--slow-queries", type=int, default=6, help="queries for " + " and ".join(SLOW))
    parser.add_argument("--timeout", type=float, default=120.0)
    parser.add_argument("--cache", type=Path, default=Path("benchmarks/cache"))
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    arguments.engine = arguments.engine or ["z3", "sat", "search", "portfolio"]
    rows: list[Row] = []
    for name in arguments.dataset or sorted(SETTINGS):
        made, forest = prepare(name, arguments.cache)
        for eps in arguments.eps or [0.1, 0.3, 0.5]:
            rows += race(made, forest, name, eps, arguments)
            print(table(rows[-len(arguments.engine) :]), flush=True)
    print()
    print(table(rows))
    for engine in arguments.engine[1:]:
        ratios = [row.times_faster for row in rows if row.engine == engine and row.times_faster]
        mean, least = statistics.geometric_mean(ratios), min(ratios)
        print(f"{engine}: geometric mean {mean:.4g} times {arguments.engine[0]}'s speed, least {least:.3g}")
    if arguments.output:
        document = {
            "machine": platform.processor() or platform.machine(),
            "cores": os.cpu_count(),
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "arguments": {name: str(value) for name, value in vars(arguments).items()},
            "rows": [asdict(row) for row in rows],
        }
        arguments.output.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
