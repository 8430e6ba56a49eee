"""Forests that carry no mark of a given owner, and false claims to them: what p-values are calibrated on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm import streams
from wm.embedding.training import Caps, honest_forest
from wm.errors import ModelError
from wm.forest import Forest
from wm.signature import Signature, random_signature
from wm.streams import Role


@dataclass(frozen=True, eq=False)
class Case:
    """A forest and a claim to it that is false.

    Attributes
    ----------
    forest
        Classes 0 and 1.
    signature
        m bits that the forest has never seen.
    X_trigger : (k, d), y_trigger : (k,)
        Trigger rows, drawn at random.
    X_decoy : (n, d), y_decoy : (n,)
        Other rows of the same kind.
    """

    forest: Forest
    signature: Signature
    X_trigger: NDArray[np.float32]
    y_trigger: NDArray[np.int64]
    X_decoy: NDArray[np.float32]
    y_decoy: NDArray[np.int64]


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
    """Yield honest forests of equal settings, numbers `first` and on, each from a stream of its own."""
    for number in range(first, first + count):
        yield honest_forest(
            X,
            y,
            n_trees=n_trees,
            caps=caps,
            seed=streams.integer_seed(seed, Role.HONEST_POPULATION, number),
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
    scheme: str = "paper",
    ones_share: float = 0.5,
    weight_step: float = 30.0,
) -> Iterator[Forest]:
    """Yield forests that others have watermarked, with signatures and trigger sets of their own.

    Numbers `first` and on, each from a stream of its own.

    Raises
    ------
    EmbeddingError
        A watermark that does not fit.
    """
    from wm.embedding import SCHEMES, EmbeddingTask
    from wm.embedding.common import draw_trigger_rows

    for number in range(first, first + count):
        rng = streams.generator(seed, Role.OTHER_OWNERS, number)
        seeds = rng.choice(2**31 - 1, size=2, replace=False)
        task = EmbeddingTask(
            X=X,
            y=y,
            signature=random_signature(n_trees, ones_share, rng),
            trigger_rows=draw_trigger_rows(X, trigger_size, rng),
            caps=caps,
            seed_right=int(seeds[0]),
            seed_wrong=int(seeds[1]),
            weight_step=weight_step,
        )
        yield SCHEMES[scheme](task, None).forest


def false_case(
    forest: Forest,
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    *,
    trigger_size: int,
    ones_share: float,
    rng: np.random.Generator,
) -> Case:
    """Return a claim that has nothing to do with a forest: trigger rows and signature drawn afresh.

    Parameters
    ----------
    X : (n, d), y : (n,)
        Rows among which the trigger rows are drawn; all others are decoys. `trigger_size` is below n.

    Raises
    ------
    ModelError
        Too many trigger rows.
    """
    if not 1 <= trigger_size < len(X):
        raise ModelError(f"{trigger_size} trigger rows and a decoy cannot be drawn from {len(X)} rows")
    order = rng.permutation(len(X))
    rows, rest = order[:trigger_size], order[trigger_size:]
    signature = random_signature(forest.n_trees, ones_share, rng)
    return Case(forest, signature, X[rows], y[rows], X[rest], y[rest])
