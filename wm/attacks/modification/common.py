"""Input and output of every modification."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.embedding.proof import VotingModel as VotingModel
from wm.embedding.training import Caps
from wm.forest import Forest


@dataclass(frozen=True, eq=False)
class AttackerData:
    """The thief's data."""

    X: NDArray[np.float32]
    """(n, d): rows; the owner's trigger rows should not be among them."""
    y: NDArray[np.int64]
    """(n,): their labels, values of the forest's classes."""
    caps: Caps
    """Limits on trees that the thief trains."""


Modification = Callable[[Forest, float, AttackerData, np.random.Generator], VotingModel]
"""Takes a stolen forest, which stays as it is, the strength, the thief's data and random numbers; returns the
changed forest. Strength 0 changes nothing, a larger one changes more."""


def some_trees(forest: Forest, share: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a random share of the trees, rounded: their indexes, ascending."""
    count = round(share * forest.n_trees)
    return np.sort(rng.choice(forest.n_trees, size=count, replace=False)).astype(np.int64)
