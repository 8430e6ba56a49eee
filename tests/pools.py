"""Claims of version 3 for tests: keys, a notary whom the judge trusts, pools, and honest draws of them."""

from __future__ import annotations

import hashlib
import secrets
from datetime import UTC, datetime
from unittest import mock

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from wm.claims.beacons.base import Receipt, Trust
from wm.claims.beacons.notary import sign_receipt
from wm.claims.keys import public_hex
from wm.claims.opened import challenged_rows, open_claim
from wm.claims.pooled import Header, new_claim
from wm.datasets.preparation import NumberColumn, Preparation
from wm.owner_rows import OwnerRows
from wm.verification.judgement import Requirements
from wm.verification.samples import drawn

OWNER, NOTARY, STRANGER = (Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in (1, 2, 3))
TRUST = Trust(notaries=(public_hex(NOTARY),))
DRAWN = datetime(2025, 1, 1, tzinfo=UTC)
SEEN = datetime(2025, 6, 30, tzinfo=UTC)
"""When the suspect appeared: after the draw."""

JUDGE = Requirements(suspect_since=SEEN)
CHALLENGE = "court of X, case 17"


def rows_of(size, features=3, seed=0):
    """Return distinct rows in [0, 1]."""
    return np.random.default_rng(seed).random((size, features)).astype(np.float32)


def header_of(X, *, trees=6, ones=3, trigger_size=2, **changes):
    """Return a header that fits some rows."""
    fields = {
        "scheme": "paper",
        "trees": trees,
        "ones": ones,
        "trigger_size": trigger_size,
        "pool_size": len(X),
        "owner": public_hex(OWNER),
        "model_id": "forest-1",
        "class_names": ("no", "yes"),
        "feature_names": tuple(f"x{index}" for index in range(X.shape[1])),
        "domain": tuple(zip(X.min(axis=0).tolist(), X.max(axis=0).tolist(), strict=True)),
        "preparation": None,
    }
    return Header(**(fields | changes))


def owners(X, y, class_names=("no", "yes"), feature_names=None, scaling=None):
    """Return rows as an owner gives them to be committed to; raw ones if they were scaled."""
    names = feature_names or tuple(f"x{index}" for index in range(X.shape[1]))
    columns = tuple(NumberColumn(name=name) for name in names)
    preparation = None if scaling is None else Preparation(columns=columns, scaling=scaling)
    return OwnerRows(X, y, class_names, tuple(names), preparation)


def pledge(X, y, *, salt=None, secret=None, **header):
    """Return a claim without a draw."""
    return new_claim(header_of(X, **header), X, np.asarray(y), salt=salt, secret=secret)


def receipt_of(claim, *, notary=NOTARY, owner=None, number=1, commitment=None, now=DRAWN, value=None):
    """Return a notary's receipt for a claim; a value makes it repeatable."""
    chosen = secrets.token_hex(32) if value is None else hashlib.sha256(str(value).encode()).hexdigest()
    with mock.patch("secrets.token_hex", return_value=chosen):
        return sign_receipt(
            notary,
            commitment=commitment or claim.commitment,
            owner=owner or claim.header.owner,
            number=number,
            now=now,
        )


def own_receipt():
    """Return a receipt of beacon none."""
    return Receipt(kind="none", content=secrets.token_hex(32))


def witnessed(claim, *receipts):
    """Return a claim with its draw, by the trusted notary if no receipts are given."""
    return claim.model_copy(update={"receipts": receipts or (receipt_of(claim),)})


def small_claim(size=12, **header):
    """Return a drawn claim of a small pool whose labels alternate."""
    X = rows_of(size)
    return witnessed(pledge(X, np.arange(size) % 2, **header))


def opening(claim, *, shown=1, controls=4, challenge=CHALLENGE, key=OWNER):
    """Return the opening that a challenge draws."""
    found, _ = drawn(claim)
    indices = challenged_rows(
        claim.commitment, challenge, found.triggers, claim.header.pool_size, shown=shown, controls=controls
    )
    return open_claim(claim, key, challenge, indices)
