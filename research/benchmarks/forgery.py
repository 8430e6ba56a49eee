"""Forgery engines against each other: the same queries on the paper's three forests, in one run.

    WM_DATA_DIR=... python -m research.benchmarks.forgery --dataset ijcnn1 --engine z3 --engine search -o out.json

Trains the paper's forests (kept in --cache), puts the same queries to every engine, one process at a
time, and prints for each data set, eps and engine how they ended, seconds per query, and three ratios to the
reference engine: on the queries that both were asked, on these alone in a fresh engine, and of the mean seconds over all.
Slow engines get some of them only, evenly spread (--slow-queries). Queries with an empty box are counted
apart. The queries that the reference was asked are put to a fresh engine too, which has learned nothing from
others.
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
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from research.benchmarks import common
from research.benchmarks.common import SETTINGS
from wm import engines, streams
from wm.attacks.forgery import attacker_instances, attacker_signature
from wm.datasets import Source, Split, load, split
from wm.embedding.options import TrainOptions
from wm.embedding.training import Caps, adjusted_caps, honest_forest
from wm.embedding.watermark import Plan, watermark
from wm.engines import ForgeryOutcome, ForgeryQuery, Status
from wm.engines.encoding import query_box
from wm.forest import Forest
from wm.signature import Signature, random_signature
from wm.streams import Role

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
    cold_faster: float
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
        caps=Caps(chosen.max_depth, None),
        seed=streams.integer_seed(seed, Role.STANDARD_FOREST),
    )
    plan = Plan(
        scheme="paper",
        signature=random_signature(chosen.n_estimators, 0.5, streams.generator(seed, Role.OWNER_SIGNATURE)),
        trigger_share=0.02,
        caps=adjusted_caps(standard, chosen.max_depth, "artifact"),
        seed=seed,
        repeat=0,
        model_id=name,
        fit=TrainOptions(training="paper", weight_step=30.0),
    )
    forest = watermark(made, plan).embedded.forest
    cache.mkdir(parents=True, exist_ok=True)
    forest.save(file)
    return made, forest


def attacker(
    made: Split, forest: Forest, seed: int, signatures: int, instances: int
) -> tuple[NDArray[np.int64], list[Signature]]:
    """Return an attacker's test rows and signatures."""
    m = forest.n_trees
    drawn = (
        attacker_signature(seed, number=number, length=m, ones_share=0.5, repeat=0)
        for number in range(signatures)
    )
    return attacker_instances(seed, rows=len(made.y_test), count=instances, repeat=0), list(drawn)


def queries(
    made: Split, forest: Forest, seed: int, eps: float, signatures: int, instances: int
) -> tuple[list[ForgeryQuery], int]:
    """Return the queries in the order in which every engine gets them, and how many more were free.

    Instances first, then signatures. Free are those whose box is empty: test rows outside [0, 1] by more than
    eps, which no engine has to think about.
    """
    rows, drawn = attacker(made, forest, seed, signatures, instances)
    asked = [
        ForgeryQuery(signature=signature, label=made.y_test[row], centre=made.X_test[row], eps=eps)
        for row in rows
        for signature in drawn
    ]
    boxed = [query for query in asked if not is_free(query)]
    return boxed, len(asked) - len(boxed)


def is_free(query: ForgeryQuery) -> bool:
    """Return whether a query's box is empty."""
    lower, upper = query_box(query.centre, query.eps)
    return bool((lower > upper).any())


def start_seconds() -> float:
    """Return how long a fresh process takes to import the search and to have its kernel from the cache."""
    command = [sys.executable, "-c", "from wm.engines.search import compile_kernel; compile_kernel()"]
    # The first fills the cache.
    _, seconds = common.seconds_each(partial(subprocess.run, check=True), [command] * 2)
    return seconds


def race(
    made: Split, forest: Forest, name: str, eps: float, arguments: argparse.Namespace
) -> tuple[list[Row], Best]:
    """Put the same queries to every engine; the first is the reference."""
    asked, free = queries(made, forest, SETTINGS[name][1], eps, arguments.signatures, arguments.instances)
    # Slow engines get some of them, evenly spread, for what is learned comes with time.
    spread = np.linspace(0, len(asked) - 1, min(arguments.slow_queries[name], len(asked))).round()
    places = sorted({int(place) for place in spread})
    outcomes: dict[str, list[ForgeryOutcome]] = {}
    rows = []
    for label in arguments.engine:
        engine_name, options = ENGINES[label]
        mine = [asked[place] for place in places] if engine_name in SLOW else asked
        started = time.perf_counter()
        with engines.create(engine_name, forest, **options) as engine:
            found = [engine.solve(mine[0], timeout_s=arguments.timeout)]
            ready = time.perf_counter() - started - found[0].seconds
            found += [engine.solve(query, timeout_s=arguments.timeout) for query in mine[1:]]
            memory = common.peak_mb(engine.child_pid)
        outcomes[label] = found
        reference = outcomes[arguments.engine[0]]
        same = found if len(found) == len(reference) else [found[place] for place in places]
        common.compare(f"{name}, eps {eps}", {label: same, "the reference": reference})
        seconds, theirs = ([outcome.seconds for outcome in some] for some in (found, reference))
        counts = Counter(outcome.status for outcome in found)
        ended = (counts[Status.FORGED], counts[Status.IMPOSSIBLE], counts[Status.TIMEOUT])
        other = len(found) - sum(ended)
        times = (statistics.median(seconds), statistics.fmean(seconds), max(seconds), sum(seconds))
        faster = sum(theirs) / sum(outcome.seconds for outcome in same)
        cold = found if mine is not asked else _cold(engine_name, forest, options, asked, places, arguments)
        cold_faster = sum(theirs) / sum(outcome.seconds for outcome in cold)
        ratios = (faster, statistics.fmean(theirs) / statistics.fmean(seconds), cold_faster)
        more = (ready, memory, *ratios)
        row = Row(name, eps, label, len(found), free, *ended, other, *times, *more, len(reference))
        rows.append(row)
    return rows, _best(name, eps, outcomes)


