"""What evidence scheme `lineup` leaves on changed copies, and on honest forests of other seeds.

    python -m research.benchmarks.lineup [--dataset NAME ...] [--candidates N ...] [--rows N] [--seeds N]
        [--honest N] [--others N] [--queries N] [-o research/benchmarks/results/lineup.json]

For each seed an honest forest of the paper's size is trained on at most `--rows` rows and lined up among
N - 1 decoys for each position. The thief has at most as many test rows; the judge asks rows of the other half,
mixups and boundary points. Then honest forests of other seeds are judged by the same candidates, each with
places drawn anew: the share with p at most 0.05 must not be above 0.05 by more than chance; and so are forests
that other owners watermarked on the same rows, by each scheme in turn. For many of them `--queries` keeps the
tests short.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from research.benchmarks import common
from wm.attacks.modification.common import AttackerData, VotingModel
from wm.attacks.modification.evaluation import Step, modify
from wm.attacks.populations import watermarked_forest
from wm.claims.lineup_settings import TreeSettings
from wm.datasets import Source, Split, load, split
from wm.embedding import SCHEMES
from wm.embedding.common import draw_trigger_rows
from wm.embedding.lineup.claimed import trained_forest
from wm.embedding.lineup.context import TrainingRows, canonical_rows
from wm.embedding.training import Caps
from wm.forest import Forest
from wm.verification.lineup.candidates import Lineup
from wm.verification.lineup.judge import Judge
from wm.verification.lineup.order import Counts
from wm.verification.lineup.proof import LineupProof

_UNUSED = (("others", 0),)
"""Options that change nothing and are not worth showing."""

SUSPECTS: dict[str, tuple[Step, ...]] = {
    "unmodified": (Step("noise", 0.0),),
    "noise 0.3": (Step("noise", 0.3),),
    "reduced-error pruning": (Step("reduced-error", 1.0),),
    "shuffled": (Step("shuffle", 1.0),),
    "shuffled, half dropped": (Step("shuffle", 1.0), Step("drop", 0.5)),
    "half replaced": (Step("replace", 0.5),),
    "shuffled, half replaced": (Step("shuffle", 1.0), Step("replace", 0.5)),
    "distilled from votes, 10 x": (Step("distil-votes", 10.0),),
    "distilled from labels, 10 x": (Step("distil-labels", 10.0),),
    "majority collapse": (Step("collapse", 1.0),),
    "three quarters replaced": (Step("replace", 0.75),),
    "90% replaced": (Step("replace", 0.9),),
    "labels, hedged by 0.1": (Step("hedge", 0.1),),
    "labels, hedged by 0.2": (Step("hedge", 0.2),),
    "labels, hedged by 0.3": (Step("hedge", 0.3),),
}


@dataclass(frozen=True)
class Row:
    """One suspect; p-values as powers of ten."""

    dataset: str
    rows: int
    trees: int
    candidates: int
    seed: int
    suspect: str
    accuracy_change: float  # of the changed copy against the released forest
    log10_p_votes: float
    log10_p_shares: float
    log10_p_labels: float
    lineup_s: float  # training and votes of all candidates
    judge_s: float  # the tests of this suspect
    train_s: float | None = None  # the released forest
    peak_mb: float | None = (
        None  # of the process, data and libraries included, from the candidates' training on
    )


def measure(arguments: argparse.Namespace, name: str, candidates: int, seed: int) -> Iterator[Row]:
    """Judge every suspect of one owner."""
    hyperparameters, _ = common.SETTINGS[name]
    trees, settings = hyperparameters.n_estimators, TreeSettings(max_depth=hyperparameters.max_depth)
    data = split(load(Source(name=name)), test_share=0.3, seed=seed, scaling="train")
    rng = np.random.default_rng([arguments.seed, seed])
    chosen = rng.permutation(len(data.y_train))[: arguments.rows]
    rows = canonical_rows(data.X_train[chosen], data.y_train[chosen])
    half, each = len(data.y_test) // 2, arguments.queries
    counts = Counts() if each is None else Counts(natural=each, mixups=each, boundary=each, leaning=each)
    seeds = rng.integers(2**31, size=trees).tolist()
    started = time.perf_counter()
    forest = trained_forest(rows, settings, seeds)
    trained = time.perf_counter() - started
    common.reset_peak()
    started = time.perf_counter()
    proof = LineupProof.of_seeds(
        seeds,
        rows,
        settings,
        (data.X_test[:half], data.y_test[:half]),
        Judge(f"{arguments.seed}/{seed}"),
        candidates=candidates,
        counts=counts,
    )
    seconds = time.perf_counter() - started
    own = slice(half, half + arguments.rows)
    thief = AttackerData(data.X_test[own], data.y_test[own], Caps(settings.max_depth, None))
    suspects: dict[str, VotingModel] = {
        suspect: modify(forest, steps, thief, rng) for suspect, steps in SUSPECTS.items()
    }
    innocents = chain(
        honest_forests(arguments.honest, rows, settings, trees, rng),
        other_owners(arguments.others, rows, settings, trees, rng),
    )
    suspects |= {f"{population} {number}": each for population, number, each in innocents}
    before = forest.accuracy(data.X_test[:half], data.y_test[:half])
    for suspect, changed in suspects.items():
        started = time.perf_counter()
        scores = (proof if suspect in SUSPECTS else _moved(proof, rng)).scores(changed)
        yield Row(
            dataset=name,
            rows=len(rows.y),
            trees=trees,
            candidates=candidates,
            seed=seed,
            suspect=suspect,
            accuracy_change=_accuracy(changed, data, half) - before,
            log10_p_votes=scores.votes,
            log10_p_shares=scores.shares,
            log10_p_labels=scores.labels,
            lineup_s=seconds,
            judge_s=time.perf_counter() - started,
            train_s=trained,
            peak_mb=common.peak_mb(os.getpid()),
        )


Innocent = tuple[str, int, Forest]
"""Population, number and forest."""


def honest_forests(
    count: int, rows: TrainingRows, settings: TreeSettings, trees: int, rng: np.random.Generator
) -> Iterator[Innocent]:
    """Yield honest forests of other seeds."""
    for number in range(count):
        yield "honest", number, trained_forest(rows, settings, rng.integers(2**31, size=trees).tolist())


def other_owners(
    count: int, rows: TrainingRows, settings: TreeSettings, trees: int, rng: np.random.Generator
) -> Iterator[Innocent]:
    """Yield forests of other owners of the same rows, of each scheme in turn."""
    caps, size = Caps(settings.max_depth, None), max(2, len(rows.y) // 50)
    names = [name for name, scheme in SCHEMES.items() if scheme.trees_vote]
    for number in range(count):
        name = names[number % len(names)]
        marks = SCHEMES[name].draw(size, trees, SCHEMES[name].ones_share, rng)
        chosen, seeds = draw_trigger_rows(rows.X, size, rng), rng.choice(2**31 - 1, size=2, replace=False)
        yield "other owner", number, watermarked_forest(rows.X, rows.y, marks, chosen, caps, seeds, name)


def _moved(proof: LineupProof, rng: np.random.Generator) -> LineupProof:
    """Return a line-up of the same candidates with other places."""
    positions, candidates, _ = proof.lineup.votes.shape
    places = rng.integers(candidates, size=(positions,))
    return replace(proof, lineup=Lineup(proof.lineup.votes, places))


def _accuracy(model: VotingModel, data: Split, half: int) -> float:
    return float((model.predict(data.X_test[:half]) == data.y_test[:half]).mean())


def summary(rows: Sequence[Row]) -> Iterator[tuple[str, str, int, int, float, float, float, float]]:
    """Yield for each suspect the medians over seeds; innocent forests are left out."""
    copies = [row for row in rows if row.suspect in SUSPECTS]
    groups: dict[tuple[str, str, int], list[Row]] = {}
    for row in copies:
        groups.setdefault((row.suspect, row.dataset, row.candidates), []).append(row)
    for (suspect, dataset, candidates), of in groups.items():
        figures = (
            [row.accuracy_change for row in of],
            [row.log10_p_votes for row in of],
            [row.log10_p_shares for row in of],
            [row.log10_p_labels for row in of],
        )
        change, votes, shares, labels = (statistics.median(each) for each in figures)
        yield suspect, dataset, candidates, len(of), change, votes, shares, labels


def options(arguments: Mapping[str, Any]) -> str:
    """Return the options of a run, for its document."""
    return "".join(
        f" --{name} {' '.join(map(str, value)) if isinstance(value, list) else value}"
        for name, value in arguments.items()
        if name != "seed" and value is not None and (name, value) not in _UNUSED
    )


def table(rows: Sequence[Row]) -> str:
    """Return the medians as a table."""
    return common.table(
        "suspect | data set | N | seeds | accuracy change | votes | shares | labels",
        list(summary(rows)),
        lambda line: (
            f"{line[0]} | {line[1]} | {line[2]} | {line[3]} | {line[4]:+.3f} | {line[5]:.1f} | {line[6]:.1f} "
            f"| {line[7]:.1f}"
        ),
    )


def costs(rows: Sequence[Row]) -> str:
    """Return what line-ups cost as a table: medians over seeds, and over suspects the longest judgement."""
    groups: dict[tuple[str, int, int, int], list[Row]] = {}
    for row in rows:
        if row.train_s is not None:
            groups.setdefault((row.dataset, row.rows, row.trees, row.candidates), []).append(row)
    return common.table(
        "data set | rows | trees | N | training s | candidates s | judgement s, longest | peak MiB",
        list(groups.items()),
        lambda group: (
            f"{' | '.join(map(str, group[0]))} | {statistics.median(row.train_s or 0.0 for row in group[1]):.3g} "
            f"| {statistics.median(row.lineup_s for row in group[1]):.3g} "
            f"| {max(row.judge_s for row in group[1]):.3g} | {max(row.peak_mb or 0.0 for row in group[1]):.0f}"
        ),
    )


def false_positives(rows: Sequence[Row], population: str) -> tuple[int, dict[str, int]]:
    """Return the number of innocent forests, and how many have p at most 0.05 by each kind of answers."""
    some = [row for row in rows if row.suspect.startswith(f"{population} ")]
    level = math.log10(0.05)
    return len(some), {
        "votes": sum(row.log10_p_votes <= level for row in some),
        "shares": sum(row.log10_p_shares <= level for row in some),
        "labels": sum(row.log10_p_labels <= level for row in some),
    }


def main() -> int:
    """Measure and print a table of medians and the false positives."""
    parser = common.parser(__doc__)
    parser.add_argument("--dataset", nargs="+", choices=list(common.SETTINGS), default=list(common.SETTINGS))
    parser.add_argument("--candidates", nargs="+", type=int, default=[20])
    parser.add_argument("--rows", type=int, default=3000, help="most rows of owner and thief")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--queries", type=int, help="of each kind; default: as wm verify")
    parser.add_argument("--honest", type=int, default=10, help="honest forests for each seed")
    parser.add_argument("--others", type=int, default=0, help="forests of other owners for each seed")
    arguments = parser.parse_args()
    rows: list[Row] = []
    for name in arguments.dataset:
        for candidates in arguments.candidates:
            for seed in range(arguments.seeds):
                rows += measure(arguments, name, candidates, seed)
                print(f"{name}, N = {candidates}, seed {seed}: {rows[-1].lineup_s:.0f} s", file=sys.stderr)
                common.save_results(arguments, rows)
    print(table(rows), costs(rows), sep="\n\n")
    for population in ("honest", "other owner"):
        count, found = false_positives(rows, population)
        print(f"{count} forests ({population}), p at most 0.05: {found}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
