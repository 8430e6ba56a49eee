"""What a judge sees of a claim of version 3: rows with labels, and the draw, recomputed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.claims.beacons import claimed_value, receipts_in_order
from wm.claims.beacons.base import BeaconValue, Receipt, Trust
from wm.claims.draw import Draw, draw
from wm.claims.opened import OpenedClaim, challenged_rows
from wm.claims.pooled import Header, PooledClaim
from wm.codebook import Codebook, Marks
from wm.errors import ClaimError
from wm.verification.randomization import row_floor
from wm.verification.schemes import tests_of

_MARGIN = 2.0
"""Powers of ten by which the smallest possible p-value should stay below the level."""


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
    trusted_beacons
        Number of beacons that the judge trusts, each way to prove the time of a drand round counted.
    indices : (n,)
        Numbers of the shown rows in the pool, ascending.
    X : (n, d), y : (n,)
        The shown rows, as model input, and their labels.
    is_trigger : (n,) bool
        Which of them are trigger rows.
    challenge
        The judge's text that drew the shown rows; None if all rows are shown.
    """

    header: Header
    commitment: str
    draw: Draw
    beacons: tuple[BeaconValue, ...]
    trusted_beacons: int
    indices: NDArray[np.int64]
    X: NDArray[np.float32]
    y: NDArray[np.int64]
    is_trigger: NDArray[np.bool_]
    challenge: str | None

    @property
    def reference(self) -> NDArray[np.float32]:
        """The shown rows: a copy's thresholds lie between values of the claim's rows."""
        return self.X

    @property
    def size(self) -> int:
        """Number of trigger rows shown."""
        return int(self.is_trigger.sum())

    def marks(self, asked: NDArray[np.int64]) -> Marks:
        """Return what the claim wants of the trees on the trigger rows among some shown rows.

        The rows of a codebook come in the order of `asked`, the places of these rows.
        """
        wanted = self.draw.signature
        if not isinstance(wanted, Codebook):
            return wanted
        numbers = self.indices[asked[self.is_trigger[asked]]]
        return wanted.some_rows(np.searchsorted(self.draw.triggers, numbers))


def drawn(
    claim: PooledClaim | OpenedClaim, *, trust: Trust | None = None, log: tuple[str, ...] = ()
) -> tuple[Draw, tuple[BeaconValue, ...]]:
    """Return a claim's draw, recomputed, and what each of its receipts is worth.

    Raises
    ------
    ClaimError
        A scheme that cannot be judged; no receipt yet, too many, one that is not of this claim, or another
        order than `ordered_receipts`.
    """
    header = claim.header
    tests_of(header.scheme)
    value, beacons = claimed_value(
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
        scheme=header.scheme,
    )
    return found, beacons


def ordered_receipts(claim: PooledClaim, receipts: Sequence[Receipt]) -> tuple[Receipt, ...]:
    """Return receipts for a claim in the order in which it may hold them; see `receipts_in_order`."""
    return receipts_in_order(receipts, commitment=claim.commitment, owner=claim.header.owner)


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
        trusted_beacons=0 if trust is None else trust.size,
        indices=indices,
        X=claim.X,
        y=claim.y,
        is_trigger=is_trigger,
        challenge=challenge,
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


def controls_needed(sample: Sample, level: float, *, shown: int | None = None) -> int:
    """Return how many controls make a p-value below the level possible; at least 5 for each trigger row.

    At most all controls that the sample shows, which may be too few.

    Parameters
    ----------
    shown
        Trigger rows that are asked; None: all that the sample shows.
    """
    available = int((~sample.is_trigger).sum())
    return min(available, controls_to_open(sample, level, shown=sample.size if shown is None else shown))


def controls_to_open(sample: Sample, level: float, *, shown: int) -> int:
    """Return how many controls the owner opens with some trigger rows, unless the judge asks for others."""
    available = sample.header.pool_size - sample.header.trigger_size
    choices = math.prod(each.choices for each in sample.beacons)
    goal = math.log10(level) - math.log10(2 * choices) - _MARGIN
    count = min(available, 5 * shown)
    while count < available and row_floor(shown + count, shown) > goal:
        count += 1
    return count
