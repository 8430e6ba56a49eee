"""Training `per-tree`: a watermarked forest at less than the cost of scikit-learn's plain one.

The paper's loop trains a whole forest again until every tree fits every trigger row, and gives all trees the
weight that the worst one needs. Here each tree has its own seed and weight; only a tree that fails is fitted
again, with its weight multiplied, and with another seed if it fits at no weight. Trees are fitted in waves of
1, 1, 2, 4, 8, ... of each kind; a wave starts at about the weight that sufficed for four fifths of the trees
before it. Because of the waves the result is the same for any number of threads. Weights are multiples of
`UNIT`, so that their sums are exact.

A tree that must be right fits with almost no weight and would have the shape of an honest one; a tree that
must be wrong needs a large weight, and counting leaves would distinguish the two. Trees that must be right
therefore start at a larger weight (`MIN_START`, ADR 0014).

Measured on breast-cancer, MNIST2-6 and ijcnn1: 1.2 fits a tree, each in a fraction of scikit-learn's time
(ADR 35).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from wm.embedding.common import EmbeddingTask, FittedTree, OnRound, TreeKind
from wm.embedding.growing import UNIT, Grower
from wm.embedding.training import fit_tree, trigger_grower
from wm.errors import EmbeddingError

GROWTH = 1.5
"""Factor from one weight to the next: a smaller one costs more fits, a larger one ends with more weight."""

FIRST_GROWTH = 4.0
"""The same for the first tree of a kind, which starts far below the weight it may need; bisection follows."""

START_QUANTILE = 0.8
"""Share of the earlier trees for which the start of the next wave would have been enough."""

MIN_START: dict[TreeKind, float] = {"right": 32.0, "wrong": 1.0}
"""Smallest weight at which a tree of a kind starts; 1 with `least_weight`."""

PRECISION = 1.05
"""Factor between the weight that `least_weight` finds and one that is known to be too small."""

SEEDS = 3
"""Seeds that a tree is fitted with at most. Under tight limits some seeds draw features with which a tree
fits at no weight, or at few, while most others do."""

REPORTED = 16
"""Trees after which a wave's progress is reported: the last waves of large forests take hours."""

MAX_WEIGHT = 2.0**20
"""A tree that fails with trigger rows a million times as heavy as other rows fails with heavier ones too."""


@dataclass(frozen=True)
class Start:
    """Where a tree's weights start; `blind`: no earlier tree of its kind says which weight is needed."""

    weight: float
    blind: bool


@dataclass(frozen=True, eq=False)
class TaskFits:
    """How the trees of a task are fitted: ranks of its rows, or scikit-learn where those do not serve."""

    task: EmbeddingTask
    grower: Grower | None

    @classmethod
    def of(cls, task: EmbeddingTask) -> TaskFits:
        """Return how a task's trees, each with a seed of its own, are fitted."""
        return cls(task, trigger_grower(task, task.tree_seeds))

    def fit(self, y: NDArray[np.int64], seed: int, weight: float) -> Any:
        """Return the `DecisionTreeClassifier` of a seed, fitted to labels, (n,)."""
        task, grower = self.task, self.grower and self.grower.weighted(weight)
        if grower is not None:
            return grower.relabelled(y).fitted(seed)
        return fit_tree(task.X, y, caps=task.caps, seed=seed, sample_weight=task.weights(weight))


@dataclass
class TreeFits:
    """The fits of one tree: the weights tried so far, and the tree with the smallest weight that fits."""

    each: TaskFits
    y: NDArray[np.int64]
    position: int
    seed: int
    found: Any = None
    fits: int = 0
    low: float | None = None
    """Weight of the last failure; there is none while every weight tried has fitted."""
    high: float = math.inf
    missed: float = math.inf
    """Fewest trigger rows that a fit missed."""
    largest: float = 0.0
    """Largest weight tried."""

    def fits_at(self, weight: float) -> bool:
        """Fit the tree with trigger rows of about a weight, and return whether it fits them all."""
        task, trigger = self.each.task, self.each.task.trigger_rows
        weight = max(1.0, round(weight / UNIT) * UNIT)
        tree = self.each.fit(self.y, self.seed, weight)
        self.fits += 1
        self.largest = max(self.largest, weight)
        missed = int((tree.predict(task.X[trigger], check_input=False) != self.y[trigger]).sum())
        self.missed = min(self.missed, missed)
        if missed:
            self.low = weight
        else:
            self.found, self.high = tree, weight
        return not missed

    def fitted(self) -> FittedTree:
        """Return the tree that fits; only if there is one."""
        return FittedTree(self.found, self.fits, self.high)

    def may_fit(self) -> bool:
        """Return whether another fit is allowed."""
        return self.fits < self.each.task.fit.max_rounds

    def raise_weight(self, start: float, growth: float) -> bool:
        """Multiply the weight by `growth` until the tree fits; return whether it did."""
        weight = start
        while not self.fits_at(weight):
            if not self.may_fit() or weight >= MAX_WEIGHT:
                return False
            weight *= growth
        return True

    def take_next_seed(self) -> None:
        """Draw another seed for the tree."""
        self.seed, self.low = int(np.random.RandomState(self.seed).randint(2**31 - 1)), None

    def lower_weight(self, growth: float) -> None:
        """Divide the weight by `growth` until the tree fails or weighs 1; call after `raise_weight`."""
        while self.low is None and self.high > 1 and self.may_fit():
            self.fits_at(max(1.0, self.high / growth))

    def bisect(self, precision: float) -> None:
        """Bisect between failing and fitting weights down to a factor; call after `raise_weight`."""
        while self.low is not None and self.high > self.low * precision and self.may_fit():
            self.fits_at(math.sqrt(self.low * self.high))


