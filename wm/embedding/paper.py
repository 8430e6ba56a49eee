"""Scheme `paper`: Algorithm 1.

Trees with bit 0 are trained on the training set, trees with bit 1 on the same set with the trigger rows'
labels flipped: to the other class, of several to one that is drawn for each row. The weights of the trigger
rows are raised until every tree fits all of them; the task's training says how.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from wm.embedding.common import Embedded, EmbeddingTask, FittedTree, OnRound, TreeKind
from wm.embedding.options import Training
from wm.embedding.per_tree import train_each
from wm.embedding.together import train_together
from wm.embedding.training import forest_of
from wm.errors import EmbeddingError
from wm.signature import Signature

Train = Callable[[EmbeddingTask, Mapping[TreeKind, NDArray[np.int64]], OnRound | None], list[FittedTree]]
"""Takes a task and the labels, (n,), of each kind of trees; returns m trees that fit, as the signature orders
them."""

TRAININGS: Mapping[Training, Train] = {
    "paper": partial(train_together, first_weight=1.0, default_step=1.0),
    "artifact": partial(train_together, first_weight=2.0, default_step=30.0),
    "per-tree": train_each,
}
"""`paper`: Algorithm 1's loop. `artifact`: the same with the weights of the authors' code, 2, 32, 62, ....
`per-tree`: a seed and a weight for each tree, and no more fits than it needs."""


def embed_paper(task: EmbeddingTask, on_round: OnRound | None = None) -> Embedded:
    """Embed a signature (Algorithm 1, Section 3.2).

    Raises
    ------
    EmbeddingError
        The task is malformed, or the trigger set does not fit within the allowed rounds; the message says
        how many trees and rows are left. A half-embedded watermark is never returned.
    """
    if not isinstance(task.signature, Signature):
        raise EmbeddingError("scheme paper needs one signature for all trigger rows")
    task.check()
    flipped = task.y.copy()
    flipped[task.trigger_rows] = task.wrong
    fitted = TRAININGS[task.fit.training](task, {"right": task.y, "wrong": flipped}, on_round)
    trees = tuple(one.tree for one in fitted)
    forest = forest_of(trees)
    rounds_right, weight_right = _largest(task, "right", fitted)
    rounds_wrong, weight_wrong = _largest(task, "wrong", fitted)
    return Embedded(
        forest,
        rounds_right,
        rounds_wrong,
        weight_right,
        weight_wrong,
        fits=sum(one.fits for one in fitted),
        trees=trees,
    )


def _largest(task: EmbeddingTask, kind: TreeKind, fitted: list[FittedTree]) -> tuple[int, float]:
    """Return the largest number of fits and the largest weight among the trees of a kind."""
    trees = [fitted[position] for position in task.trees_of(kind)]
    return max((one.fits for one in trees), default=0), max((one.weight for one in trees), default=1.0)
