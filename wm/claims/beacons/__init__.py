"""Beacons: randomness that appears after a commitment and that nobody could know or choose before.

Each module holds one kind; `BEACONS` is the registry.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from wm.claims.beacons.base import Beacon, BeaconValue, Receipt, Trust
from wm.claims.beacons.notary import NotaryBeacon
from wm.claims.beacons.rfc3161 import TimestampBeacon
from wm.claims.beacons.unwitnessed import UnwitnessedBeacon
from wm.errors import ClaimError

BEACONS: dict[str, Beacon] = {
    "none": UnwitnessedBeacon(),
    "notary": NotaryBeacon(),
    "rfc3161": TimestampBeacon(),
}
"""Kinds of beacons."""


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
        raise ClaimError("the claim holds no beacon's receipt: its trigger rows are not drawn yet")
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
