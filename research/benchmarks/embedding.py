"""What embedding costs: every training against one plain fit of the same forest, paired in one run.

    WM_DATA_DIR=... python -m research.benchmarks.embedding --dataset mnist2-6 --repeats 3 -o embedding.json

For each repeat (own seeds for signature, trigger rows and trees) the same limits are trained plainly, weights
all 1, and watermarked by each training. Printed and written: seconds and their ratios to the plain fit beside
it, fits of a tree, trigger weights, test accuracy, bits that the paper's detection reads off; the mean paired
differences of each training to a reference with their 95% intervals (Student's t); and, each in a
process of its own, the peak memory.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from pydantic import TypeAdapter
from scipy import stats

from research.benchmarks import common
from research.benchmarks.common import SETTINGS
from wm import streams
from wm.attacks.detection import Measure, Strategy, detect
from wm.datasets import Source, Split, load, split
from wm.embedding import EmbeddingTask
from wm.embedding.common import draw_trigger_rows, trigger_size
from wm.embedding.growing import Grower
from wm.embedding.options import Adjust, Training, TrainOptions
from wm.embedding.paper import embed_paper
from wm.embedding.training import Caps, adjusted_caps, fit_trees, fitting, honest_forest
from wm.embedding.tuning import Hyperparameters
from wm.forest import Forest
from wm.signature import random_signature
from wm.streams import Role

TRIGGER_SHARE = 0.02

LEAST = "+least"
"""Ending of a training's name that stands for `least_weight`."""

DEFAULT = ["paper", "artifact", "per-tree", "per-tree" + LEAST]


@dataclass(frozen=True)
class Cost:
    """One fit. Seconds of the clock and of all threads' processor time."""

    wall_s: float
    cpu_s: float


@dataclass(frozen=True)
class Row:
    """One watermark beside its plain fit."""

    dataset: str
    training: str
    repeat: int
    plain: Cost
    embedding: Cost
    wall_ratio: float  # whole embedding over the plain fit of this repeat
    cpu_ratio: float
    fits_per_tree: float  # fits of single trees over m
    weight_right: float  # largest trigger weights
    weight_wrong: float
    accuracy: float  # majority on the test rows
    accuracy_plain: float
    bits_depth: float  # share of the signature that strategy B reads off
    bits_leaves: float


@dataclass(frozen=True)
class Difference:
    """Mean of a training minus the reference over paired repeats, with the half-width of its interval."""

    dataset: str
    training: str
    what: str
    mean: float
    half_width: float
    repeats: int


@dataclass(frozen=True)
class Peak:
    """Peak resident memory of a process in MiB: before the fit (data loaded), and during it."""

    dataset: str
    what: str
    before_mib: float
    peak_mib: float


def task_of(rows: Split, chosen: Hyperparameters, caps: Caps, repeat: int, n_jobs: int) -> EmbeddingTask:
    """Return a repeat's task; its training is still to be named."""
    seed = 1
    return EmbeddingTask(
        X=rows.X_train,
        y=rows.y_train,
        signature=random_signature(
            chosen.n_estimators, 0.5, streams.generator(seed, Role.OWNER_SIGNATURE, repeat)
        ),
        trigger_rows=draw_trigger_rows(
            rows.X_train,
            trigger_size(len(rows.y_train), TRIGGER_SHARE),
            streams.generator(seed, Role.OWNER_TRIGGER, repeat),
        ),
        caps=caps,
        seed_right=streams.integer_seed(seed, Role.OWNER_TREES_RIGHT, repeat),
        seed_wrong=streams.integer_seed(seed, Role.OWNER_TREES_WRONG, repeat),
        tree_seeds=streams.distinct_seeds(seed, Role.OWNER_TREE, chosen.n_estimators, repeat),
        fit=TrainOptions(n_jobs=n_jobs),
    )


def timed(work: Callable[[], Any]) -> tuple[Any, Cost]:
    """Return what `work` returns, and its cost."""
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    return result, Cost(time.perf_counter() - wall, time.process_time() - processor)


def limits_of(rows: Split, chosen: Hyperparameters, adjust: Adjust) -> Caps:
    """Return the limits that a standard forest of the data set gives."""
    standard = honest_forest(
        rows.X_train, rows.y_train, n_trees=chosen.n_estimators, caps=Caps(chosen.max_depth, None), seed=3
    )
    return adjusted_caps(standard, chosen.max_depth, adjust)


def plain_fit(task: EmbeddingTask) -> Any:
    """Return a forest trained plainly under a task's limits."""
    m = task.signature.trees
    return fit_trees(task.X, task.y, n_trees=m, caps=task.caps, seed=task.seed_right, n_jobs=task.fit.n_jobs)


def training_of(name: str) -> Training:
    """Return the training that a name stands for."""
    return TypeAdapter(Training).validate_python(name.removesuffix(LEAST))


