"""Forgery engines against each other: the same queries on the paper's three forests, in one run.

    WM_DATA_DIR=... python -m research.benchmarks.forgery --dataset ijcnn1 --engine z3 --engine search -o out.json

Trains the paper's forests (kept in --cache), puts the same queries to every engine, one process at a
time, and prints for each data set, eps and engine how they ended, seconds per query, and two ratios to the
reference engine: on the queries that both were asked, and of the mean seconds over all that each was asked.
Slow engines get some of them only, evenly spread (--slow-queries). Queries with an empty box are counted
apart.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from research.benchmarks import common
from wm import engines, streams
from wm.attacks.forgery import attacker_instances, attacker_signature
from wm.datasets import Source, Split, load, split
from wm.embedding.training import adjusted_caps, honest_forest, standard_caps
from wm.embedding.tuning import Hyperparameters
from wm.embedding.watermark import Plan, watermark
from wm.engines import ForgeryOutcome, ForgeryQuery, Status
from wm.engines.encoding import query_box
from wm.forest import Forest
from wm.signature import random_signature
from wm.streams import Role

SETTINGS = {
    "breast-cancer": (Hyperparameters(70, 8), 2),
    "mnist2-6": (Hyperparameters(90, 24), 42),
    "ijcnn1": (Hyperparameters(80, 18), 7),
}
"""Trees, depth and seed of the paper's experiments."""

SLOW = ("z3", "z3-bool")
SLOW_QUERIES = {"breast-cancer": 50, "mnist2-6": 20, "ijcnn1": 3}
"""Queries that slow engines get: the first ones of a process take longest, so as many as time allows."""

REBUILT = "z3, formula per query"
"""The reference as the authors' code has it, which builds its formula anew for each instance."""

ENGINES: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in engines.names()},
    REBUILT: ("z3", {"rebuild": True}),
}
"""What can be raced: an engine and its options."""


@dataclass(frozen=True)
class Row:
    """One engine on one data set at one eps; seconds are the engine's own, the limit where it struck."""

    dataset: str
    eps: float
    engine: str
    n: int
    free: int
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
    times_faster: float
    mean_ratio: float
    on_same: int


@dataclass(frozen=True)
class Best:
    """Total seconds of the portfolio on its queries, and of the fastest other engine on each."""

    dataset: str
    eps: float
    n: int
    portfolio: float | None
    fastest: float | None


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
        model_id=name,
        training="paper",
        weight_step=30.0,
    )
    forest = watermark(made, plan).embedded.forest
    cache.mkdir(parents=True, exist_ok=True)
    forest.save(file)
    return made, forest


def queries(
    made: Split, forest: Forest, seed: int, eps: float, signatures: int, instances: int
) -> tuple[list[ForgeryQuery], int]:
    """Return the queries in the order in which every engine gets them, and how many more were free.

    Instances first, then signatures. Free are those whose box is empty: test rows outside [0, 1] by more than
    eps, which no engine has to think about.
    """
    rows = attacker_instances(seed, rows=len(made.y_test), count=instances, repeat=0)
    drawn = [
        attacker_signature(seed, number=number, length=forest.n_trees, ones_share=0.5, repeat=0)
        for number in range(signatures)
    ]
    asked = [
        ForgeryQuery(signature=signature, label=made.y_test[row], centre=made.X_test[row], eps=eps)
        for row in rows
        for signature in drawn
    ]
    posed = [query for query in asked if not is_free(query)]
    return posed, len(asked) - len(posed)


def is_free(query: ForgeryQuery) -> bool:
    """Return whether a query's box is empty."""
    lower, upper = query_box(query.centre, query.eps)
    return bool((lower > upper).any())