def fit_one(each: TaskFits, y: NDArray[np.int64], position: int, start: Start) -> TreeFits:
    """Fit a tree to the trigger rows' labels in y, (n,); their weight is raised until it fits, or fails."""
    tree = TreeFits(each, y, position, each.task.tree_seeds[position])
    seeds = 1
    while not tree.raise_weight(start.weight, FIRST_GROWTH if start.blind else GROWTH):
        if seeds == SEEDS or not tree.may_fit():
            return tree
        tree.take_next_seed()
        seeds += 1
    if start.blind:
        tree.bisect(GROWTH)
    if each.task.fit.least_weight:
        tree.lower_weight(GROWTH)
        tree.bisect(PRECISION)
    return tree


def train_each(
    task: EmbeddingTask, labels: Mapping[TreeKind, NDArray[np.int64]], on_round: OnRound | None
) -> list[FittedTree]:
    """Train each tree separately; see `wm.embedding.paper.Train`.

    Raises
    ------
    EmbeddingError
        A tree does not fit after the allowed number of fits, or with trigger rows of weight `MAX_WEIGHT`.
    """
    from joblib import Parallel, delayed

    each, fitted = TaskFits.of(task), dict[int, FittedTree]()
    reports = 0
    with Parallel(n_jobs=task.fit.n_jobs, require="sharedmem", return_as="generator") as parallel:
        for wave in _waves(task):
            starts = {kind: _start(task, kind, fitted) for kind in labels}
            fits = parallel(
                delayed(fit_one)(each, labels[kind], position, starts[kind]) for kind, position in wave
            )
            results: list[TreeFits] = []
            while part := list(itertools.islice(fits, REPORTED)):
                kinds = dict(wave[len(results) : len(results) + len(part)])
                results += part
                fitted.update((one.position, one.fitted()) for one in part if one.found is not None)
                reports += 1
                if on_round is not None:
                    for kind in kinds:
                        left = sum(position not in fitted for position in task.trees_of(kind))
                        on_round(kind, reports, left)
            raise_on_failure(task, wave, results)
    return [fitted[position] for position in range(task.signature.trees)]


Wave = list[tuple[TreeKind, int]]
"""Kind and position of each tree of a wave."""


def _waves(task: EmbeddingTask) -> Iterator[Wave]:
    """Yield the waves: one tree of each kind, then as many of each kind as there were in all waves before."""
    trees = {kind: [int(position) for position in task.trees_of(kind)] for kind in get_args(TreeKind)}
    done = 0
    while any(len(positions) > done for positions in trees.values()):
        until = max(1, 2 * done)
        yield [(kind, position) for kind, positions in trees.items() for position in positions[done:until]]
        done = until


def _start(task: EmbeddingTask, kind: TreeKind, fitted: Mapping[int, FittedTree]) -> Start:
    """Return the weight that the next trees of a kind start at."""
    lowest = 1.0 if task.fit.least_weight else MIN_START[kind]
    return start_after(
        [fitted[position].weight for position in task.trees_of(kind) if position in fitted], lowest=lowest
    )


def start_after(weights: Sequence[float], *, lowest: float) -> Start:
    """Return where the next trees start, given the weights of those before them."""
    if not weights:
        return Start(lowest, blind=True)
    # The smallest weight that fits is often less than the one found, by up to GROWTH. Undivided, the start
    # could only rise from wave to wave.
    return Start(max(lowest, float(np.quantile(weights, START_QUANTILE)) / math.sqrt(GROWTH)), blind=False)


def raise_on_failure(task: EmbeddingTask, wave: Wave, results: Sequence[TreeFits]) -> None:
    """Raise `EmbeddingError` if a tree of a wave does not fit; the text says how far the worst is from it."""
    failures = [(kind, one) for (kind, _), one in zip(wave, results, strict=True) if one.found is None]
    if failures:
        kind, worst = max(failures, key=lambda failure: failure[1].missed)
        more = "raise max_rounds" if worst.fits >= task.fit.max_rounds else "allow deeper trees (max_depth)"
        raise EmbeddingError(
            f"the watermark does not fit: {len(failures)} of {len(wave)} trees fail; one that must be {kind} "
            f"still misses {worst.missed} of the {len(task.trigger_rows)} trigger rows after "
            f"{worst.fits} fits (trigger weights up to {worst.largest:g}): {more}, or take fewer trigger rows"
        )
