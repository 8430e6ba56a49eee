"""The owner's procedure of protocol 3: commit to a pool, have the draw made, train what it says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from numpy.typing import NDArray
from pydantic import ValidationError

from wm import streams
from wm.claims.beacons.base import Receipt
from wm.claims.document import first_error
from wm.claims.draw import random_bytes
from wm.claims.pooled import Header, PooledClaim, new_claim
from wm.codebook import Marks
from wm.embedding import Embedded
from wm.embedding.common import OnRound, single_rows
from wm.embedding.divided import DIVIDED_POOL, divided_rows
from wm.embedding.drawn_claims import drawn_rows
from wm.embedding.options import PaperOptions, PoolRows, TrainOptions
from wm.embedding.training import Caps, adjusted_caps, honest_forest
from wm.embedding.tuning import Hyperparameters
from wm.embedding.watermark import Plan, watermark_rows
from wm.errors import EmbeddingError
from wm.forest import Forest
from wm.interface import Interface, Released
from wm.owner_rows import OwnerRows
from wm.streams import Role
from wm.verification.evidence import DEFAULT_LEVEL, Evidence
from wm.verification.randomization import marks_floor, row_floor
from wm.verification.samples import drawn, ordered_receipts
from wm.verification.schemes import tests_of
from wm.verification.witnesses import choices_of_beacons

MAX_POOL = 2000
"""Largest pool that is made unless more rows are asked for."""

_TESTS = 2
"""Tests that a suspect's votes allow; its labels allow fewer."""


def commit_pool(
    rows: OwnerRows,
    *,
    trees: int,
    ones_share: float,
    trigger_size: int,
    owner: str,
    model_id: str,
    scheme: str = "paper",
    pool_size: int | None = None,
    pool_rows: PoolRows = "any",
    level: float = DEFAULT_LEVEL,
    seed: int | None = None,
    source: dict[str, Any] | None = None,
) -> PooledClaim:
    """Return a claim that commits to a pool drawn from training rows; the trigger rows are still open.

    Parameters
    ----------
    rows
        The training rows.
    trees, ones_share, trigger_size
        m, the share of trees that will err on trigger rows, and k.
    owner
        The owner's public key, hex.
    pool_size
        N; None: all rows that occur once, up to `MAX_POOL`; of divided rows `DIVIDED_POOL` for each trigger
        row, or more if the level asks for it.
    pool_rows
        "any", or "divided": those on which about the share of honest trees errs, see `wm.embedding.divided`.
    level
        p-value that a judge will ask for.
    seed
        None draws salt and secret from the system. A seed makes a rehearsal: whoever guesses it knows them.
    source
        How the rows were read; kept in the claim, no verdict reads it.

    Raises
    ------
    EmbeddingError
        A claim that could never be verified at this level; the text says what would do. Or values that no
        claim can hold, such as numbers that are not finite.
    ClaimError
        Labels without a class name, or a scheme that no judge can read.
    """
    tests_of(scheme)
    X, y = rows.X, rows.y
    single = single_rows(X)
    default = _pool_size(len(single), trigger_size, pool_rows, level)
    size = default if pool_size is None else pool_size
    if pool_size is None and size <= trigger_size < len(single):
        raise EmbeddingError(
            f"{trigger_size} trigger rows need a larger pool than the {size} rows by default; a few dozen "
            "do, however many rows there are: give their number (trigger_rows), a smaller trigger_share, or "
            "a pool_size"
        )
    if not trigger_size < size <= len(single):
        raise EmbeddingError(
            f"a pool of {size} rows with {trigger_size} trigger rows is impossible: {len(single)} training "
            "rows occur just once, and some must be controls"
        )
    ones = round(ones_share * trees) if 0 < ones_share < 1 else 0
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
    salt, secret, choice = (random_bytes(seed, name) for name in ("salt", "secret", "pool"))
    rng = np.random.default_rng(np.frombuffer(choice, dtype="<u4").tolist())
    if pool_rows == "divided":
        caps = Caps(None, None)
        pool = divided_rows(X, y, single, size, ones_share, caps=caps, rng=rng)
    else:
        pool = np.sort(rng.choice(single, size=size, replace=False))
    try:
        header = Header(
            scheme=scheme,
            trees=trees,
            ones=ones,
            trigger_size=trigger_size,
            pool_size=size,
            owner=owner,
            model_id=model_id,
            class_names=rows.class_names,
            feature_names=rows.feature_names,
            domain=rows.domain,
            preparation=rows.claimed,
        )
    except ValidationError as reason:
        raise EmbeddingError(f"no claim can be made of this: {first_error(reason)}") from reason
    return new_claim(header, X[pool], y[pool], salt=salt, secret=secret, source=source)


@dataclass(frozen=True, eq=False, repr=False)
class OwnedForest(Released):
    """A watermarked forest and what its owner keeps.

    Attributes
    ----------
    forest
        To be released: scrubbed of everything that its votes do not need, see `wm.formats.scrubbing`.
    claim
        With the beacons' receipts: secret.
    embedded
        The forest as trained: secret.
    signature
        m bits, or a codebook, as drawn: secret.
    evidence
        Of the drawn rows and signature on the released forest.
    standard
        The honest forest of the same data, which sets the limits of the trees.
    interface
        The raw columns that the forest takes, and its classes' names: to be released with it. None: only the
        rows as model input were known.
    """

    forest: Forest
    claim: PooledClaim
    embedded: Embedded
    signature: Marks
    evidence: Evidence
    standard: Forest
    interface: Interface | None = None