def peak_mb(pid: int | None) -> float:
    """Return the highest resident memory of a process in MB; 0 where the system does not tell."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def start_seconds() -> float:
    """Return how long a fresh process takes to import the search and to have its kernel from the cache."""
    code = "from wm.engines.search import compile_kernel; compile_kernel()"
    seconds = []
    for _ in range(2):  # the first fills the cache
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 - our own words
        seconds.append(time.perf_counter() - started)
    return seconds[-1]


def race(
    made: Split, forest: Forest, name: str, eps: float, arguments: argparse.Namespace
) -> tuple[list[Row], Best]:
    """Put the same queries to every engine."""
    asked, free = queries(made, forest, SETTINGS[name][1], eps, arguments.signatures, arguments.instances)
    at = _places(asked, arguments.slow_queries[name])
    outcomes: dict[str, list[ForgeryOutcome]] = {}
    costs: dict[str, tuple[float, float]] = {}
    for label in arguments.engine:
        engine_name, options = ENGINES[label]
        mine = [asked[place] for place in at] if engine_name in SLOW else asked
        started = time.perf_counter()
        with engines.create(engine_name, forest, **options) as engine:
            first = engine.solve(mine[0], timeout_s=arguments.timeout)
            ready = time.perf_counter() - started - first.seconds
            rest = [engine.solve(query, timeout_s=arguments.timeout) for query in mine[1:]]
            costs[label] = ready, peak_mb(engine.child_pid)
        outcomes[label] = [first, *rest]
    rows = [
        _row(name, eps, label, found, outcomes[arguments.engine[0]], at, free, *costs[label])
        for label, found in outcomes.items()
    ]
    return rows, _best(name, eps, outcomes)


def _places(asked: Sequence[object], count: int) -> list[int]:
    """Return which of the queries slow engines get: evenly spread, for what is learned comes with time."""
    return sorted(set(np.linspace(0, len(asked) - 1, min(count, len(asked))).round().astype(int).tolist()))


def _best(name: str, eps: float, outcomes: dict[str, list[ForgeryOutcome]]) -> Best:
    """Hold the portfolio against the virtual best of the other engines that answered everything."""
    portfolio = outcomes.get("portfolio", [])
    others = [
        found for label, found in outcomes.items() if label != "portfolio" and len(found) == len(portfolio)
    ]
    if not portfolio or not others:
        return Best(name, eps, len(portfolio), None, None)
    fastest = sum(min(outcome.seconds for outcome in at_once) for at_once in zip(*others, strict=True))
    return Best(name, eps, len(portfolio), sum(outcome.seconds for outcome in portfolio), fastest)


def _row(
    name: str,
    eps: float,
    engine: str,
    found: list[ForgeryOutcome],
    reference: list[ForgeryOutcome],
    places: list[int],
    free: int,
    ready: float,
    memory: float,
) -> Row:
    seconds = [outcome.seconds for outcome in found]
    counts = Counter(outcome.status for outcome in found)
    # Slow engines, the reference among them, got some of the queries only.
    asked = found if len(found) == len(reference) else [found[place] for place in places]
    for ours, theirs in zip(asked, reference, strict=True):
        answers = {Status.FORGED, Status.IMPOSSIBLE}
        if ours.status != theirs.status and {ours.status, theirs.status} <= answers:
            raise SystemExit(f"{name}, eps {eps}: {engine} says {ours.status}, the reference {theirs.status}")
    mine = float(np.sum([outcome.seconds for outcome in asked]))
    return Row(
        dataset=name,
        eps=eps,
        engine=engine,
        n=len(found),
        free=free,
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
        times_faster=sum(outcome.seconds for outcome in reference) / mine,
        mean_ratio=statistics.fmean(outcome.seconds for outcome in reference) / statistics.fmean(seconds),
        on_same=len(reference),
    )


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table; times in milliseconds."""
    lines = [
        "| data set | eps | engine | n | free | forged / impossible / timeout / other | median ms | mean ms "
        "| max ms | total s | ready s | peak MB | times faster on the same n | ratio of means |",
        "| --- " * 14 + "|",
    ]
    lines += [
        f"| {row.dataset} | {row.eps:g} | {row.engine} | {row.n} | {row.free} "
        f"| {row.forged} / {row.impossible} / {row.timeout} / {row.other} "
        f"| {row.median * 1e3:.3g} | {row.mean * 1e3:.3g} | {row.max * 1e3:.3g} | {row.total:.3g} "
        f"| {row.ready_seconds:.2g} | {row.peak_mb:.0f} | {row.times_faster:.3g} ({row.on_same}) "
        f"| {row.mean_ratio:.3g} |"
        for row in rows
    ]
    return "\n".join(lines)


def summary(rows: Sequence[Row], best: Sequence[Best], references: Sequence[str]) -> list[str]:
    """Return the ratios in words."""
    lines = []
    labels = list(dict.fromkeys(row.engine for row in rows))
    for reference in references:
        means = {(row.dataset, row.eps): row.mean for row in rows if row.engine == reference}
        for label in labels:
            if label in references:
                continue
            ratios = [
                means[row.dataset, row.eps] / row.mean
                for row in rows
                if row.engine == label and (row.dataset, row.eps) in means
            ]
            if ratios:
                lines.append(
                    f"{label} against {reference}: geometric mean of the ratios of means "
                    f"{statistics.geometric_mean(ratios):.4g}, least {min(ratios):.3g}, {len(ratios)} cells"
                )
    both = [(one.portfolio, one.fastest) for one in best if one.portfolio and one.fastest]
    if both:
        ratio = sum(mine for mine, _ in both) / sum(fastest for _, fastest in both)
        lines.append(f"portfolio against the virtual best engine, total time: {ratio:.3g}")
    return lines


def main() -> None:
    """Run the races and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dataset", action="append", choices=sorted(SETTINGS))
    parser.add_argument("--engine", action="append", choices=list(ENGINES), help="the first is the reference")
    parser.add_argument("--eps", action="append", type=float)
    parser.add_argument("--signatures", type=int, default=2)
    parser.add_argument("--instances", type=int, default=100)
    parser.add_argument(
        "--slow-queries", type=int, help=f"queries for {' and '.join(SLOW)}, by default {SLOW_QUERIES}"
    )
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--cache", type=Path, default=Path("research/benchmarks/cache"))
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    if arguments.slow_queries is None:
        arguments.slow_queries = SLOW_QUERIES
    else:
        arguments.slow_queries = dict.fromkeys(SLOW_QUERIES, arguments.slow_queries)
    arguments.engine = arguments.engine or ["z3", REBUILT, "sat", "search", "portfolio"]
    rows: list[Row] = []
    best: list[Best] = []
    for name in arguments.dataset or sorted(SETTINGS):
        made, forest = prepare(name, arguments.cache)
        for eps in arguments.eps or [0.1, 0.3, 0.5]:
            found, one = race(made, forest, name, eps, arguments)
            rows += found
            best.append(one)
            print(table(found), flush=True)
    started = start_seconds()
    print()
    print(table(rows))
    references = [label for label in arguments.engine if ENGINES[label][0] == "z3"]
    lines = summary(rows, best, references)
    lines.append(f"import and kernel from the cache, fresh process: {started:.2f} s")
    print("\n".join(lines))
    common.save_results(
        arguments,
        rows,
        seeds={name: seed for name, (_, seed) in SETTINGS.items()},
        best=[asdict(one) for one in best],
        summary=lines,
    )


if __name__ == "__main__":
    main()
