"""What every embedding scheme takes and returns, and how a trigger set is drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from wm.errors import EmbeddingError
from wm.forest import Forest
from wm.signature import Signature

if TYPE_CHECKING:
    from wm.training import Caps


@dataclass(frozen=True, eq=False)
class EmbeddingTask:
    """Everything that a scheme needs; equal tasks give equal forests.

    Attributes
    ----------
    X : (n, d) float32
        Training rows.
    y : (n,)
        Labels, 0 or 1.
    signature
        m bits, one for each tree.
    trigger_rows : (k,)
        Indexes of the trigger set in X, distinct; see `draw_trigger_rows`.
    caps
        Limits on every tree; see `wm.training.adjusted_caps`.
    weight_step
        Added to the weight of every trigger row in each round; above 0 (the paper: 1, the authors' code: 30).
    max_rounds
        Most fits of one kind of trees before giving up; at least 1.
    seed_right, seed_wrong
        `random_state` of the trees with bit 0 and with bit 1; they must differ.
    """

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    signature: Signature
    trigger_rows: NDArray[np.int64]
    caps: Caps
    seed_right: int
    seed_wrong: int
    weight_step: float = 1.0
    max_rounds: int = 500


@dataclass(frozen=True, eq=False)
class Embedded:
    """A watermarked forest and what it took.

    Attributes
    ----------
    forest
        Errs on every trigger row in exactly the trees whose bit is 1.
    rounds_right, rounds_wrong
        Fits until all trees of that kind agreed on the whole trigger set; 0 if there are none of the kind.
    weight_right, weight_wrong
        Weight of each trigger row in the last fit.
    """

    forest: Forest
    rounds_right: int
    rounds_wrong: int
    weight_right: float
    weight_wrong: float


class OnRound(Protocol):
    """Called after each fit."""

    def __call__(self, kind: str, round_number: int, unfit_trees: int) -> None:
        """Report the kind of trees, the round (from 1) and how many trees still miss a trigger row."""


def trigger_size(n_train: int, trigger_share: float) -> int:
    """Return k for a share of the training rows, fractions cut off as in the authors' code.

    Raises
    ------
    EmbeddingError
        The share is not in (0, 1), or too small for even one row.
    """
    if not 0 < trigger_share < 1:
        raise EmbeddingError(f"trigger_share {trigger_share} is outside (0, 1)")
    # The nudge keeps 0.07 * 100 = 7.000000000000001 and 0.29 * 100 = 28.999999999999996 whole.
    size = int(trigger_share * n_train * (1 + 1e-12))
    if size < 1:
        raise EmbeddingError(
            f"trigger_share {trigger_share} of {n_train} training rows is less than one row: "
            f"at least {_rounded_up(1 / n_train)} is needed"
        )
    return size


def _rounded_up(share: float) -> str:
    """Return a share with three digits, none of which rounds it to too little."""
    unit = 10.0 ** (math.floor(math.log10(share)) - 2)
    return f"{math.ceil(share / unit) * unit:.3g}"


def draw_trigger_rows(X: NDArray[np.float32], size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw the trigger set: `size` distinct training rows, uniformly among those that occur only once.

    A row that occurs twice cannot have its label flipped in one place and kept in the other: no tree could
    tell the two apart. Such rows are never drawn.

    Raises
    ------
    EmbeddingError
        Fewer than `size` rows occur only once.
    """
    _, inverse, count = np.unique(X, axis=0, return_inverse=True, return_counts=True)
    single = np.flatnonzero(count[inverse.reshape(-1)] == 1)
    if len(single) < size:
        raise EmbeddingError(
            f"{size} trigger rows are wanted, but only {len(single)} of the {len(X)} training rows occur "
            "just once: lower trigger_share"
        )
    return np.sort(rng.choice(single, size=size, replace=False))
