"""What a judge sees of a claim of version 3: rows with labels, and the draw, recomputed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.claims.beacons import check_receipts
from wm.claims.beacons.base import BeaconValue, Trust
from wm.claims.draw import Draw, draw
from wm.claims.opened import OpenedClaim, challenged_rows
from wm.claims.pooled import Header, PooledClaim
from wm.errors import ClaimError


@dataclass(frozen=True, eq=False)
class Sample:
    """The part of a claim that a judge can use.

    Attributes
    ----------
    header, commitment
        As in the claim.
    draw
        Recomputed from secret, commitment and receipts.
    beacons
        What each receipt is worth.
    indices : (n,)
        Numbers of the shown rows in the pool, ascending.
    X : (n, d), y : (n,)
        The shown rows, as model input, and their labels.
    is_trigger : (n,) bool
        Which of them are trigger rows.
    challenge
        The judge's text that drew the shown rows; None if all rows are shown.
    trusted
        Number of beacons that the judge trusts.
    """

    header: Header
    commitment: str
    draw: Draw
    beacons: tuple[BeaconValue, ...]
    indices: NDArray[np.int64]
    X: NDArray[np.float32]
    y: NDArray[np.int64]
    is_trigger: NDArray[np.bool_]
    challenge: str | None
    trusted: int

    @property
    def size(self) -> int:
        """Number of trigger rows shown."""
        return int(self.is_trigger.sum())


def drawn(
    claim: PooledClaim | OpenedClaim, *, trust: Trust | None = None, log: tuple[str, ...] = ()
) -> tuple[Draw, tuple[BeaconValue, ...]]:
    """Return a claim's draw, recomputed, and what each of its receipts is worth.

    Raises
    ------
    ClaimError
        No receipt yet, or one that is not of this claim.
    """
    header = claim.header
    value, beacons = check_receipts(
        claim.receipts, commitment=claim.commitment, owner=header.owner, trust=trust, log=log
    )
    found = draw(
        bytes.fromhex(claim.secret),
        bytes.fromhex(claim.commitment),
        value,
        pool_size=header.pool_size,
        trigger_size=header.trigger_size,
        trees=header.trees,
        ones=header.ones,
    )
    return found, beacons


def sample_of(
    claim: PooledClaim | OpenedClaim, *, trust: Trust | None = None, log: tuple[str, ...] = ()
) -> Sample:
    """Return what a checked claim, or a checked opening, shows a judge.

    Raises
    ------
    ClaimError
        As in `drawn`, or an opening of other rows than its challenge draws.
    """
    found, beacons = drawn(claim, trust=trust, log=log)
    if isinstance(claim, PooledClaim):
        indices, challenge = np.arange(claim.header.pool_size), None
    else:
        indices, challenge = np.array(claim.indices, dtype=np.int64), claim.challenge
        _check_choice(claim, found)
    is_trigger = np.isin(indices, found.triggers)
    return Sample(
        header=claim.header,
        commitment=claim.commitment,
        draw=found,
        beacons=beacons,
        indices=indices,
        X=claim.X,
        y=claim.y,
        is_trigger=is_trigger,
        challenge=challenge,
        trusted=0 if trust is None else trust.size,
    )


def _check_choice(opened: OpenedClaim, found: Draw) -> None:
    shown = len(set(opened.indices) & set(found.triggers))
    expected = challenged_rows(
        opened.commitment,
        opened.challenge,
        found.triggers,
        opened.header.pool_size,
        shown=shown,
        controls=len(opened.indices) - shown,
    )
    if opened.indices != expected:
        raise ClaimError("the opened rows are not those that the challenge draws: they were picked")
