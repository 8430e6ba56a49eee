"""A notary for tests, whom the judge of the tests trusts, and claims of version 2."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from unittest import mock

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from wm.claims.beacons.base import Receipt, Trust
from wm.claims.beacons.notary import sign_receipt
from wm.claims.claim import Claim, make_claim
from wm.claims.keys import public_hex
from wm.claims.lineup import LineupClaim
from wm.claims.pooled import PooledClaim
from wm.verification.samples import sample_of

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
TRUST = Trust(notaries=(public_hex(KEY),))
DRAWN = datetime(2025, 1, 1, tzinfo=UTC)
"""When the notary signs."""

SINCE = datetime(2025, 6, 30, tzinfo=UTC)
LATER = "2025-06-30"
"""A date after the draw, for a suspect."""


def witness(claim: PooledClaim | LineupClaim, *, number: int = 1, key: Ed25519PrivateKey = KEY) -> Receipt:
    """Return the notary's receipt for a claim; equal claims get equal receipts."""
    randomness = hashlib.sha256(claim.commitment.encode()).hexdigest()
    with mock.patch("secrets.token_hex", return_value=randomness):
        return sign_receipt(
            key, commitment=claim.commitment, owner=claim.header.owner, number=number, now=DRAWN
        )


def old_claim(claim: PooledClaim) -> Claim:
    """Return the claim of version 2 that an owner would have made with a drawn claim's rows and bits."""
    sample = sample_of(claim)
    return make_claim(
        scheme="paper",
        signature=sample.draw.signature,
        X=sample.X[sample.is_trigger],
        y=sample.y[sample.is_trigger],
        model_hash="ab" * 32,
        model_id="old",
        class_names=claim.header.class_names,
    )
