"""The draw of protocol 3: which pool rows are trigger rows, and which trees err on them.

Nobody chooses: the draw is a function of the owner's secret, the commitment, and a beacon's value that
appeared after the commitment. It uses HMAC-SHA256 only, so that any program can recompute it:

    K      = HMAC(secret, commitment || R)              32 bytes each
    rows   : the k pool rows i with the smallest        HMAC(K, "row" || u64(i))
    bits   : the trees t with the smallest              HMAC(K, "bit" || u64(p) || u64(t)) get a 1,
             as many as the header says; p is the number of the pattern, 0 for all rows in scheme "paper"

u64 is a little-endian integer of 8 bytes. Equal hash values, which nobody has ever seen, would be ordered by
number. Trigger rows are used in ascending order of their number in the pool.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass

from wm.claims.commitment import whole
from wm.signature import Signature

SECRET_BYTES = 32


def random_bytes(seed: int | None, name: str) -> bytes:
    """Return 32 bytes from the system, or those that a rehearsal's seed has under a name."""
    if seed is None:
        return secrets.token_bytes(SECRET_BYTES)
    return hmac.digest(str(seed).encode(), name.encode(), "sha256")


@dataclass(frozen=True)
class Draw:
    """What a beacon's value made of a commitment.

    Attributes
    ----------
    triggers
        Numbers of the k trigger rows in the pool, ascending.
    signature
        m bits.
    """

    triggers: tuple[int, ...]
    signature: Signature


def draw(
    secret: bytes,
    commitment: bytes,
    value: bytes,
    *,
    pool_size: int,
    trigger_size: int,
    trees: int,
    ones: int,
) -> Draw:
    """Return the draw; see the module's text.

    Parameters
    ----------
    secret, commitment, value
        The owner's secret, the commitment and the beacon's value R, of 32 bytes each.
    pool_size, trigger_size
        N and k, 1 <= k <= N.
    trees, ones
        m and the number of bits that are 1, 0 <= ones <= m.
    """
    key = hmac.digest(secret, commitment + value, "sha256")
    rows = smallest(key, b"row", pool_size, trigger_size)
    marked = set(smallest(key, b"bit" + whole(0), trees, ones))
    return Draw(triggers=rows, signature=Signature.of([int(tree in marked) for tree in range(trees)]))


def smallest(key: bytes, prefix: bytes, count: int, size: int) -> tuple[int, ...]:
    """Return the `size` numbers below `count` with the smallest HMAC(key, prefix || number), ascending."""
    order = sorted(range(count), key=lambda number: hmac.digest(key, prefix + whole(number), "sha256"))
    return tuple(sorted(order[:size]))
