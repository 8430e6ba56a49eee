"""Students of the stolen forest's votes or labels, and the wrapper that answers with the majority."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm.attacks.modification.common import AttackerData, some_trees
from wm.attacks.modification.rebuild import joined, student
from wm.embedding.growing import Grower, forest_of_grown
from wm.embedding.training import Caps, fitting, honest_forest
from wm.errors import ModelError
from wm.forest import Forest

MIXED_SHARE = 0.5
"""A synthetic row is (1 - l) a + l b of two of the thief's rows, l uniform below this."""


def distil_votes(forest: Forest, strength: float, data: AttackerData, rng: np.random.Generator) -> Forest:
    """Train one tree for each stolen tree on the votes of that tree, in the same order.

    Parameters
    ----------
    strength
        Number of queries to the stolen forest, as a multiple of the thief's rows: up to 1 a part of these,
        beyond that also mixtures of them. 0 trains nothing.
    """
    if strength == 0:
        return forest
    queries = _queries(data, strength, rng)
    votes = forest.vote_codes(queries)
    seeds = rng.integers(2**31 - 1, size=forest.n_trees).tolist()
    return _students(
        queries, votes, seeds, Caps(data.caps.max_depth, data.caps.max_leaf_nodes), forest.classes
    )


def _students(
    X: NDArray[np.float32],
    votes: NDArray[np.int64],
    seeds: Sequence[int],
    caps: Caps,
    classes: NDArray[Any],
) -> Forest:
    """Train a tree for each seed and column of votes, codes of classes: (n, m)."""
    fit, grower, divided = fitting(caps), None, np.flatnonzero((votes != votes[0]).any(axis=0))
    if len(classes) == 2 and len(divided):
        grower = Grower.like(fit, X, votes[:, divided[0]], seeds)
    numbers = range(len(seeds))
    if grower is None:
        fitted = (fit(X, classes[votes[:, number]], seeds[number], None) for number in numbers)
        return joined([student(Forest.from_sklearn(tree), classes) for tree in fitted])
    relabelled = (grower.relabelled(votes[:, number]) for number in numbers)
    grown = [each.grow(number, caps.max_depth) for number, each in enumerate(relabelled)]
    return forest_of_grown(grown, X.shape[1], classes)


def distil_labels(forest: Forest, strength: float, data: AttackerData, rng: np.random.Generator) -> Forest:
    """Train a forest on the stolen forest's majority; strength as in `distil_votes`.

    Raises
    ------
    ModelError
        All queries get one label.
    """
    if strength == 0:
        return forest
    queries = _queries(data, strength, rng)
    labels = forest.predict(queries)
    if len(np.unique(labels)) < 2:
        raise ModelError("distil-labels: the stolen forest gives all queries one label: use more rows")
    seed = int(rng.integers(2**31 - 1))
    trained = honest_forest(queries, labels, n_trees=forest.n_trees, caps=data.caps, seed=seed)
    return student(trained, forest.classes)


def _queries(data: AttackerData, strength: float, rng: np.random.Generator) -> NDArray[np.float32]:
    count = max(1, round(strength * len(data.X)))
    rows = data.X[rng.permutation(len(data.X))[:count]]
    missing = count - len(rows)
    if missing <= 0:
        return rows
    first, second = rng.integers(len(data.X), size=(2, missing))
    share = rng.uniform(0, MIXED_SHARE, size=(missing, 1)).astype(np.float32)
    mixed = (1 - share) * data.X[first] + share * data.X[second]
    return np.concatenate([rows, mixed.astype(np.float32)])


@dataclass(frozen=True, eq=False)
class Collapsed:
    """A forest of which some trees report the majority instead of their own vote."""

    forest: Forest
    """The stolen one."""
    trees: NDArray[np.int64]
    """(t,): those trees."""

    @property
    def n_trees(self) -> int:
        """Number of votes on each instance."""
        return self.forest.n_trees

    def votes(self, X: ArrayLike) -> NDArray[Any]:
        """Return the changed votes: (n, m)."""
        votes = self.forest.votes(X).copy()
        votes[:, self.trees] = self.forest.predict(X)[:, None]
        return votes

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the stolen forest's majority: (n,)."""
        return self.forest.predict(X)


def collapse(forest: Forest, strength: float, data: AttackerData, rng: np.random.Generator) -> Collapsed:
    """Let a share of the trees report the majority; predicted labels do not change."""
    return Collapsed(forest, some_trees(forest, strength, rng))


@dataclass(frozen=True, eq=False)
class Hedged:
    """A forest that answers one label from all trees, by a coin where its own are divided."""

    forest: Forest
    """The stolen one."""
    margin: float
    """Distance of the vote share from one half up to which a coin decides."""
    key: bytes
    """Secret of the coins: a row that is asked again is answered alike."""

    @property
    def n_trees(self) -> int:
        """Number of votes on each instance."""
        return self.forest.n_trees

    def votes(self, X: ArrayLike) -> NDArray[Any]:
        """Return the label as the vote of each tree: (n, m)."""
        return np.repeat(self.predict(X)[:, None], self.n_trees, axis=1)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the labels: (n,)."""
        rows = np.ascontiguousarray(X, dtype=np.float32)
        labels = self.forest.predict(rows).copy()
        top = self.forest.vote_shares(rows).max(axis=1)
        unsure = np.flatnonzero(top < 0.5 + self.margin)
        coins = [hmac.digest(self.key, rows[row].tobytes(), "sha256")[0] % 2 for row in unsure]
        labels[unsure] = self.forest.classes[np.array(coins, dtype=np.int64)]
        return labels


def hedge(forest: Forest, strength: float, data: AttackerData, rng: np.random.Generator) -> Hedged | Forest:
    """Answer with labels, by a coin where the vote share is within the strength of one half.

    Labels near the boundary are what a judge without votes goes by.
    """
    return Hedged(forest, strength, rng.bytes(32)) if strength else forest
