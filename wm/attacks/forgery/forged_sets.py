"""What a forged trigger set is worth: its size, how far it strays, which rule of the protocol stops it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.claims.claim import make_claim
from wm.errors import ModelError
from wm.forest import Forest
from wm.signature import Signature
from wm.verification.rules import Policy, Rule
from wm.verification.verdict import Verdict, judge


@dataclass(frozen=True, eq=False)
class ForgedSet:
    """What a false claimant would show.

    Attributes
    ----------
    kind
        How it was made.
    X : (n, d) float32
        Rows; n may be 0.
    labels : (n,)
        Their labels, 0 or 1: those of the natural rows that they were made from.
    signature
        m bits.
    centres : (n, d)
        The natural row that each was made from.
    """

    kind: str
    X: NDArray[np.float32]
    labels: NDArray[np.int64]
    signature: Signature
    centres: NDArray[np.float32]


@dataclass(frozen=True)
class ForgedSetScore:
    """What it is worth.

    Attributes
    ----------
    kind
        As in `ForgedSet`.
    size, size_over_k
        n, and n over the size of the true trigger set.
    distinct_cells
        Different tuples of leaves that the rows reach: clones count once.
    mean_distance, max_distance
        Largest change in any feature, over the rows.
    independent_accuracy
        Accuracy on the set of a forest that has nothing to do with the model; NaN for an empty set.
    ones_share
        Share of ones of the signature.
    verdict
        What the protocol says; None for an empty set, which is no claim.
    """

    kind: str
    size: int
    size_over_k: float
    distinct_cells: int
    mean_distance: float
    max_distance: float
    independent_accuracy: float
    ones_share: float
    verdict: Verdict | None

    @property
    def stopped_by(self) -> tuple[Rule, ...]:
        """The rules that stop it."""
        return () if self.verdict is None else self.verdict.stopped_by

    @property
    def stopped_but_for_commitment(self) -> tuple[Rule, ...]:
        """The rules that would stop it, had the claimant been the first to publish a commitment."""
        return tuple(rule for rule in self.stopped_by if rule is not Rule.COMMITMENT)


def score_forged_set(
    forged: ForgedSet,
    forest: Forest,
    *,
    trigger_size: int,
    independent: Forest,
    published: Collection[str] = frozenset(),
    policy: Policy | None = None,
) -> ForgedSetScore:
    """Score a forged set, and put it before the judge.

    Parameters
    ----------
    forest
        The model that is claimed, with classes 0 and 1.
    trigger_size
        k of the true trigger set.
    independent
        A forest that the claimant had no part in.
    published
        Commitments older than the model; a claimant who starts from the model has none among them.
    policy
        The judge's; None: the default.

    Raises
    ------
    ModelError
        A set that does not fit the forest.
    """
    size = len(forged.X)
    if len(forged.signature) != forest.n_trees or forged.labels.shape != (size,):
        raise ModelError("the forged set does not fit the forest: bits and trees, or rows and labels, differ")
    distances = np.abs(forged.X.astype(np.float64) - forged.centres).max(axis=1, initial=0.0)
    return ForgedSetScore(
        kind=forged.kind,
        size=size,
        size_over_k=size / trigger_size,
        distinct_cells=len(np.unique(forest.apply(forged.X), axis=0)) if size else 0,
        mean_distance=float(distances.mean()) if size else 0.0,
        max_distance=float(distances.max(initial=0.0)),
        independent_accuracy=independent.accuracy(forged.X, forged.labels) if size else float("nan"),
        ones_share=forged.signature.ones / len(forged.signature),
        verdict=_verdict(forged, forest, published, policy) if size else None,
    )


def _verdict(forged: ForgedSet, forest: Forest, published: Collection[str], policy: Policy | None) -> Verdict:
    # A claim with a row twice is refused before it is judged; the claimant leaves such rows out.
    _, first = np.unique(forged.X, axis=0, return_index=True)
    rows = np.sort(first)
    claim = make_claim(
        scheme="forged",
        signature=forged.signature,
        X=forged.X[rows],
        y=forged.labels[rows],
        model_hash=forest.content_hash,
        model_id="forged",
        class_names=("0", "1"),
    )
    return judge(claim, forest.votes(forged.X[rows]), policy=policy, published=published, suspect=forest)
