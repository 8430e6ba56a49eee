"""Beacons: randomness that appears after a commitment and that nobody could know or choose before.

`BEACONS` is the registry of the kinds, a module each: `notary`, `rfc3161`, `drand`, and `unwitnessed` for
kind none. `base`: what they have in common. `bls` and `timestamp_token` read the signatures of drand and of
timestamp authorities. `request`: how an owner asks a notary; `notary_log`, `notary_service`: how it counts
and answers; `notary_client`: how to ask it over HTTP.
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
