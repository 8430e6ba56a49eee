"""Evidence of schemes that is not errors on trigger rows: made with the watermark, kept, and asked again.

A campaign's embed job makes a `Proof` once; attacks read it and ask it about each changed forest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm.embedding.common import EmbeddingTask


class VotingModel(Protocol):
    """A model as a judge meets it: a `Forest`, or a wrapper that changes its votes."""

    @property
    def n_trees(self) -> int:
        """Number of votes on each instance."""

    def votes(self, X: ArrayLike) -> NDArray[Any]:
        """Return each tree's class: (n, d) -> (n, m)."""

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the majority: (n, d) -> (n,)."""


@dataclass(frozen=True)
class Scores:
    """Evidence on a suspect as log10 p, by what the judge has of it."""

    votes: float
    """Votes of all trees, after correction for the number of tests."""
    null: str
    """Name of that p-value's null hypothesis."""
    shares: float
    """Shares of votes alone."""
    labels: float
    """Labels alone."""


class Proof(Protocol):
    """What an owner shows a judge: secret."""

    def scores(self, suspect: VotingModel) -> Scores:
        """Return the evidence on a suspect."""


@dataclass(frozen=True)
class ProofKind:
    """How a scheme's proof is made and read."""

    make: Callable[
        [EmbeddingTask, tuple[NDArray[np.float32], NDArray[np.int64]], np.random.Generator, int], bytes
    ]
    """Takes the owner's task, rows that it was not trained on with their labels, (n, d) and (n,), the judge's
    random numbers, and the number of trees to compare each tree with."""
    read: Callable[[bytes], Proof]
    """Reads what `make` returned; raises `ClaimError` for other bytes."""
