"""What evidence honest trees that won a key's tournaments leave, beside a line-up of as many candidates.

    python -m research.benchmarks.tournament [--dataset NAME ...] [--layers L ...] [--level D ...] [--rows N]
        [--seeds N] [--asked N] [--queries N] [--honest N] [--others N] [--presence N] [-o FILE.json]

For each seed a forest of `research.tournament` and one of scheme `lineup` are trained on the same rows, with
2^L candidates for each position, and both are changed alike and judged. The rows of the tournaments are test
rows and mixups on which honest trees are divided, the line-up asks its usual questions. Honest forests of other
seeds, and forests of other owners of the same rows, are then judged by coins of other keys, and `--presence`
forests of both kinds are ranked by presence tests, and by how their vote shares deviate on the very rows of
the tournaments. `--level` above 0: tournaments of subtrees below that level.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from research.benchmarks import common, lineup_presence
from research.benchmarks.lineup import SUSPECTS, honest_forests, other_owners
from research.tournament import Evidence, Rows, evidence, keyed_coins, marked_forest
from wm.attacks.detection.presence import presence_statistics
from wm.attacks.modification.common import AttackerData
from wm.attacks.modification.evaluation import modify
from wm.claims.lineup_settings import TreeSettings
from wm.datasets import Source, Split, load, split
from wm.embedding.lineup.claimed import trained_forest
from wm.embedding.lineup.context import TrainingRows, canonical_rows
from wm.embedding.proof import Scores, VotingModel
from wm.embedding.training import Caps
from wm.forest import Forest
from wm.formats.scrubbing import scrubbed
from wm.verification.lineup.judge import Judge
from wm.verification.lineup.order import Counts
from wm.verification.lineup.proof import LineupProof
from wm.verification.lineup.queries import build_queries

_MIXUPS = 8
"""Mixups that are looked at for each row that is asked: honest trees agree on most."""


@dataclass(frozen=True)
class Row:
    """One suspect; p-values as powers of ten, corrected for the number of tests where votes are known."""

    dataset: str
    rows: int
    trees: int
    layers: int
    level: int
    seed: int
    suspect: str
    accuracy: float
    accuracy_change: float  # of the changed copy against the released forest
    votes: float
    in_order: float
    matched: float
    shares: float
    labels: float
    lineup_votes: float | None  # None for innocent forests
    lineup_shares: float | None
    lineup_labels: float | None
    asked: int
    embed_s: float  # CPU time of training with its tournaments


@dataclass(frozen=True, eq=False)
class _Scene:
    """One owner's data."""

    data: Split
    rows: TrainingRows
    settings: TreeSettings
    trees: int
    asked: Rows
    rng: np.random.Generator
    judge: Judge

    @property
    def half(self) -> int:
        """Number of test rows that the thief does not have."""
        return len(self.data.y_test) // 2

    def accuracy(self, model: VotingModel) -> float:
        return float((model.predict(self.data.X_test[: self.half]) == self.data.y_test[: self.half]).mean())

    def key(self) -> bytes:
        return self.rng.bytes(32)

    def modified(self, forest: Forest) -> Iterator[tuple[str, VotingModel]]:
        own = slice(self.half, self.half + len(self.rows.y))
        caps = Caps(self.settings.max_depth, None)
        thief = AttackerData(self.data.X_test[own], self.data.y_test[own], caps)
        for suspect, steps in SUSPECTS.items():
            yield suspect, modify(forest, steps, thief, self.rng)


