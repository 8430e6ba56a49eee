"""Claims for the estimator, of version 3 or of a line-up, made and drawn before it is fitted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.claims.claim import Claim, make_claim
from wm.claims.lineup import LineupClaim
from wm.claims.pooled import PooledClaim
from wm.codebook import Marks
from wm.embedding.claimed import pool_places
from wm.errors import ClaimError, FitError
from wm.forest import Forest
from wm.verification.samples import drawn, sample_of


@dataclass(frozen=True)
class DrawnRows:
    """What a claim's draw says of training rows.

    Attributes
    ----------
    scheme, signature
        As in the claim, and as drawn.
    trigger_rows
        Indexes of the trigger rows among the training rows; None: not drawn by a claim.
    """

    scheme: str
    signature: Marks
    trigger_rows: tuple[int, ...] | None


GivenClaim = PooledClaim | LineupClaim
"""A claim that a beacon's value may draw from."""


def check_claim(claim: GivenClaim, class_names: tuple[str, ...], *, trees: int) -> None:
    """Raise `FitError` for another object than a claim, or one of other classes or number of trees."""
    if not isinstance(claim, GivenClaim):
        raise FitError("the claim is not one of version 3, or of a line-up")
    if claim.header.trees != trees:
        raise FitError(f"the claim is of {claim.header.trees} trees, n_estimators is {trees}")
    if claim.header.class_names != class_names:
        names, wanted = (" and ".join(map(repr, each)) for each in (claim.header.class_names, class_names))
        raise FitError(f"the claim is of classes {names}, the labels of {wanted}")


def drawn_rows(claim: PooledClaim, X: NDArray[np.float32], y: NDArray[np.int64]) -> DrawnRows:
    """Return which training rows a claim's draw makes trigger rows.

    Parameters
    ----------
    X : (n, d), y : (n,)
        The training rows, and their labels, 0, 1, ....

    Raises
    ------
    ClaimError
        A claim without a receipt, or with one of another claim.
    EmbeddingError
        Other rows than the claim's.
    """
    found, _ = drawn(claim)
    places = pool_places(claim, X, y)
    rows = tuple(places[index] for index in found.triggers)
    return DrawnRows(claim.header.scheme, found.signature, rows)


def by_trigger_rows(claim: Claim | GivenClaim, forest: Forest) -> Claim:
    """Return a claim that shows nothing but trigger rows and signature.

    Raises
    ------
    ClaimError
        A line-up, which has none.
    """
    if isinstance(claim, Claim):
        return claim
    if isinstance(claim, LineupClaim):
        raise ClaimError(
            "a line-up is judged with its training rows: wm.verify(claim_, forest_, rows=(X, y))"
        )
    sample = sample_of(claim)
    return make_claim(
        scheme=claim.header.scheme,
        signature=sample.draw.signature,
        X=sample.X[sample.is_trigger],
        y=sample.y[sample.is_trigger],
        model_hash=forest.content_hash,
        model_id=claim.header.model_id,
        class_names=claim.header.class_names,
    )
