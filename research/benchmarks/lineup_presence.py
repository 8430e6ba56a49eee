"""Whether a forest of scheme `lineup` can be told from an honest one: area under the curve of presence tests.

    python -m research.benchmarks.lineup_presence [--dataset NAME ...] [--rows N] [--forests N]
        [-o research/benchmarks/results/lineup_presence.json]

As many forests of each kind are trained on the same rows with the same settings: honest ones by scikit-learn's
`RandomForestClassifier`, and those of as many owners, each with a claim, keys and receipt of its own. The
attacker computes the statistics of the attack `detection` and ranks the forests by each of them, and by
logistic regression on all, trained on other forests of both kinds (five folds).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import wm
from research.benchmarks import common
from wm.attacks.detection.presence import presence_statistics
from wm.datasets import Source, load, split
from wm.embedding.training import Caps, honest_forest
from wm.formats.scrubbing import scrubbed

_RESAMPLES = 2000
"""Bootstrap samples of forests for an interval."""

_FOLDS = 5


@dataclass(frozen=True)
class Row:
    """One forest."""

    dataset: str
    rows: int
    trees: int
    keyed: bool  # of scheme lineup
    statistics: dict[str, float]


@dataclass(frozen=True)
class Found:
    """How well one way tells the two kinds apart: area under the curve and its 95% interval."""

    dataset: str
    forests: int  # of each kind
    by: str
    auc: float
    low: float
    high: float


def measure(arguments: argparse.Namespace, name: str) -> Iterator[Row]:
    """Train forests of both kinds in turn."""
    hyperparameters, seed = common.SETTINGS[name]
    data = split(load(Source(name=name)), seed=seed)
    rng = np.random.default_rng([arguments.seed, seed])
    chosen = rng.permutation(len(data.y_train))[: arguments.rows]
    X, y, trees = data.X_train[chosen], data.y_train[chosen], hyperparameters.n_estimators
    for number in range(arguments.forests):
        drawn = int(rng.integers(2**31))
        honest = honest_forest(X, y, n_trees=trees, caps=Caps(hyperparameters.max_depth, None), seed=drawn)
        keyed = wm.embed(
            X, y, n_estimators=trees, max_depth=hyperparameters.max_depth, scheme="lineup", seed=drawn
        )
        for is_keyed, forest in ((False, scrubbed(honest)), (True, keyed.forest)):
            probes = np.random.default_rng([arguments.seed, number, is_keyed])
            yield Row(name, len(y), trees, is_keyed, presence_statistics(forest, probes))


def found(rows: Sequence[Row], seed: int) -> Iterator[Found]:
    """Yield the area under the curve of each statistic, and of all together, for each data set.

    Areas are of "keyed forests have more"; below a half they have less.
    """
    for name in dict.fromkeys(row.dataset for row in rows):
        some = [row for row in rows if row.dataset == name]
        truth = np.array([row.keyed for row in some])
        table = np.array([list(row.statistics.values()) for row in some])
        scores = {"all statistics": _learned(table, truth)}
        scores |= dict(zip(some[0].statistics, table.T, strict=True))
        for by, values in scores.items():
            yield Found(name, int(truth.sum()), by, *_interval(values, truth, np.random.default_rng(seed)))


def _learned(table: NDArray[np.float64], truth: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the score of each forest by a classifier that was trained on the others' folds."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression())
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=0)
    scores: NDArray[np.float64] = cross_val_predict(model, table, truth, cv=folds, method="decision_function")
    return scores


def _interval(
    scores: NDArray[np.float64], truth: NDArray[np.bool_], rng: np.random.Generator
) -> tuple[float, float, float]:
    """Return the area and its bootstrap interval: forests of each kind are drawn again."""
    keyed, honest = scores[truth][:, None], scores[~truth]
    larger = (keyed > honest) + (keyed == honest) / 2

    def drawn(count: int) -> NDArray[np.int64]:
        return np.bincount(rng.choice(count, count), minlength=count)

    areas = [drawn(len(keyed)) @ larger @ drawn(len(honest)) / larger.size for _ in range(_RESAMPLES)]
    low, high = np.quantile(areas, (0.025, 0.975))
    return float(larger.mean()), float(low), float(high)


def table(rows: Sequence[Row], seed: int) -> str:
    """Return the areas as a table."""
    return common.table(
        "data set | forests of each kind | told apart by | AUC | 95% interval",
        list(found(rows, seed)),
        lambda line: (
            f"{line.dataset} | {line.forests} | {line.by.replace('_', ' ')} | {line.auc:.2f} "
            f"| {line.low:.2f} to {line.high:.2f}"
        ),
    )


def main() -> int:
    """Measure and print the table."""
    parser = common.parser(__doc__)
    parser.add_argument("--dataset", nargs="+", choices=list(common.SETTINGS), default=list(common.SETTINGS))
    parser.add_argument("--rows", type=int, default=1000, help="most training rows")
    parser.add_argument("--forests", type=int, default=100, help="of each kind")
    arguments = parser.parse_args()
    rows: list[Row] = []
    for name in arguments.dataset:
        for row in measure(arguments, name):
            rows.append(row)
            if len(rows) % 20 == 0:
                print(f"{name}: {len(rows)} forests", file=sys.stderr)
                common.save_results(arguments, rows)
    common.save_results(arguments, rows)
    print(table(rows, arguments.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