def _cold(
    name: str,
    forest: Forest,
    options: dict[str, Any],
    asked: Sequence[ForgeryQuery],
    places: Sequence[int],
    arguments: argparse.Namespace,
) -> list[ForgeryOutcome]:
    """Put some of the queries to a fresh engine, which can have learned nothing from the others."""
    with engines.create(name, forest, **options) as engine:
        return [engine.solve(asked[place], timeout_s=arguments.timeout) for place in places]


def _best(name: str, eps: float, outcomes: dict[str, list[ForgeryOutcome]]) -> Best:
    """Compare the portfolio with the virtual best of the other engines that answered everything."""
    portfolio = outcomes.get("portfolio", [])
    others = [
        found for label, found in outcomes.items() if label != "portfolio" and len(found) == len(portfolio)
    ]
    if not portfolio or not others:
        return Best(name, eps, len(portfolio), None, None)
    fastest = sum(min(outcome.seconds for outcome in at_once) for at_once in zip(*others, strict=True))
    return Best(name, eps, len(portfolio), sum(outcome.seconds for outcome in portfolio), fastest)


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table; times in milliseconds."""
    return common.table(
        "data set | eps | engine | n | free | forged / impossible / timeout / other | median ms | mean ms "
        "| max ms | total s | ready s | peak MB | times faster on the same n | the same n, fresh | ratio of means",
        rows,
        lambda row: (
            f"{row.dataset} | {row.eps:g} | {row.engine} | {row.n} | {row.free} "
            f"| {common.ended_text(row)} / {row.other} | {row.median * 1e3:.3g} | {row.mean * 1e3:.3g} "
            f"| {row.max * 1e3:.3g} | {row.total:.3g} | {row.ready_seconds:.2g} | {row.peak_mb:.0f} "
            f"| {row.times_faster:.3g} ({row.on_same}) | {row.cold_faster:.3g} | {row.mean_ratio:.3g}"
        ),
    )


def summary(rows: Sequence[Row], best: Sequence[Best], references: Sequence[str]) -> list[str]:
    """Return the ratios in words."""
    means = {(row.engine, row.dataset, row.eps): row.mean for row in rows}
    lines = []
    for reference in references:
        for label in dict.fromkeys(row.engine for row in rows if row.engine not in references):
            ratios = [
                means[reference, dataset, eps] / mean
                for (engine, dataset, eps), mean in means.items()
                if engine == label and (reference, dataset, eps) in means
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


def in_cold_engines(rows: Sequence[Row]) -> list[str]:
    """Return for each data set how many times faster fresh engines are on the reference's few queries."""
    groups: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        groups.setdefault((row.engine, row.dataset), []).append(row.cold_faster)
    reference = rows[0].engine
    return [
        f"{engine} against {reference}, the same few queries of {dataset} asked of a fresh engine: geometric "
        f"mean {statistics.geometric_mean(ratios):.4g}, least {min(ratios):.3g}, {len(ratios)} cells"
        for (engine, dataset), ratios in groups.items()
        if engine != reference
    ]


def parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with what benchmarks on the paper's forests have; these have seeds of their own."""
    made = common.parser(description, seed=None)
    made.add_argument("--dataset", nargs="+", action="extend", choices=sorted(SETTINGS), help="default: all")
    made.add_argument("--timeout", type=float, default=60.0, help="limit for each query in seconds")
    made.add_argument("--cache", type=Path, default=Path("research/benchmarks/cache"))
    return made


def main() -> int:
    """Run the races and print the table."""
    arguments_of = parser(__doc__)
    arguments_of.add_argument(
        "--engine", nargs="+", action="extend", choices=list(ENGINES), help="the first is the reference"
    )
    arguments_of.add_argument("--eps", nargs="+", type=float, default=[0.1, 0.3, 0.5])
    arguments_of.add_argument("--signatures", type=int, default=2)
    arguments_of.add_argument("--instances", type=int, default=100)
    arguments_of.add_argument("--slow-queries", type=int, help=f"for {SLOW}, by default {SLOW_QUERIES}")
    arguments = arguments_of.parse_args()
    counts = SLOW_QUERIES if arguments.slow_queries is None else {}
    arguments.slow_queries = {name: counts.get(name, arguments.slow_queries) for name in SLOW_QUERIES}
    arguments.engine = arguments.engine or ["z3", REBUILT, "sat", "search", "portfolio"]
    rows: list[Row] = []
    best: list[Best] = []
    for name in arguments.dataset or sorted(SETTINGS):
        made, forest = prepare(name, arguments.cache)
        for eps in arguments.eps:
            found, one = race(made, forest, name, eps, arguments)
            rows += found
            best.append(one)
            print(table(found), flush=True)
    started = start_seconds()
    print(f"\n{table(rows)}")
    references = [label for label in arguments.engine if ENGINES[label][0] == "z3"]
    lines = summary(rows, best, references)
    lines.append(f"import and kernel from the cache, fresh process: {started:.2f} s")
    print("\n".join([*lines, *in_cold_engines(rows)]))
    seeds = {name: seed for name, (_, seed) in SETTINGS.items()}
    common.save_results(arguments, rows, seeds=seeds, best=[asdict(one) for one in best], summary=lines)
    return 0


if __name__ == "__main__":
    sys.exit(common.exit_code(main))
