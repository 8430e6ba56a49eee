"""Claims of version 3 or of a line-up, drawn before a model is fitted: what they say of its training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.claims.beacons.base import Receipt
from wm.claims.claim import Claim, make_claim
from wm.claims.commitment import row_bytes
from wm.claims.lineup import LineupClaim
from wm.claims.pooled import PooledClaim
from wm.codebook import Marks
from wm.embedding.common import row_sums
from wm.errors import ClaimError, EmbeddingError, FitError
from wm.forest import Forest
from wm.verification.samples import drawn, ordered_receipts, sample_of

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


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """What a claim's draw says of training rows.

    Attributes
    ----------
    claim
        With the beacons' receipts.
    signature
        As drawn.
    trigger_rows
        Indexes of the trigger rows among the training rows.
    """

    claim: PooledClaim
    signature: Marks
    trigger_rows: tuple[int, ...]


def drawn_rows(
    claim: PooledClaim, receipts: Sequence[Receipt], X: NDArray[np.float32], y: NDArray[np.int64]
) -> DrawnRows:
    """Return which training rows a claim's draw makes trigger rows.

    Parameters
    ----------
    receipts
        What beacons gave for the claim's commitment.
    X : (n, d), y : (n,)
        The training rows, and their labels, 0, 1, ....

    Raises
    ------
    ClaimError
        Receipts of another claim, or none.
    EmbeddingError
        Other rows than the claim's.
    """
    complete = claim.model_copy(update={"receipts": ordered_receipts(claim, receipts)})
    found, _ = drawn(complete)
    places = pool_places(claim, X, y)
    return DrawnRows(complete, found.signature, tuple(places[index] for index in found.triggers))


def pool_places(claim: PooledClaim, X: NDArray[np.float32], y: NDArray[np.int64]) -> list[int]:
    """Return the index among the training rows of each pool row.

    Raises
    ------
    EmbeddingError
        Other training rows than the claim's.
    """
    pool = claim.X
    near = np.flatnonzero(np.isin(row_sums(X), row_sums(pool)))
    known = dict(zip(row_bytes(X[near]), near.tolist(), strict=True))
    places = [known.get(row, -1) for row in row_bytes(pool)]
    if -1 in places or not np.array_equal(y[places], claim.y):
        raise EmbeddingError(
            "the claim's pool is not among these training rows: give the data and options that made the claim"
        )
    return places


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
