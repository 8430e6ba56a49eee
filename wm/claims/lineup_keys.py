"""Secrets, keys and seeds of a line-up's positions, by HMAC-SHA256; `wm.claims.lineup` has the formulas."""

from __future__ import annotations

import hmac
import unicodedata

from wm.claims.commitment import whole
from wm.errors import ClaimError

SEED_RANGE = 2**31
"""Seeds are below it: scikit-learn takes them as `random_state`."""


def position_secret(secret: bytes, position: int) -> bytes:
    """Return the secret of one position, which reveals none of the others."""
    return hmac.digest(secret, b"position" + whole(position), "sha256")


def position_key(secret: bytes, commitment: bytes, value: bytes, position: int) -> bytes:
    """Return the key of one position, of its secret and a beacon's value R."""
    return hmac.digest(secret, commitment + value + whole(position), "sha256")


def tree_seed(key: bytes, context: bytes, position: int, number: int = 0) -> int:
    """Return a `random_state` in [0, 2^31) of a position's key."""
    digest = hmac.digest(key, b"lineup/v1" + context + whole(position) + whole(number), "sha256")
    return int.from_bytes(digest[:8], "little") % SEED_RANGE


def place(key: bytes, context: bytes, candidates: int, customer: str = "") -> int:
    """Return which committed candidate of a position is released, to a customer if one is named.

    Raises
    ------
    ClaimError
        A name with characters that cannot be seen, or with more than one spelling: an owner could try until
        one accuses.
    """
    if customer != unicodedata.normalize("NFKC", customer).strip() or not customer.isprintable():
        raise ClaimError(
            f"the customer's name {customer!r} has invisible characters, or some with another spelling"
        )
    digest = hmac.digest(key, b"slot" + context + customer.encode(), "sha256")
    return int.from_bytes(digest[:8], "little") % candidates
