"""The judge's own random choices: all follow from one secret text, so that a verdict can be repeated.

It is drawn from the system after the claim was made; whoever names it instead must be sure that the claimant
could not choose or know it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass

import numpy as np

from wm.claims.commitment import whole
from wm.claims.lineup_keys import SEED_RANGE


@dataclass(frozen=True)
class Judge:
    """A judge's randomness."""

    seed: str
    """Any text that the claimant could not foresee."""

    @classmethod
    def fresh(cls) -> Judge:
        """Return a judge whose seed the system draws now."""
        return cls(secrets.token_hex(32))

    def generator(self, role: str) -> np.random.Generator:
        """Return the start of a role's stream."""
        return np.random.default_rng(np.frombuffer(self._digest(role.encode()), dtype="<u4").tolist())

    def tree_seed(self, role: str, position: int, number: int = 0) -> int:
        """Return a `random_state` in [0, 2^31)."""
        digest = self._digest(role.encode() + b"\x00" + whole(position) + whole(number))
        return int.from_bytes(digest[:8], "little") % SEED_RANGE

    def place(self, position: int, candidates: int) -> int:
        """Return where the owner's candidate of a position stands."""
        return int.from_bytes(self._digest(b"place\x00" + whole(position))[:8], "little") % candidates

    def _digest(self, name: bytes) -> bytes:
        return hmac.digest(hashlib.sha256(self.seed.encode()).digest(), name, "sha256")
