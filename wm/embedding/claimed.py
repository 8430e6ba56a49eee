"""The owner's procedure of protocol 3: commit to a pool, have the draw made, train what it says."""

from __future__ import annotations

import hmac
import math
import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.claims.beacons.base import Receipt
from wm.claims.draw import SECRET_BYTES
from wm.claims.pooled import Header, MinMax, PooledClaim, new_claim
from wm.embedding.common import OnRound, single_rows
from wm.embedding.watermark import Plan, WatermarkedForest, watermark_rows
from wm.errors import EmbeddingError
from wm.verification.evidence import DEFAULT_LEVEL
from wm.verification.randomization import row_floor
from wm.verification.samples import drawn

MAX_POOL = 2000
"""Largest pool that is made unless more rows are asked for."""

_TESTS = 2
"""Tests that a suspect's votes allow; its labels allow fewer."""


def commit_pool(
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    *,
    trees: int,
    ones_share: float,
    trigger_size: int,
    owner: str,
    model_id: str,
    class_names: tuple[str, str],
    feature_names: Sequence[str],
    scheme: str = "paper",
    preparation: MinMax | None = None,
    pool_size: int | None = None,
    level: float = DEFAULT_LEVEL,
    seed: int | None = None,
    source: dict[str, Any] | None = None,
) -> PooledClaim:
    """Return a claim that commits to a pool drawn from training rows; the trigger rows are still open.

    Parameters
    ----------
    X : (n, d), y : (n,)
        The training rows as model input, and their labels, 0 or 1.
    trees, ones_share, trigger_size
        m, the share of trees that will err on trigger rows, and k.
    owner
        The owner's public key, hex.
    pool_size
        N; None: all rows that occur once, up to `MAX_POOL`.
    level
        p-value that a judge will ask for.
    seed
        None draws salt and secret from the system. A seed makes a rehearsal: whoever guesses it knows them.
    source
        How the rows were read; kept in the claim, no verdict reads it.

    Raises
    ------
    EmbeddingError
        A claim that could never be verified at this level; the text says what would do.
    """
    single = single_rows(X)
    size = min(len(single), MAX_POOL) if pool_size is None else pool_size
    if not trigger_size < size <= len(single):
        raise EmbeddingError(
            f"a pool of {size} rows with {trigger_size} trigger rows is impossible: {len(single)} training "
            "rows occur just once, and some must be controls"
        )
    ones = round(ones_share * trees)
    if not 0 < ones < trees:
        raise EmbeddingError(
            f"ones_share {ones_share} of {trees} trees leaves all bits equal: both are needed"
        )
    floor = row_floor(size, trigger_size) + math.log10(_TESTS)
    if floor > math.log10(level):
        raise EmbeddingError(
            f"this claim can never be verified: {trigger_size} trigger rows in a pool of {size} give p = "
            f"10^{floor:.1f} at best, the level is {level:g}; {_remedy(len(single), trigger_size, level)}"
        )
    salt, secret, choice = (_random(seed, name) for name in ("salt", "secret", "pool"))
    rng = np.random.default_rng(np.frombuffer(choice, dtype="<u4").tolist())
    rows = np.sort(rng.choice(single, size=size, replace=False))
    header = Header(
        scheme=scheme,
        trees=trees,
        ones=ones,
        trigger_size=trigger_size,
        pool_size=size,
        owner=owner,
        model_id=model_id,
        class_names=class_names,
        feature_names=tuple(feature_names),
        domain=tuple(zip(X.min(axis=0).tolist(), X.max(axis=0).tolist(), strict=True)),
        preparation=preparation,
    )
    return new_claim(header, X[rows], y[rows], salt=salt, secret=secret, source=source)


def embed_claim(
    claim: PooledClaim,
    receipts: Sequence[Receipt],
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    plan: Plan,
    *,
    on_round: OnRound | None = None,
) -> tuple[PooledClaim, WatermarkedForest]:
    """Train the forest that a claim's draw demands.

    Parameters
    ----------
    receipts
        What beacons gave for the claim's commitment.
    X : (n, d), y : (n,)
        The training rows; the claim's pool must be among them.
    plan
        Its signature and trigger rows are replaced by those drawn.

    Returns
    -------
    The claim with its receipts, to be kept secret, and the watermarked forest.

    Raises
    ------
    ClaimError
        Receipts of another claim.
    EmbeddingError
        Other training rows than the claim's, or a watermark that does not fit.
    """
    complete = claim.model_copy(update={"receipts": tuple(receipts)})
    found, _ = drawn(complete)
    places = _places(claim, X, y)
    chosen = replace(
        plan,
        scheme=claim.header.scheme,
        signature=found.signature,
        model_id=claim.header.model_id,
        trigger_rows=tuple(places[index] for index in found.triggers),
    )
    return complete, watermark_rows(X, y, claim.header.class_names, chosen, on_round=on_round)


def _places(claim: PooledClaim, X: NDArray[np.float32], y: NDArray[np.int64]) -> list[int]:
    """Return the index among the training rows of each pool row."""
    known = {row.tobytes(): index for index, row in enumerate(X)}
    places = [known.get(row.tobytes(), -1) for row in claim.X]
    if -1 in places or not np.array_equal(y[places], claim.y):
        raise EmbeddingError(
            "the claim's pool is not among these training rows: give the data and options that made the claim"
        )
    return places


def _remedy(available: int, trigger_size: int, level: float) -> str:
    """Return what would make a claim verifiable."""
    goal = math.log10(level / _TESTS)
    for size in range(trigger_size, available):
        if row_floor(available, size) <= goal:
            return f"{size} trigger rows in a pool of {available} would do"
    return f"{available} rows that occur just once are too few for any number of trigger rows"


def _random(seed: int | None, name: str) -> bytes:
    if seed is None:
        return secrets.token_bytes(SECRET_BYTES)
    return hmac.digest(str(seed).encode(), name.encode(), "sha256")