def measure(dataset: str, rows: Split, task: EmbeddingTask, repeat: int, trainings: list[str]) -> list[Row]:
    """Fit plainly and by each training; the plain fit is timed before and after, and the two averaged."""
    model, first = timed(partial(plain_fit, task))
    tasks = {
        name: replace(
            task,
            fit=TrainOptions(training=training_of(name), least_weight=LEAST in name, n_jobs=task.fit.n_jobs),
        )
        for name in trainings
    }
    made = {name: timed(partial(embed_paper, named)) for name, named in tasks.items()}
    _, last = timed(partial(plain_fit, task))
    cost = Cost((first.wall_s + last.wall_s) / 2, (first.cpu_s + last.cpu_s) / 2)
    accuracy_plain = Forest.from_sklearn(model).accuracy(rows.X_test, rows.y_test)
    found = []
    for name, (embedded, spent) in made.items():
        ratios = (spent.wall_s / cost.wall_s, spent.cpu_s / cost.cpu_s, embedded.fits / task.signature.trees)
        weights = (embedded.weight_right, embedded.weight_wrong)
        accuracies = (embedded.forest.accuracy(rows.X_test, rows.y_test), accuracy_plain)
        bits = _bits_read(embedded.forest, task)
        found.append(Row(dataset, name, repeat, cost, spent, *ratios, *weights, *accuracies, *bits))
    return found


def _bits_read(forest: Forest, task: EmbeddingTask) -> tuple[float, float]:
    """Return the shares of the bits that strategy B reads off by depth and by leaves."""
    shares = {
        result.measure: result.correct / task.signature.trees
        for result in detect(forest, task.signature)
        if result.strategy == Strategy.B
    }
    return shares[Measure.DEPTH], shares[Measure.LEAVES]


def differences(rows: Sequence[Row], reference: str) -> list[Difference]:
    """Return each training minus a reference, paired by repeat; nothing where there are not two pairs."""
    found = []
    for dataset, training in sorted({(row.dataset, row.training) for row in rows}):
        others = {row.repeat: row for row in rows if (row.dataset, row.training) == (dataset, reference)}
        mine = [row for row in rows if (row.dataset, row.training) == (dataset, training)]
        pairs = [(row, others[row.repeat]) for row in mine if row.repeat in others]
        if training == reference or len(pairs) < 2:
            continue
        for what in ("accuracy", "bits_depth", "bits_leaves"):
            gaps = np.array([getattr(one, what) - getattr(other, what) for one, other in pairs])
            half = stats.t.ppf(0.975, len(gaps) - 1) * gaps.std(ddof=1) / np.sqrt(len(gaps))
            found.append(Difference(dataset, training, what, float(gaps.mean()), float(half), len(gaps)))
    return found


def peaks(dataset: str, task: EmbeddingTask) -> list[Peak]:
    """Measure the memory of the plain fit and of `per-tree`, each in a fresh process."""
    found = []
    for what in ("plain", "per-tree"):
        context = multiprocessing.get_context("spawn")
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=_peak, args=(what, task, sender))
        child.start()
        before, peak = receiver.recv()
        child.join()
        found.append(Peak(dataset, what, before, peak))
    return found


def _peak(what: str, task: EmbeddingTask, sender: Connection) -> None:
    """Send the memory before and at the peak of a fit, in MiB; one by each way loads all libraries."""
    X, y = task.X[:50], np.arange(50) % 2
    Forest.from_sklearn(fit_trees(X, y, n_trees=1, caps=Caps(2, None), seed=0))
    Grower.like(fitting(task.caps), X, y, (0,), heavy=np.arange(3), times=10**6)
    Path("/proc/self/clear_refs").write_text("5")  # the peak is now what is in use
    before = common.peak_mb(os.getpid())
    if what == "plain":
        Forest.from_sklearn(plain_fit(task))
    else:
        embed_paper(task)
    sender.send((before, common.peak_mb(os.getpid())))


def save(options: argparse.Namespace, found: Sequence[Row], memory: Sequence[Peak]) -> None:
    """Write all that was measured so far."""
    machine = {
        "processor": common.processor(),
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }
    document = {
        "machine": machine,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "adjust": options.adjust,
        "jobs": options.jobs,
        "rows": [asdict(row) for row in found],
        "reference": options.reference,
        "differences": [asdict(gap) for gap in differences(found, options.reference)],
        "memory": [asdict(peak) for peak in memory],
    }
    options.output.write_text(json.dumps(document, indent=1) + "\n")


def main() -> None:
    """Run the benchmark, print it and write it."""
    parser = common.parser(__doc__, seed=None, output=Path("embedding.json"))
    parser.add_argument("--dataset", action="append", choices=sorted(SETTINGS), help="May be repeated; all.")
    parser.add_argument("--training", action="append", choices=DEFAULT, help="May be repeated; all.")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--paper-repeats", type=int, help="Repeats that train `paper`, the slowest, too; all."
    )
    parser.add_argument("--reference", choices=DEFAULT, default="paper", help="What the others differ from.")
    parser.add_argument("--adjust", choices=["paper", "artifact"], default="paper")
    parser.add_argument("--jobs", type=int, default=1, help="Threads of the plain fit and of per-tree.")
    options = parser.parse_args()
    found: list[Row] = []
    memory: list[Peak] = []
    for dataset in options.dataset or sorted(SETTINGS):
        rows, (chosen, _) = split(load(Source(name=dataset)), seed=2), SETTINGS[dataset]
        caps = limits_of(rows, chosen, options.adjust)
        for repeat in range(options.repeats):
            task = task_of(rows, chosen, caps, repeat, options.jobs)
            trainings = list(options.training or DEFAULT)
            if options.paper_repeats is not None and repeat >= options.paper_repeats:
                trainings = [name for name in trainings if name != "paper"]
            for row in measure(dataset, rows, task, repeat, trainings):
                found.append(row)
                print(row, flush=True)
        memory += peaks(dataset, task_of(rows, chosen, caps, 0, options.jobs))
        print(*memory[-2:], sep="\n")
        save(options, found, memory)
    print(*differences(found, options.reference), sep="\n")


if __name__ == "__main__":
    main()
