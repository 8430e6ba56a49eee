"""What evidence a boosted line-up leaves on changed copies, and on honest models of other seeds.

    python -m research.benchmarks.lineup_rounds [--dataset NAME ...] [--candidates N] [--rows N] [--seeds N]
        [--rounds N] [--honest N] [--others N] [-o research/benchmarks/results/lineup_rounds.json]

For each seed an honest boosted model is trained on at most `--rows` rows and lined up among N - 1 decoys for each
round. The thief has at most as many test rows; the judge asks rows of the other half, mixups and boundary points.
Each suspect is judged by what its trees add, by probabilities of two digits, and by labels, each alone. Honest
models of other seeds are judged too, and models that other owners watermarked on the same rows (scheme `boosted`):
the share with p at most 0.05 must not be above 0.05 by more than chance.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from research.benchmarks import common
from wm.attacks.modification.common import AttackerData
from wm.attacks.modification.evaluation import Step
from wm.attacks.modification.margins import modify_margins
from wm.claims.lineup_settings import BoostingSettings
from wm.codebook import random_codebook
from wm.datasets import Source, load, split
from wm.embedding.boosted.marked import mark
from wm.embedding.boosted.newton import model_of_steps, start_margins
from wm.embedding.common import draw_trigger_rows
from wm.embedding.lineup.boosting import train_rounds
from wm.embedding.lineup.context import TrainingRows, canonical_rows
from wm.embedding.options import GradientOptions
from wm.embedding.training import Caps
from wm.models import TreeModel
from wm.verification.lineup import round_scores
from wm.verification.lineup.bound import log10_rounds
from wm.verification.lineup.judge import Judge
from wm.verification.lineup.order import Counts
from wm.verification.lineup.queries import build_queries
from wm.verification.lineup.rounds import RoundLineup, rounds_of_seeds

SETTINGS = BoostingSettings(max_depth=3, learning_rate=0.1, subsample=0.5)

SUSPECTS: dict[str, tuple[Step, ...]] = {
    "unmodified": (),
    "shuffled": (Step("shuffle", 1.0),),
    "shuffled, half dropped": (Step("shuffle", 1.0), Step("drop", 0.5)),
    "last half removed": (Step("shorten", 0.5),),
    "last half removed, then trained on": (Step("shorten", 0.5), Step("go-on", 1.0)),
    "noise 0.3": (Step("noise", 0.3),),
    "cut to half of the depth": (Step("truncate", 0.5),),
    "leaves rounded": (Step("round-leaves", 1.0),),
    "leaves refitted": (Step("refit", 1.0),),
    "trees split in two": (Step("split", 1.0),),
    "trees split in two, trained on": (Step("go-on", 1.0), Step("split", 1.0)),
    "trees split in two, noise 0.1": (Step("noise", 0.1), Step("split", 1.0)),
    "trained on": (Step("go-on", 1.0),),
    "noise 0.1, leaves refitted": (Step("noise", 0.1), Step("refit", 1.0)),
}

DISTILLED = "distilled from labels, 10 x"


@dataclass(frozen=True)
class Row:
    """One suspect; p-values as powers of ten, each of one test."""

    dataset: str
    rows: int
    rounds: int
    candidates: int
    seed: int
    suspect: str
    accuracy_change: float
    log10_p_trees: float
    log10_p_any_order: float
    log10_p_all_trees: float
    log10_p_probabilities: float
    log10_p_labels: float
    lineup_s: float


def honest_model(rows: TrainingRows, rounds: int, rng: np.random.Generator) -> TreeModel:
    """Return a boosted model of fresh seeds."""
    return _model(rows, rng.integers(2**31, size=rounds).tolist())


def _model(rows: TrainingRows, seeds: Sequence[int]) -> TreeModel:
    steps = train_rounds(rows, SETTINGS, seeds)
    return model_of_steps(steps, start_margins(rows.y), n_features=rows.X.shape[1], n_classes=2)


def other_owner(rows: TrainingRows, rounds: int, rng: np.random.Generator) -> TreeModel:
    """Return a boosted model with another owner's watermark."""
    triggers = draw_trigger_rows(rows.X, max(2, len(rows.y) // 50), rng)
    codebook = random_codebook(len(triggers), rounds, 0.5, rng)
    options = GradientOptions(learning_rate=SETTINGS.learning_rate)
    seed = int(rng.integers(2**31 - 1))
    return mark(
        rows.X, rows.y, triggers, codebook, options=options, max_depth=SETTINGS.max_depth, seed=seed
    ).model


def distilled(stolen: TreeModel, thief: AttackerData, rounds: int, rng: np.random.Generator) -> TreeModel:
    """Return a model trained on the answers of a stolen one to ten mixtures for each of the thief's rows."""
    first, second = rng.integers(len(thief.X), size=(2, 10 * len(thief.X)))
    share = rng.uniform(size=(len(first), 1)).astype(np.float32)
    X = share * thief.X[first] + (1 - share) * thief.X[second]
    return honest_model(canonical_rows(X, stolen.predict(X).astype(np.int64)), rounds, rng)


def measure(arguments: argparse.Namespace, name: str, seed: int) -> Iterator[Row]:
    """Judge every suspect of one owner."""
    data = split(load(Source(name=name)), test_share=0.3, seed=seed, scaling="train")
    rng = np.random.default_rng([arguments.seed, seed])
    chosen = rng.permutation(len(data.y_train))[: arguments.rows]
    rows = canonical_rows(data.X_train[chosen], data.y_train[chosen])
    half, judge = len(data.y_test) // 2, Judge(f"{arguments.seed}/{seed}")
    held_out = data.X_test[:half], data.y_test[:half]
    queries = build_queries(Counts(boundary=2000, leaning=0), rows, held_out, SETTINGS, judge)
    seeds = rng.integers(2**31, size=arguments.rounds).tolist()
    started = time.perf_counter()
    lineup = rounds_of_seeds(seeds, rows, SETTINGS, queries.X, candidates=arguments.candidates, judge=judge)
    seconds = time.perf_counter() - started
    released = _model(rows, seeds)
    own = slice(half, half + arguments.rows)
    thief = AttackerData(data.X_test[own], data.y_test[own], Caps(SETTINGS.max_depth, None))
    suspects = {what: modify_margins(released, steps, thief, rng) for what, steps in SUSPECTS.items()}
    suspects[DISTILLED] = distilled(released, thief, arguments.rounds, rng)
    for number in range(arguments.honest):
        suspects[f"honest {number}"] = honest_model(rows, arguments.rounds, rng)
    for number in range(arguments.others):
        suspects[f"other owner {number}"] = other_owner(rows, arguments.rounds, rng)
    before = _accuracy(released, *held_out)
    for suspect, model in suspects.items():
        found = evidence(lineup, model, queries.X)
        yield Row(
            dataset=name,
            rows=len(rows.y),
            rounds=arguments.rounds,
            candidates=arguments.candidates,
            seed=seed,
            suspect=suspect,
            accuracy_change=_accuracy(model, *held_out) - before,
            lineup_s=seconds,
            **found,
        )


TESTS = {
    "log10_p_trees": "trees in order",
    "log10_p_any_order": "trees in any order",
    "log10_p_all_trees": "all trees",
    "log10_p_probabilities": "probabilities",
    "log10_p_labels": "labels",
}
"""Fields of a row, and what they are called."""


def evidence(lineup: RoundLineup, model: TreeModel, X: NDArray[np.float32]) -> dict[str, float]:
    """Return log10 p of each test: the trees, probabilities of two digits, and labels."""
    if model.margins is None:
        raise TypeError("a model with margins is needed")
    added = model.margins.leaf[model.forest.apply(X)]
    share = model.predict_proba(X)[:, 1]
    found = (
        round_scores.in_order(lineup, added),
        round_scores.out_of_order(lineup, added),
        round_scores.by_span(lineup, added),
        round_scores.by_margins(lineup, np.round(share, 2)),
        round_scores.by_labels(lineup, (share > 0.5).astype(np.float64)),
    )
    logs = (log10_rounds(each, lineup.places) for each in found)
    return dict(zip(TESTS, logs, strict=True))


def _accuracy(model: TreeModel, X: NDArray[np.float32], y: NDArray[np.int64]) -> float:
    return float((model.predict(X) == y).mean())


def table(rows: Sequence[Row]) -> str:
    """Return medians over seeds as a table; innocent models are left out."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.suspect in SUSPECTS or row.suspect == DISTILLED:
            groups.setdefault((row.suspect, row.dataset), []).append(row)
    columns = ("accuracy_change", *TESTS)
    lines = [
        (
            suspect,
            dataset,
            len(of),
            *(statistics.median(getattr(row, name) for row in of) for name in columns),
        )
        for (suspect, dataset), of in groups.items()
    ]
    return common.table(
        f"suspect | data set | seeds | accuracy change | {' | '.join(TESTS.values())}",
        lines,
        lambda line: (
            f"{line[0]} | {line[1]} | {line[2]} | {line[3]:+.3f} | "
            + " | ".join(f"{value:.1f}" for value in line[4:])
        ),
    )


def false_positives(rows: Sequence[Row], population: str) -> tuple[int, dict[str, int]]:
    """Return the number of innocent models, and how many have p at most 0.05 by each test."""
    some = [row for row in rows if row.suspect.startswith(f"{population} ")]
    level = math.log10(0.05)
    return len(some), {what: sum(getattr(row, name) <= level for row in some) for name, what in TESTS.items()}


def main() -> int:
    """Measure and print a table of medians and the false positives."""
    parser = common.parser(__doc__)
    parser.add_argument("--dataset", nargs="+", choices=list(common.SETTINGS), default=list(common.SETTINGS))
    parser.add_argument("--candidates", type=int, default=20)
    parser.add_argument("--rows", type=int, default=3000, help="most rows of owner and thief")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--honest", type=int, default=10, help="honest models for each seed")
    parser.add_argument("--others", type=int, default=0, help="models of other owners for each seed")
    arguments = parser.parse_args()
    rows: list[Row] = []
    for name in arguments.dataset:
        for seed in range(arguments.seeds):
            rows += measure(arguments, name, seed)
            print(f"{name}, seed {seed}: {rows[-1].lineup_s:.0f} s", file=sys.stderr)
            common.save_results(arguments, rows)
    print(table(rows))
    for population in ("honest", "other owner"):
        count, found = false_positives(rows, population)
        print(f"{count} models ({population}), p at most 0.05: {found}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
