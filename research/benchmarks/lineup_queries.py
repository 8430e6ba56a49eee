"""How many queries a line-up needs, and whether they stand out among a service's ordinary ones.

    WM_DATA_DIR=... python -m research.benchmarks.lineup_queries -o research/benchmarks/results/lineup_queries.json

Each kind of queries alone, first 10 of them, then more: log10 p by the votes of all trees, by shares of votes and by labels.
A thief who answers queries may filter those of a judge: scored by how divided the forest is, by the distance to the
nearest of his rows, and by a classifier that he trains on queries that he made himself, in the judge's way, from his rows.
Beside that, passive evidence: which share of the released forest's mistakes copies and honest forests repeat.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from research.benchmarks import common
from research.benchmarks.lineup import SUSPECTS, honest_forests
from wm.attacks.modification.common import AttackerData
from wm.attacks.modification.evaluation import modify
from wm.claims.lineup_settings import TreeSettings
from wm.datasets import Source, load, split
from wm.embedding.lineup.claimed import trained_forest
from wm.embedding.lineup.context import TrainingRows, canonical_rows
from wm.embedding.training import Caps
from wm.forest import Forest
from wm.verification.answers import Answers
from wm.verification.lineup.candidates import Lineup
from wm.verification.lineup.evidence import lineup_tests
from wm.verification.lineup.judge import Judge
from wm.verification.lineup.order import Counts
from wm.verification.lineup.proof import LineupProof
from wm.verification.lineup.queries import build_queries

KINDS = {"natural": 200, "mixups": 1000, "boundary": 2000}
"""Most queries of each kind."""

SIZES = (10, 20, 50, 100, 200, 500, 1000, 2000)

ANSWERS = ("votes", "shares", "labels")


@dataclass(frozen=True)
class Row:
    """Evidence on an unmodified copy; log10 p after correction for the tests of that kind of answers."""

    dataset: str
    seed: int
    kind: str
    queries: int
    votes: float
    shares: float
    labels: float


@dataclass(frozen=True)
class Seen:
    """How well a score tells queries of a kind from ordinary rows."""

    dataset: str
    seed: int
    kind: str
    score: str
    auc: float
    tpr: float  # share found at 1% false alarms


@dataclass(frozen=True)
class Passive:
    """Share of the released forest's mistakes on ordinary rows that a suspect repeats."""

    dataset: str
    seed: int
    suspect: str
    mistakes: int
    repeated: float


COPIES = ("unmodified", "half replaced", "reduced-error pruning", "distilled from votes, 10 x", "noise 0.3")
HONEST = "honest, other seed"


def measure(
    arguments: argparse.Namespace, name: str, seed: int
) -> tuple[list[Row], list[Seen], list[Passive]]:
    """Measure one owner's line-up."""
    hyperparameters, _ = common.SETTINGS[name]
    trees, settings = hyperparameters.n_estimators, TreeSettings(max_depth=hyperparameters.max_depth)
    data = split(load(Source(name=name)), test_share=0.4, seed=seed, scaling="train")
    rng = np.random.default_rng([arguments.seed, seed])
    chosen = rng.permutation(len(data.y_train))[: arguments.rows]
    rows = canonical_rows(data.X_train[chosen], data.y_train[chosen])
    order = rng.permutation(len(data.y_test))[: 3 * arguments.rows]
    judges, thiefs, ordinary = ((data.X_test[part], data.y_test[part]) for part in np.array_split(order, 3))
    seeds = rng.integers(2**31, size=trees).tolist()
    forest = trained_forest(rows, settings, seeds)
    found: list[Row] = []
    seen: list[Seen] = []
    for kind, most in KINDS.items():
        counts = Counts(leaning=0, **{each: most if each == kind else 0 for each in KINDS})
        proof = LineupProof.of_seeds(
            seeds,
            rows,
            settings,
            judges,
            Judge(f"{arguments.seed}/{seed}/{kind}"),
            candidates=arguments.candidates,
            counts=counts,
        )
        found += [Row(name, seed, kind, size, **by) for size, by in evidence(proof, forest, rng)]
        # What the thief makes in the judge's way, from rows of his own.
        own = canonical_rows(*thiefs)
        made = build_queries(counts, own, thiefs, settings, Judge(f"thief {seed}")).X
        for score, (asked, others) in scores(forest, proof.X, ordinary[0], own, made, seed).items():
            seen.append(Seen(name, seed, kind, score, *told_apart(asked, others)))
    attacker = AttackerData(*thiefs, Caps(settings.max_depth, None))
    suspects = [(copy, modify(forest, SUSPECTS[copy], attacker, rng)) for copy in COPIES]
    suspects += [
        (HONEST, each) for _, _, each in honest_forests(arguments.honest, rows, settings, trees, rng)
    ]
    X, y = ordinary
    wrong = forest.predict(X) != y
    passive = [
        Passive(name, seed, suspect, int(wrong.sum()), float((model.predict(X) != y)[wrong].mean()))
        for suspect, model in suspects
        if wrong.any()
    ]
    return found, seen, passive


def evidence(
    proof: LineupProof, forest: Forest, rng: np.random.Generator
) -> Iterator[tuple[int, dict[str, float]]]:
    """Yield numbers of queries, and log10 p of an unmodified copy by each kind of answers."""
    order = rng.permutation(len(proof.X))
    for size in (size for size in SIZES if size <= len(order)):
        some = np.sort(order[:size])
        lineup = Lineup(proof.lineup.votes[..., some], proof.lineup.places)
        votes = forest.votes(proof.X[some]).astype(np.int64)
        shares, labels = votes.mean(axis=1), forest.predict(proof.X[some]).astype(np.int64)
        given = (Answers("votes", votes), Answers("probabilities", shares), Answers("labels", labels))
        yield (
            size,
            {
                name: min(test.log10_adjusted for test in lineup_tests(lineup, {each.kind: each}))
                for name, each in zip(ANSWERS, given, strict=True)
            },
        )


