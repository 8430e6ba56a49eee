"""Score forged trigger sets: size, distance from natural rows, and the protocol's rules that refuse them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.attacks.base import AttackRow
from wm.claims.claim import make_claim
from wm.errors import ModelError
from wm.forest import Forest
from wm.signature import Signature
from wm.verification.evidence import Evidence
from wm.verification.rules import Rule
from wm.verification.verdict import Verdict, judge


@dataclass(frozen=True, eq=False)
class ForgedSet:
    """The trigger set of a false claim."""

    method: str
    """How it was made."""
    X: NDArray[np.float32]
    """(n, d): rows; n may be 0."""
    labels: NDArray[np.int64]
    """(n,): their labels, 0 or 1: those of the natural rows that they were made from."""
    signature: Signature
    """m bits."""
    centres: NDArray[np.float32]
    """(n, d): the natural row that each was made from."""


class ForgedSetScore(AttackRow):
    """Score of one forged trigger set."""

    method: str
    """How it was made."""
    size: int
    """Rows in the set."""
    size_over_k: float
    """Its size over that of the true trigger set."""
    distinct_cells: int
    """Different tuples of leaves that the rows reach: clones count once."""
    mean_distance: float
    """Mean of the largest change in any feature, over the rows."""
    max_distance: float
    """Largest change in any feature, over the rows."""
    independent_accuracy: float | None
    """Accuracy on the set of a forest that has nothing to do with the model; none for an empty set."""
    forged_ones_share: float
    """Share of ones of the claimed signature."""
    log10_p: float | None
    """Evidence of the claim as log10 p; none for an empty set."""
    stopped_by: str
    """Rules of the verification protocol that refuse it, joined by ", "."""
    stopped_but_for_commitment: str
    """Those that still would, had its commitment been published in time."""


def score_forged_set(
    forged: ForgedSet, forest: Forest, *, trigger_size: int, independent: Forest
) -> ForgedSetScore:
    """Score a forged set and judge the claim with it; an empty set is no claim, which no rule refuses.

    The claimant starts from the model, and so has published no commitment before it.

    Parameters
    ----------
    forest
        The model that is claimed, with classes 0 and 1.
    trigger_size
        k of the true trigger set.
    independent
        A forest that the claimant had no part in.

    Raises
    ------
    ModelError
        A set that does not fit the forest.
    """
    size = len(forged.X)
    if len(forged.signature) != forest.n_trees or forged.labels.shape != (size,):
        raise ModelError("the forged set does not fit the forest: bits and trees, or rows and labels, differ")
    distances = np.abs(forged.X.astype(np.float64) - forged.centres).max(axis=1, initial=0.0)
    verdict = _verdict(forged, forest) if size else None
    evidence = None if verdict is None else verdict.evidence
    rules = () if verdict is None else verdict.stopped_by
    return ForgedSetScore(
        method=forged.method,
        size=size,
        size_over_k=size / trigger_size,
        distinct_cells=len(np.unique(forest.apply(forged.X), axis=0)) if size else 0,
        mean_distance=float(distances.mean()) if size else 0.0,
        max_distance=float(distances.max(initial=0.0)),
        independent_accuracy=independent.accuracy(forged.X, forged.labels) if size else None,
        forged_ones_share=forged.signature.ones / len(forged.signature),
        log10_p=evidence.log10_p if isinstance(evidence, Evidence) else None,
        stopped_by=", ".join(rules),
        stopped_but_for_commitment=", ".join(rule for rule in rules if rule is not Rule.COMMITMENT),
    )


def _verdict(forged: ForgedSet, forest: Forest) -> Verdict:
    # A claim that holds a row twice is refused before it is judged, so the claimant leaves out the second
    # one.
    _, first = np.unique(forged.X, axis=0, return_index=True)
    rows = np.sort(first)
    claim = make_claim(
        scheme="forged",
        signature=forged.signature,
        X=forged.X[rows],
        y=forged.labels[rows],
        model_hash=forest.content_hash,
        model_id="forged",
        class_names=tuple(map(str, forest.classes.tolist())),
    )
    return judge(claim, forest.votes(forged.X[rows]), published=(), suspect=forest)