def embed_claim(
    claim: PooledClaim,
    receipts: Sequence[Receipt],
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    *,
    hyperparameters: Hyperparameters,
    options: PaperOptions,
    seed: int,
    n_jobs: int = 1,
    on_round: OnRound | None = None,
) -> OwnedForest:
    """Train the forest that a claim's draw demands.

    Parameters
    ----------
    receipts
        What beacons gave for the claim's commitment.
    X : (n, d), y : (n,)
        The training rows; the claim's pool must be among them.
    hyperparameters
        Of the standard forest; its number of trees is the claim's.
    options
        How the trees are made to fit; shares of rows and trees are the claim's.
    seed
        Of the training.

    Raises
    ------
    ClaimError
        Receipts of another claim, or none.
    EmbeddingError
        Other training rows than the claim's, or a watermark that does not fit.
    """
    if hyperparameters.n_estimators != claim.header.trees:
        raise EmbeddingError(
            f"the claim is of {claim.header.trees} trees, the standard forest has "
            f"{hyperparameters.n_estimators}"
        )
    found = drawn_rows(claim, receipts, X, y)
    standard = honest_forest(
        X,
        y,
        n_trees=hyperparameters.n_estimators,
        caps=Caps(hyperparameters.max_depth, None),
        seed=streams.integer_seed(seed, Role.STANDARD_FOREST),
        n_jobs=n_jobs,
    )
    plan = Plan(
        scheme=claim.header.scheme,
        signature=found.signature,
        trigger_share=options.trigger_share,
        caps=adjusted_caps(standard, hyperparameters.max_depth, options.adjust),
        seed=seed,
        repeat=0,
        model_id=claim.header.model_id,
        fit=TrainOptions(**options.fit_options(), n_jobs=n_jobs),
        trigger_rows=found.trigger_rows,
    )
    made = watermark_rows(X, y, claim.header.class_names, plan, on_round=on_round)
    return OwnedForest(made.forest, found.claim, made.embedded, found.signature, made.evidence, standard)


def log10_room(header: Header, level: float = DEFAULT_LEVEL) -> float:
    """Return log10 of the largest multiplicity with which labels or class shares can still be significant.

    A judge multiplies p by what the beacon leaves to choose from, and by the number of suspects tried.
    """
    return math.log10(level / _TESTS) - row_floor(header.pool_size, header.trigger_size)


def weak_answers(claim: PooledClaim, receipts: Sequence[Receipt], level: float = DEFAULT_LEVEL) -> str:
    """Return what a suspect's answers cannot show any more after the receipts' corrections; "" if nothing.

    Known before anything is trained: another claim, with more trigger rows, can be made instead.

    Raises
    ------
    ClaimError
        Receipts of another claim, or none.
    """
    complete = claim.model_copy(update={"receipts": ordered_receipts(claim, receipts)})
    found, beacons = drawn(complete)
    parts = choices_of_beacons(beacons, len(beacons))
    charged = sum(math.log10(value) for value, _ in parts) + math.log10(_TESTS)
    goal, header = math.log10(level), claim.header
    rows = row_floor(header.pool_size, header.trigger_size) + charged
    if rows <= goal:
        return ""
    votes = marks_floor(found.signature) + charged
    kinds = (
        "labels and class shares" if votes <= goal else "no answers of a suspect, not even votes of trees,"
    )
    best = rows if votes <= goal else min(rows, votes)
    wanted = _remedy(header.pool_size, header.trigger_size, level, charged)
    return (
        f"{'; '.join(text for _, text in parts)}: {kinds} can give p below 10^{best:.1f} then, "
        f"the level is {level:g}; a new claim could: {wanted}"
    )


def _pool_size(available: int, trigger_size: int, pool_rows: PoolRows, level: float) -> int:
    """Return the size of a pool where the owner names none."""
    if pool_rows == "any":
        return min(available, MAX_POOL)
    sizes = range(min(available, DIVIDED_POOL * trigger_size), min(available, MAX_POOL))
    goal = math.log10(level / _TESTS)
    enough = (size for size in sizes if row_floor(size, trigger_size) <= goal)
    return next(enough, min(available, MAX_POOL))


def _remedy(available: int, trigger_size: int, level: float, charged: float = math.log10(_TESTS)) -> str:
    """Return what would make a claim verifiable; `charged` is what corrections add to log10 p."""
    goal = math.log10(level) - charged
    for size in range(trigger_size, available):
        if row_floor(available, size) <= goal:
            return f"{size} trigger rows in a pool of {available} would do"
    return f"{available} rows that occur just once are too few for any number of trigger rows"


def owner_key(seed: int | None) -> Ed25519PrivateKey:
    """Return an owner's key: fresh, or that of a rehearsal's seed."""
    return Ed25519PrivateKey.from_private_bytes(random_bytes(seed, "key"))


def own_receipt(seed: int | None) -> Receipt:
    """Return the receipt of beacon ``none``: fresh randomness, or that of a rehearsal's seed."""
    return Receipt(kind="none", content=random_bytes(seed, "receipt").hex())
