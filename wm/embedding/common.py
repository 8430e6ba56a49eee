"""Input and output of every embedding scheme, and how a trigger set is drawn."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from wm.claims.commitment import row_bytes
from wm.codebook import Marks
from wm.embedding.options import TrainOptions
from wm.errors import EmbeddingError
from wm.forest import Forest

if TYPE_CHECKING:
    from wm.embedding.training import Caps


TreeKind = Literal["right", "wrong"]
"""Trees with bit 0, right on the trigger set, and trees with bit 1, wrong on it."""


@dataclass(frozen=True, eq=False)
class EmbeddingTask:
    """Input of a scheme; equal tasks give equal forests."""

    X: NDArray[np.float32]
    """(n, d): training rows."""
    y: NDArray[np.int64]
    """(n,): labels 0, 1, ..., each of which occurs."""
    signature: Marks
    """m bits, one for each tree; in scheme codebook a row of them for each trigger row."""
    trigger_rows: NDArray[np.int64]
    """(k,): indexes of the trigger set in X, distinct; see `draw_trigger_rows`."""
    caps: Caps
    """Limits on every tree; see `wm.embedding.training.adjusted_caps`."""
    seed_right: int
    seed_wrong: int
    """`random_state` of the trees with bit 0 and with bit 1; they must differ. For trainings "paper" and
    "artifact"."""
    fit: TrainOptions
    """How the trees are made to fit."""
    tree_seeds: tuple[int, ...] = ()
    """m different `random_state`, one for each tree, at first; for training "per-tree"."""
    sample_weight: NDArray[np.float64] | None = None
    """(n,) or None: weights of the training rows, above 0; those of the trigger rows are multiplied. None:
    all 1."""
    wrong_labels: NDArray[np.int64] | None = None
    """(k,) or None: for each trigger row the class for which trees with bit 1 vote, not its own; see
    `draw_wrong_labels`. None: the other one of two classes."""

    @cached_property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.y.max(initial=0)) + 1

    @cached_property
    def wrong(self) -> NDArray[np.int64]:
        """For each trigger row the class for which trees with bit 1 vote: (k,)."""
        return 1 - self.y[self.trigger_rows] if self.wrong_labels is None else self.wrong_labels

    def weights(self, trigger_weight: float) -> NDArray[np.float64]:
        """Return the training rows' weights when every trigger row weighs `trigger_weight` times its own."""
        weight = np.ones(len(self.y)) if self.sample_weight is None else self.sample_weight.copy()
        weight[self.trigger_rows] *= trigger_weight
        return weight

    def check(self) -> None:
        """Raise `EmbeddingError` for a malformed task."""
        if not np.array_equal(np.unique(self.y), np.arange(max(2, self.n_classes))):
            raise EmbeddingError("labels must be 0, 1, ..., at least two classes, each of them present")
        rows = self.trigger_rows
        if not len(rows) or len(np.unique(rows)) != len(rows) or rows.min() < 0 or rows.max() >= len(self.y):
            raise EmbeddingError("trigger rows must be distinct indexes into the training rows, at least one")
        if self.wrong_labels is None and self.n_classes > 2:
            raise EmbeddingError("of three classes or more each trigger row needs a wrong label")
        possible = np.isin(self.wrong, np.arange(self.n_classes)) & (self.wrong != self.y[rows])
        if self.wrong.shape != rows.shape or not possible.all():
            raise EmbeddingError("a wrong label must be one of the other classes, one for each trigger row")
        if any(
            np.bincount(self.labels_of(tree), minlength=self.n_classes).min() == 0
            for tree in range(self.signature.trees)
        ):
            raise EmbeddingError(
                "flipping the trigger rows leaves a class without rows: draw another trigger set"
            )
        weight = self.sample_weight
        if weight is not None and (weight.shape != self.y.shape or not (weight > 0).all()):
            raise EmbeddingError("sample_weight must hold a number above 0 for each training row")
        trees, seeds = self.signature.trees, len(set(self.tree_seeds))
        if self.fit.training == "per-tree":
            if seeds != trees or len(self.tree_seeds) != trees:
                raise EmbeddingError(
                    f"training per-tree needs a seed of its own for each of the {trees} trees; {seeds} "
                    "different ones are given: trees that share one could be paired"
                )
        elif self.seed_right == self.seed_wrong:
            raise EmbeddingError(
                "both kinds of trees have the same seed, which would give the signature away"
            )

    def labels_of(self, tree: int) -> NDArray[np.int64]:
        """Return the labels that a tree is trained on, flipped where its bits say so: (n,)."""
        labels, errs = self.y.copy(), self.signature.wanted(len(self.trigger_rows))[:, tree]
        labels[self.trigger_rows[errs]] = self.wrong[errs]
        return labels

    def trees_of(self, kind: TreeKind) -> NDArray[np.int64]:
        """Return the positions of the trees of a kind, ascending."""
        return np.flatnonzero(self.signature.array == (kind == "wrong"))