def _scene(arguments: argparse.Namespace, name: str, seed: int) -> _Scene:
    hyperparameters, _ = common.SETTINGS[name]
    data = split(load(Source(name=name)), test_share=0.3, seed=seed, scaling="train")
    rng, judge = np.random.default_rng([arguments.seed, seed]), Judge(f"{arguments.seed}/{seed}")
    chosen = rng.permutation(len(data.y_train))[: arguments.rows]
    rows = canonical_rows(data.X_train[chosen], data.y_train[chosen])
    settings = TreeSettings(max_depth=hyperparameters.max_depth)
    half = len(data.y_test) // 2
    counts = Counts(natural=arguments.asked, mixups=_MIXUPS * arguments.asked, boundary=0, leaning=0)
    held_out = (data.X_test[:half], data.y_test[:half])
    X = build_queries(counts, rows, held_out, settings, judge).X
    asked = Rows.divided(X, arguments.asked, (rows, settings), rng)
    return _Scene(data, rows, settings, hyperparameters.n_estimators, asked, rng, judge)


def measure(
    arguments: argparse.Namespace,
    name: str,
    layers: int,
    level: int,
    seed: int,
    lined_up: Mapping[str, Scores],
) -> Iterator[Row]:
    """Judge every suspect of one owner, of which `lined_up` says what a line-up finds."""
    scene = _scene(arguments, name, seed)
    rows, settings, rng, size = scene.rows, scene.settings, scene.rng, len(scene.asked.X)
    coins = keyed_coins(scene.key(), scene.trees, layers, size)
    started = time.process_time()
    forest = marked_forest(rows, settings, scene.asked, coins, rng, level=level)
    seconds = time.process_time() - started

    def row(suspect: str, model: VotingModel, found: Evidence, beside: Scores | None) -> Row:
        return Row(
            dataset=name,
            rows=len(rows.y),
            trees=scene.trees,
            layers=layers,
            level=level,
            seed=seed,
            suspect=suspect,
            accuracy=scene.accuracy(model),
            accuracy_change=scene.accuracy(model) - scene.accuracy(forest),
            votes=found.votes,
            in_order=found.in_order,
            matched=found.matched,
            shares=found.shares,
            labels=found.labels,
            lineup_votes=None if beside is None else beside.votes,
            lineup_shares=None if beside is None else beside.shares,
            lineup_labels=None if beside is None else beside.labels,
            asked=size,
            embed_s=seconds,
        )

    for suspect, model in scene.modified(forest):
        yield row(suspect, model, evidence(model, scene.asked, coins), lined_up[suspect])
    innocents = chain(
        honest_forests(arguments.honest, rows, settings, scene.trees, rng),
        other_owners(arguments.others, rows, settings, scene.trees, rng),
    )
    for population, number, model in innocents:
        other = keyed_coins(scene.key(), scene.trees, layers, size)
        yield row(f"{population} {number}", model, evidence(model, scene.asked, other), None)


def lineup_scores(arguments: argparse.Namespace, name: str, candidates: int, seed: int) -> dict[str, Scores]:
    """Return the evidence of a line-up on the same changes of a forest of its own."""
    scene, each = _scene(arguments, name, seed), arguments.queries
    counts = Counts(boundary=2000, leaning=0)
    if each is not None:
        counts = Counts(natural=each, mixups=each, boundary=each, leaning=0)
    seeds = scene.rng.integers(2**31, size=scene.trees).tolist()
    held_out = (scene.data.X_test[: scene.half], scene.data.y_test[: scene.half])
    proof = LineupProof.of_seeds(
        seeds,
        scene.rows,
        scene.settings,
        held_out,
        scene.judge,
        candidates=candidates,
        counts=counts,
    )
    forest = trained_forest(scene.rows, scene.settings, seeds)
    return {suspect: proof.scores(model) for suspect, model in scene.modified(forest)}


