"""Beacons: randomness that appears after a commitment and that nobody could know or choose before.

`BEACONS` is the registry of the kinds, a module each: `notary`, `rfc3161`, `drand`, and `unwitnessed` for
kind none. `base`: what they have in common. `bls` and `timestamp_token` read the signatures of drand and of
timestamp authorities. `request`: how an owner asks a notary; `notary_log`, `notary_service`: how it counts
and answers; `asking`: how to ask beacons over HTTP.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from wm.claims.beacons.base import Beacon, BeaconValue, Receipt, Trust
from wm.claims.beacons.drand import DrandBeacon
from wm.claims.beacons.notary import NotaryBeacon
from wm.claims.beacons.rfc3161 import TimestampBeacon
from wm.claims.beacons.unwitnessed import UnwitnessedBeacon
from wm.errors import ClaimError

BEACONS: dict[str, Beacon] = {
    "drand": DrandBeacon(),
    "none": UnwitnessedBeacon(),
    "notary": NotaryBeacon(),
    "rfc3161": TimestampBeacon(),
}
"""Kinds of beacons."""

MAX_RECEIPTS = 2
"""Beacons that can be combined: with more receipts the claimant could choose among too many sets of them."""


def check_receipts(
    receipts: Sequence[Receipt],
    *,
    commitment: str,
    owner: str,
    trust: Trust | None = None,
    log: tuple[str, ...] = (),
) -> tuple[bytes, tuple[BeaconValue, ...]]:
    """Check a claim's receipts.

    Returns
    -------
    R, the one receipt's value, or SHA-256 of all values in order; and each receipt's value.

    Raises
    ------
    ClaimError
        No receipt, one of an unknown kind, or one that `Beacon.check` refuses.
    """
    if not receipts:
        raise ClaimError(
            "the claim holds no beacon's receipt: its trigger rows are not drawn yet: "
            "a notary or another beacon witnesses the commitment, and wm embed writes the claim with its draw"
        )
    found = []
    for receipt in receipts:
        if receipt.kind not in BEACONS:
            known = ", ".join(sorted(BEACONS))
            raise ClaimError(f"a receipt of an unknown kind of beacon, {receipt.kind[:40]!r}; known: {known}")
        found.append(
            BEACONS[receipt.kind].check(
                receipt.content, commitment=commitment, owner=owner, trust=trust or Trust(), log=log
            )
        )
    values = [each.value for each in found]
    return (values[0] if len(values) == 1 else hashlib.sha256(b"".join(values)).digest()), tuple(found)


def claimed_value(
    receipts: Sequence[Receipt],
    *,
    commitment: str,
    owner: str,
    trust: Trust | None = None,
    log: tuple[str, ...] = (),
) -> tuple[bytes, tuple[BeaconValue, ...]]:
    """Return the same as `check_receipts` for the receipts that a claim holds.

    Raises
    ------
    ClaimError
        As in `check_receipts`, too many receipts, or another order than `receipts_in_order`.
    """
    if len(receipts) > MAX_RECEIPTS:
        raise ClaimError(f"the claim holds {len(receipts)} receipts, of which {MAX_RECEIPTS} can be combined")
    value, beacons = check_receipts(receipts, commitment=commitment, owner=owner, trust=trust, log=log)
    # One order, each once: else a claimant with two receipts could make any number of draws of them.
    values = [each.value for each in beacons]
    if values != sorted(set(values)):
        raise ClaimError("the claim's receipts are not in ascending order of their values, each once")
    return value, beacons


def receipts_in_order(receipts: Sequence[Receipt], *, commitment: str, owner: str) -> tuple[Receipt, ...]:
    """Return receipts in the order in which a claim may hold them, ascending by their values.

    Raises
    ------
    ClaimError
        No receipt, or one that is not of this claim.
    """
    _, beacons = check_receipts(receipts, commitment=commitment, owner=owner)
    order = sorted(range(len(receipts)), key=lambda place: beacons[place].value)
    return tuple(receipts[place] for place in order)
