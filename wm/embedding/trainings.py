"""How trees are made to fit the trigger set: one line for each training."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from wm.embedding.common import EmbeddingTask, FittedTree, OnRound, TreeKind
from wm.embedding.options import Training
from wm.embedding.per_tree import train_each
from wm.embedding.together import train_together


class Train(Protocol):
    """Makes all trees of a forest fit."""

    def __call__(
        self, task: EmbeddingTask, labels: Mapping[TreeKind, NDArray[np.int64]], on_round: OnRound | None
    ) -> list[FittedTree]:
        """Return m trees in the signature's order, those of a kind fitted to that kind's labels, (n,)."""


TRAININGS: Mapping[Training, Train] = {
    "paper": partial(train_together, first_weight=1.0, usual_step=1.0),
    "artifact": partial(train_together, first_weight=2.0, usual_step=30.0),
    "per-tree": train_each,
}
"""`paper`: Algorithm 1's loop. `artifact`: the same with the weights of the authors' code, 2, 32, 62, ....
`per-tree`: each tree its own seed and weights, no more fits than it needs."""