def presence(
    arguments: argparse.Namespace, name: str, layers: int, level: int
) -> Iterator[lineup_presence.Row]:
    """Train forests of both kinds in turn; each of another key."""
    scene = _scene(arguments, name, 0)
    rows, settings, asked, rng = scene.rows, scene.settings, scene.asked, scene.rng
    for number in range(arguments.presence):
        honest = trained_forest(rows, settings, rng.integers(2**31, size=scene.trees).tolist())
        coins = keyed_coins(scene.key(), scene.trees, layers, len(asked.X))
        keyed = scrubbed(marked_forest(rows, settings, asked, coins, rng, level=level))
        for is_keyed, forest in ((False, honest), (True, keyed)):
            probes = np.random.default_rng([arguments.seed, number, is_keyed])
            votes = (forest.votes(asked.X).T - asked.centre) * asked.weights
            own = {
                "deviation on the rows": float((votes.mean(axis=0) ** 2).sum()),
                "spread on the rows": float(votes.var(axis=0).sum()),
            }
            found = presence_statistics(forest, probes) | own
            yield lineup_presence.Row(name, len(rows.y), scene.trees, is_keyed, found)


def table(rows: Sequence[Row]) -> str:
    """Return medians over seeds as a table; innocent forests are left out."""
    groups: dict[tuple[str, str, int, int], list[Row]] = {}
    for row in rows:
        if row.suspect in SUSPECTS:
            groups.setdefault((row.suspect, row.dataset, row.layers, row.level), []).append(row)
    fields = ("in_order", "matched", "shares", "labels", "lineup_votes", "lineup_shares", "lineup_labels")
    return common.table(
        "suspect | data set | N | level | seeds | accuracy change | in order | matched | shares | labels "
        "| line-up: votes | shares | labels",
        list(groups.items()),
        lambda group: (
            f"{group[0][0]} | {group[0][1]} | {2 ** group[0][2]} | {group[0][3]} | {len(group[1])} | "
            f"{statistics.median(row.accuracy_change for row in group[1]):+.3f} | "
            + " | ".join(
                f"{statistics.median(getattr(row, field) for row in group[1]):.1f}" for field in fields
            )
        ),
    )


def false_positives(rows: Sequence[Row], population: str) -> tuple[int, dict[str, int]]:
    """Return the number of innocent forests, and how many have p at most 0.05 by each kind of answers."""
    some = [row for row in rows if row.suspect.startswith(f"{population} ")]
    kinds = ("votes", "in_order", "matched", "shares", "labels")
    return len(some), {kind: sum(getattr(row, kind) <= math.log10(0.05) for row in some) for kind in kinds}


def main() -> int:
    """Measure and print the tables."""
    parser = common.parser(__doc__)
    parser.add_argument("--dataset", nargs="+", choices=list(common.SETTINGS), default=list(common.SETTINGS))
    parser.add_argument("--layers", nargs="+", type=int, default=[4], help="L; 2^L candidates")
    parser.add_argument("--level", nargs="+", type=int, default=[0], help="tournaments of subtrees below it")
    parser.add_argument("--rows", type=int, default=1500, help="most rows of owner and thief")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--asked", type=int, default=1000, help="most rows of the tournaments")
    parser.add_argument("--queries", type=int, help="of each kind in the line-up; default: as wm verify")
    parser.add_argument("--honest", type=int, default=0, help="honest forests for each seed")
    parser.add_argument("--others", type=int, default=0, help="forests of other owners for each seed")
    parser.add_argument("--presence", type=int, default=0, help="forests of each kind for presence tests")
    arguments = parser.parse_args()
    rows: list[Row] = []
    told: list[lineup_presence.Row] = []
    for name in arguments.dataset:
        for layers in arguments.layers:
            for seed in range(arguments.seeds):
                lined_up = lineup_scores(arguments, name, 2**layers, seed)
                for level in arguments.level:
                    rows += measure(arguments, name, layers, level, seed, lined_up)
                    about = f"{name}, L = {layers}, level {level}, seed {seed}"
                    print(f"{about}: {rows[-1].embed_s:.1f} s of training", file=sys.stderr)
                    common.save_results(arguments, rows)
        told += presence(arguments, name, arguments.layers[0], arguments.level[0])
    print(table(rows))
    for population in ("honest", "other owner"):
        count, found = false_positives(rows, population)
        if count:
            print(f"{count} forests ({population}), p at most 0.05: {found}")
    if told:
        print(lineup_presence.table(told, arguments.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