Scored = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Scores of the judge's queries, and of ordinary rows."""


def scores(
    forest: Forest,
    asked: NDArray[np.float32],
    ordinary: NDArray[np.float32],
    own: TrainingRows,
    made: NDArray[np.float32],
    seed: int,
) -> dict[str, Scored]:
    """Return what a thief can score queries by, higher for those that look like a judge's."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.neighbors import NearestNeighbors

    def divided(X: NDArray[np.float32]) -> NDArray[np.float64]:
        shares = forest.vote_shares(X)[:, 1]
        return np.minimum(shares, 1 - shares)

    near = NearestNeighbors(n_neighbors=1).fit(own.X)

    def distance(X: NDArray[np.float32]) -> NDArray[np.float64]:
        away: NDArray[np.float64] = near.kneighbors(X)[0][:, 0]
        return away

    def features(X: NDArray[np.float32]) -> NDArray[np.float64]:
        return np.column_stack([X, divided(X)])

    learner = RandomForestClassifier(200, random_state=seed, class_weight="balanced")
    learner.fit(features(np.vstack([made, own.X])), np.arange(len(made) + len(own.X)) < len(made))

    def learned(X: NDArray[np.float32]) -> NDArray[np.float64]:
        chance: NDArray[np.float64] = learner.predict_proba(features(X))[:, 1]
        return chance

    named = {"divided votes": divided, "distance": distance, "classifier": learned}
    return {name: (score(asked), score(ordinary)) for name, score in named.items()}


def told_apart(asked: NDArray[np.float64], others: NDArray[np.float64]) -> tuple[float, float]:
    """Return the area under the curve, and the share of the first found at 1% false alarms."""
    from sklearn.metrics import roc_auc_score

    values = np.concatenate([asked, others])
    area = float(roc_auc_score(np.arange(len(values)) < len(asked), values))
    return area, float((asked > np.quantile(others, 0.99, method="higher")).mean())


def evidence_table(rows: Sequence[Row]) -> str:
    """Return medians over seeds: votes / shares / labels for each number of queries."""
    groups: dict[tuple[str, str], dict[int, list[Row]]] = {}
    for row in rows:
        groups.setdefault((row.dataset, row.kind), {}).setdefault(row.queries, []).append(row)

    def cell(of: list[Row] | None) -> str:
        if of is None:
            return ""
        medians = (statistics.median(asdict(row)[name] for row in of) for name in ANSWERS)
        return " / ".join(f"{value:.0f}" for value in medians)

    return common.table(
        " | ".join(["data set", "queries", *map(str, SIZES)]),
        list(groups.items()),
        lambda group: " | ".join([*group[0], *(cell(group[1].get(size)) for size in SIZES)]),
    )


def seen_table(found: Sequence[Seen]) -> str:
    """Return medians over seeds of how well queries are told from ordinary rows."""
    groups: dict[tuple[str, str, str], list[Seen]] = {}
    for each in found:
        groups.setdefault((each.dataset, each.kind, each.score), []).append(each)
    return common.table(
        "data set | queries | told by | AUC | found at 1% false alarms",
        list(groups.items()),
        lambda group: (
            f"{' | '.join(group[0])} | {statistics.median(each.auc for each in group[1]):.2f} "
            f"| {statistics.median(each.tpr for each in group[1]):.0%}"
        ),
    )


def passive_table(found: Sequence[Passive]) -> str:
    """Return the median share of mistakes repeated, with the least and the greatest, over seeds and forests."""
    groups: dict[tuple[str, str], list[Passive]] = {}
    for each in found:
        groups.setdefault((each.dataset, each.suspect), []).append(each)
    return common.table(
        "data set | suspect | n | mistakes of the released forest | repeated: median (least to greatest)",
        list(groups.items()),
        lambda group: (
            f"{' | '.join(group[0])} | {len(group[1])} | {statistics.median(each.mistakes for each in group[1]):.0f} "
            f"| {statistics.median(each.repeated for each in group[1]):.0%} "
            f"({min(each.repeated for each in group[1]):.0%} to {max(each.repeated for each in group[1]):.0%})"
        ),
    )


def main() -> int:
    """Measure and print the tables."""
    parser = common.parser(__doc__)
    parser.add_argument("--dataset", nargs="+", choices=list(common.SETTINGS), default=list(common.SETTINGS))
    parser.add_argument("--candidates", type=int, default=20)
    parser.add_argument("--rows", type=int, default=1000, help="most rows of owner, judge, thief and others")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--honest", type=int, default=20, help="honest forests for each seed")
    arguments = parser.parse_args()
    rows: list[Row] = []
    seen: list[Seen] = []
    passive: list[Passive] = []
    for name in arguments.dataset:
        for seed in range(arguments.seeds):
            more: Any = measure(arguments, name, seed)
            rows, seen, passive = rows + more[0], seen + more[1], passive + more[2]
            print(f"{name}, seed {seed}", file=sys.stderr)
            lists = {"seen": [asdict(each) for each in seen], "passive": [asdict(each) for each in passive]}
            common.save_results(arguments, rows, **lists)
    print(evidence_table(rows), seen_table(seen), passive_table(passive), sep="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