@dataclass(frozen=True)
class FittedTree:
    """A tree that fits: its votes on the trigger set are those that its bit demands."""

    tree: Any
    """A fitted `DecisionTreeClassifier` (scikit-learn has no types)."""
    fits: int
    """Number of times it was fitted."""
    weight: float
    """Of each trigger row in the last fit."""


@dataclass(frozen=True, eq=False)
class Embedded:
    """A watermarked forest and the cost of its training."""

    forest: Forest
    """Errs on every trigger row in exactly the trees whose bit is 1."""
    rounds_right: int
    rounds_wrong: int
    """Largest number of fits of a tree of that kind; 0 if the forest has none of that kind."""
    weight_right: float
    weight_wrong: float
    """Largest weight of a trigger row in the last fits."""
    fits: int
    """Fits of single trees in all; an honest forest takes m."""
    trees: tuple[Any, ...]
    """The fitted `DecisionTreeClassifier`, in order, with all that scikit-learn records of their training:
    secret."""


OnRound = Callable[[TreeKind, int, int], None]
"""Called after each round, or after some trees, with the kind of trees, the number of the round or report
(from 1) and how many of them do not fit yet."""


def trigger_size(n_train: int, trigger_share: float) -> int:
    """Return k for a share of the training rows, fractions cut off as in the authors' code.

    Raises
    ------
    EmbeddingError
        The share is not in (0, 1), or too small for even one row.
    """
    if not 0 < trigger_share < 1:
        raise EmbeddingError(f"trigger_share {trigger_share} is outside (0, 1)")
    # The factor makes both 0.07 * 100 = 7.000000000000001 and 0.29 * 100 = 28.999999999999996 whole.
    size = int(trigger_share * n_train * (1 + 1e-12))
    if size < 1:
        raise EmbeddingError(
            f"trigger_share {trigger_share} of {n_train} training rows is less than one row: "
            f"at least {_rounded_up(1 / n_train)} is needed"
        )
    return size


def _rounded_up(share: float) -> str:
    """Return a share with three digits, rounded up."""
    unit = 10.0 ** (math.floor(math.log10(share)) - 2)
    return f"{math.ceil(share / unit) * unit:.3g}"


def draw_trigger_rows(X: NDArray[np.float32], size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw the trigger set: `size` distinct training rows, uniformly among those that occur only once.

    A row that occurs twice is never drawn: no tree could vote for the flipped label on one copy and for the
    true label on the other.

    Raises
    ------
    EmbeddingError
        Fewer than `size` rows occur only once.
    """
    return np.sort(rng.choice(rows_to_draw(X, size), size=size, replace=False))


def rows_to_draw(X: NDArray[np.float32], size: int) -> NDArray[np.int64]:
    """Return the rows of which `size` trigger rows can be drawn; errors as in `draw_trigger_rows`."""
    single = single_rows(X)
    if len(single) < size:
        raise EmbeddingError(
            f"{size} trigger rows are wanted, but only {len(single)} of the {len(X)} training rows occur "
            "just once: lower trigger_share"
        )
    return single


def draw_wrong_labels(y: NDArray[np.int64], n_classes: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw for each trigger row one of the other classes, uniformly: (k,) -> (k,).

    All trees with bit 1 vote for the same one. No verdict reads which it is: a vote is right or wrong.
    """
    return (y + rng.integers(1, n_classes, size=len(y))) % n_classes


def single_rows(X: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the indexes, ascending, of the rows that occur only once: (n, d) -> (s,)."""
    sums = row_sums(X)
    _, place, count = np.unique(sums, return_inverse=True, return_counts=True)
    alone = count[place] == 1
    # Equal sums mostly mean equal rows; their bytes tell. Those of all rows would take more memory than X.
    shared = np.flatnonzero(~alone)
    keys = row_bytes(X[shared])
    counts = Counter(keys)
    alone[shared] = [counts[key] == 1 for key in keys]
    return np.flatnonzero(alone)


def row_sums(X: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Return a number for each row, (n, d) -> (n,): equal for equal rows, hardly ever for others."""
    rng = np.random.default_rng(0)
    factors = [int(rng.integers(2**63)) for _ in range(X.shape[1])]
    sums = np.zeros(len(X), dtype=np.uint64)
    for column, factor in zip(
        X.T, factors, strict=True
    ):  # a column at a time: nothing of the size of X is made
        bits = (
            (column.astype(np.float32) + np.float32(0)).view(np.uint32).astype(np.uint64)
        )  # -0.0 equals 0.0
        bits *= np.uint64(factor | 1)
        sums += bits ^ (bits >> np.uint64(29))
    return sums
