"""Input and output of every modification."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from wm.embedding.proof import VotingModel as VotingModel
from wm.embedding.training import Caps
from wm.errors import ModelError
from wm.forest import Forest
from wm.models import TreeModel


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

MarginChange = Callable[[TreeModel, float, AttackerData, np.random.Generator], TreeModel]
"""The same for a stolen model that adds margins."""

Change = TypeVar("Change", Modification, MarginChange)


@dataclass(frozen=True)
class Kind(Generic[Change]):
    """One kind of modification."""

    change: Change
    """Changes a model."""
    strengths: tuple[float, ...]
    """Default strengths of a curve."""
    is_share: bool = True
    """Whether a strength is a share, at most 1."""
    changes_votes: bool = False
    """Whether votes alone are changed, so that no other modification can follow."""

    def fault(self, strength: float) -> str:
        """Return what is needed instead of an impossible strength; "" for a possible one."""
        if 0 <= strength <= (1 if self.is_share else sys.float_info.max):
            return ""
        return "a share from 0 to 1" if self.is_share else "a finite number of at least 0"

    def check(self, name: str, strength: float) -> None:
        """Raise `ModelError` for an impossible strength."""
        if needed := self.fault(strength):
            raise ModelError(f"{name} has strength {strength}; {needed} is needed")


def some_trees(forest: Forest, share: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a random share of the trees, rounded: their indexes, ascending."""
    count = round(share * forest.n_trees)
    return np.sort(rng.choice(forest.n_trees, size=count, replace=False)).astype(np.int64)
