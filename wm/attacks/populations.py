"""Forests without a given owner's watermark, and false claims to them, on which p-values are calibrated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm import streams
from wm.codebook import Codebook, Marks
from wm.embedding.common import draw_trigger_rows, draw_wrong_labels
from wm.embedding.options import TrainOptions
from wm.embedding.training import Caps, honest_forest
from wm.errors import ModelError
from wm.forest import Forest
from wm.signature import Signature, random_signature
from wm.streams import Role


@dataclass(frozen=True, eq=False)
class Case:
    """A forest and a false claim to it."""

    forest: Forest
    """Classes 0, 1, ...."""
    signature: Signature
    """m bits, drawn independently of the forest."""
    X_trigger: NDArray[np.float32]
    y_trigger: NDArray[np.int64]
    """(k, d) and (k,): trigger rows, drawn at random."""
    X_decoy: NDArray[np.float32]
    y_decoy: NDArray[np.int64]
    """(n, d) and (n,): other rows of the same kind."""

    @property
    def rows(self) -> tuple[tuple[NDArray[np.float32], NDArray[np.int64]], ...]:
        """Rows and labels, of the triggers and of the decoys."""
        return (self.X_trigger, self.y_trigger), (self.X_decoy, self.y_decoy)


def honest_forests(
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    *,
    n_trees: int,
    caps: Caps,
    count: int,
    seed: int,
    first: int = 0,
) -> Iterator[Forest]:
    """Yield honest forests of equal settings, numbered from `first`, each with its own random stream."""
    for number in range(first, first + count):
        yield honest_forest(
            X, y, n_trees=n_trees, caps=caps, seed=streams.integer_seed(seed, Role.HONEST_POPULATION, number)
        )


def other_owners_forests(
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    *,
    n_trees: int,
    caps: Caps,
    trigger_size: int,
    count: int,
    seed: int,
    first: int = 0,
    ones_share: float = 0.5,
) -> Iterator[Forest]:
    """Yield forests watermarked by other owners, numbered from `first`, each with its own random stream.

    Raises
    ------
    EmbeddingError
        A watermark that does not fit.
    """
    for number in range(first, first + count):
        rng = streams.generator(seed, Role.OTHER_OWNERS, number)
        seeds = rng.choice(2**31 - 1, size=2, replace=False)
        signature = random_signature(n_trees, ones_share, rng)
        yield watermarked_forest(X, y, signature, draw_trigger_rows(X, trigger_size, rng), caps, seeds)


def watermarked_forest(
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    signature: Marks,
    trigger_rows: NDArray[np.int64],
    caps: Caps,
    seeds: NDArray[np.int64],
    scheme: str = "paper",
) -> Forest:
    """Return a forest that somebody else than the owner watermarks; scheme paper in few rounds of its loop.

    Parameters
    ----------
    seeds : (2,)
        Of the trees with bit 0 and with bit 1, or of the draw of each tree's.
    """
    from wm.embedding import SCHEMES, EmbeddingTask

    is_codebook = isinstance(signature, Codebook)
    trees = np.random.default_rng(seeds.tolist()).choice(2**31 - 1, size=signature.trees, replace=False)
    task = EmbeddingTask(
        X=X,
        y=y,
        signature=signature,
        trigger_rows=trigger_rows,
        caps=caps,
        seed_right=int(seeds[0]),
        seed_wrong=int(seeds[1]),
        fit=TrainOptions() if is_codebook else TrainOptions(training="paper", weight_step=30.0),
        tree_seeds=tuple(trees.tolist()),
        wrong_labels=draw_wrong_labels(
            y[trigger_rows], int(y.max()) + 1, np.random.default_rng([*seeds.tolist(), 1])
        ),
    )
    return SCHEMES[scheme].embed(task, None).forest


def false_case(
    forest: Forest,
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    *,
    trigger_size: int,
    ones_share: float,
    rng: np.random.Generator,
) -> Case:
    """Return a claim whose trigger rows and signature are drawn independently of the forest.

    Parameters
    ----------
    X : (n, d), y : (n,)
        Rows among which the trigger rows are drawn; all others are decoys.

    Raises
    ------
    ModelError
        `trigger_size` is not in 1..n-1.
    """
    if not 1 <= trigger_size < len(X):
        raise ModelError(f"{trigger_size} trigger rows and a decoy cannot be drawn from {len(X)} rows")
    order = rng.permutation(len(X))
    rows, rest = order[:trigger_size], order[trigger_size:]
    signature = random_signature(forest.n_trees, ones_share, rng)
    return Case(forest, signature, X[rows], y[rows], X[rest], y[rest])
