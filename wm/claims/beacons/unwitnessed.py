"""Beacon `none`: the owner's own randomness, which proves nothing: no verdict is better than indication."""

from __future__ import annotations

import re

from wm.claims.beacons.base import BeaconValue, Trust
from wm.errors import ClaimError


class UnwitnessedBeacon:
    """The owner's own randomness."""

    def check(
        self, content: str, *, commitment: str, owner: str, trust: Trust, log: tuple[str, ...]
    ) -> BeaconValue:
        """Return 32 bytes of hex as value; as in `wm.claims.beacons.base.Beacon`."""
        if not re.fullmatch("[0-9a-f]{64}", content):
            raise ClaimError("the receipt of beacon none is not 32 bytes of hex")
        return BeaconValue(
            bytes.fromhex(content), time=None, trusted=False, choices=1.0, about="no beacon: the owner chose"
        )
