"""Compare scheme `boosted` with in-place fine-tuning on three data sets; prints a Markdown table. A quarter of an hour.

WM_DATA_DIR=... python -m research.boosting [--seeds 3] [--rows 3000] [--trees 60] [--dataset ...]

Both see the same draw: k of N committed training rows are marked, the others are controls. For `boosted` the N
rows are any, for fine-tuning those that its selection prefers. Evidence is the product's, log10 p of the draw.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from orchestrator.report.markdown import table
from research.boosting.finetuning import SELECTIONS, fine_tune
from wm.attacks.modification.common import AttackerData
from wm.attacks.modification.evaluation import Step
from wm.attacks.modification.margins import modify_margins
from wm.codebook import random_codebook
from wm.datasets import Source, Split, load, split
from wm.embedding.boosted.marked import mark
from wm.embedding.options import GradientOptions
from wm.embedding.training import Caps
from wm.models import TreeModel
from wm.signature import Signature
from wm.verification.answers import AnswerKind, Answers
from wm.verification.boosted import boosted_tests
from wm.verification.randomization import RowTruth, run_tests

K, N = 20, 80
"""Marked rows, and committed rows."""

DATASETS = ("breast-cancer", "ijcnn1", "mnist2-6")

SUSPECTS = {
    "unchanged": (),
    "pruned to depth 2": (Step("truncate", 1 / 3),),
    "leaves refitted": (Step("refit", 1.0),),
    "trained on, half as many trees": (Step("go-on", 0.5),),
}
"""What the thief does, with half of the test rows."""

BOOSTED = "boosted"


@dataclass(frozen=True)
class Row:
    """What is left of one watermark in one suspect; evidence is log10 p, None where there is none."""

    dataset: str
    method: str
    suspect: str
    seed: int
    embedded: float  # share of flipped rows, or of bits shown
    accuracy_change: float  # against the plain model
    labels: float
    probabilities: float
    trees: float | None


@dataclass(frozen=True, eq=False)
class Mark:
    """A watermark: the model, its N committed rows, their labels before it, and which are marked."""

    method: str
    model: TreeModel
    rows: np.ndarray
    truth: RowTruth
    embedded: float


def marks(data: Split, trees: int, seed: int) -> Iterator[tuple[Mark, TreeModel]]:
    """Yield the watermark of each method with the plain model beside it."""
    X, y, options = data.X_train, data.y_train, GradientOptions()
    rng = np.random.default_rng(seed)
    is_marked = np.isin(np.arange(N), rng.choice(N, size=K, replace=False))
    codebook = random_codebook(K, trees, 0.5, rng)
    pool = np.sort(rng.choice(len(y), size=N, replace=False))
    made = mark(X, y, pool[is_marked], codebook, options=options, seed=seed)
    shown = made.evidence.matched_bits / made.evidence.total_bits
    plain = made.plain
    yield Mark(BOOSTED, made.model, pool, RowTruth(y[pool], is_marked, codebook), shown), plain
    for name, select in SELECTIONS.items():
        pool = select(plain, X, y, N, seed)
        before = plain.predict(X[pool]).astype(np.int64)
        tuned = fine_tune(plain, X, y, pool[is_marked], rate=options.learning_rate)
        truth = RowTruth(before, is_marked, Signature.of("1"))
        yield Mark(name, tuned.model, pool, truth, tuned.flipped), plain


def measure(dataset: str, rows: int, trees: int, seed: int) -> Iterator[Row]:
    """Judge every suspect of one split."""
    data = split(load(Source(name=dataset)), seed=seed, rows=rows)
    half = len(data.y_test) // 2
    thief = AttackerData(data.X_test[:half], data.y_test[:half], Caps(None, None))
    X, y = data.X_test[half:], data.y_test[half:]
    for found, plain in marks(data, trees, seed):
        for suspect, steps in SUSPECTS.items():
            rng = np.random.default_rng(seed)
            model = modify_margins(found.model, steps, thief, rng)
            yield Row(
                dataset,
                found.method,
                suspect,
                seed,
                found.embedded,
                float((model.predict(X) == y).mean() - (plain.predict(X) == y).mean()),
                *_evidence(model, data.X_train[found.rows], found),
            )


def _evidence(model: TreeModel, X: np.ndarray, found: Mark) -> tuple[float, float, float | None]:
    """Return log10 p by labels, probabilities and trees, each after Holm's correction."""
    tests = boosted_tests if found.method == BOOSTED else run_tests
    given: dict[AnswerKind, Answers] = {
        "labels": Answers("labels", model.predict(X).astype(np.int64)),
        "probabilities": Answers("probabilities", model.predict_proba(X)[:, 1]),
    }
    if found.method == BOOSTED:
        given["votes"] = Answers("votes", model.forest.vote_codes(X))
    best = {
        kind: min(each.log10_adjusted for each in tests({kind: answers}, found.truth))
        for kind, answers in given.items()
    }
    return best["labels"], best["probabilities"], best.get("votes")


def report(rows: list[Row]) -> str:
    """Return the table: a row for each data set and method, over the seeds; evidence as medians.

    Evidence of each copy is by labels, by probabilities, and, where trees have bits, by trees.
    """
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.dataset, row.method), []).append(row)
    return table(
        ("data", "marks", "accuracy, change", "embedded", *SUSPECTS),
        (
            (
                *key,
                _mean([row.accuracy_change for row in some if row.suspect == "unchanged"]),
                f"{statistics.mean(row.embedded for row in some):.0%}",
                *(_medians([row for row in some if row.suspect == suspect]) for suspect in SUSPECTS),
            )
            for key, some in groups.items()
        ),
    )


def _mean(values: list[float]) -> str:
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):+.3f} ({spread:.3f})"


def _medians(rows: list[Row]) -> str:
    kinds = [[row.labels for row in rows], [row.probabilities for row in rows]]
    by_trees = [row.trees for row in rows if row.trees is not None]
    # Zero without a sign, where rounding would give it one.
    medians = [round(statistics.median(kind), 1) + 0.0 for kind in [*kinds, by_trees] if kind]
    return " / ".join(f"{median:.1f}" for median in medians)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--trees", type=int, default=60)
    parser.add_argument("--dataset", choices=DATASETS, nargs="+", default=DATASETS)
    given = parser.parse_args()
    print(
        report(
            [
                row
                for name in given.dataset
                for seed in range(given.seeds)
                for row in measure(name, given.rows, given.trees, seed)
            ]
        )
    )
