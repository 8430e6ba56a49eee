"""The draw of protocol 3: which pool rows are trigger rows, and which trees err on them.

Nobody chooses: the draw is a function of the owner's secret, the commitment, and a beacon's value that
appeared after the commitment. It uses HMAC-SHA256 only, so that any program can recompute it:

    K      = HMAC(secret, commitment || R)              32 bytes each
    rows   : the k pool rows i with the smallest        HMAC(K, "row" || u64(i))
    bits   : the trees t with the smallest              HMAC(K, "bit" || u64(p) || u64(t)) get a 1,
             as many as the header says; p is 0 for all rows in scheme "paper"
             in schemes "codebook" and "boosted" a tree t gets a 1 on row p if the first u64 of this hash,
             times the number of trees, is below 2^64 times the header's ones; p is the row's number in the
             pool

u64 is a little-endian integer of 8 bytes. Equal hash values, which nobody has ever seen, would be ordered by
number. Trigger rows are used in ascending order of their number in the pool.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass

from wm.claims.commitment import whole
from wm.codebook import HOLDERS, Codebook, Marks
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
        m bits; in schemes codebook and boosted as many for each trigger row.
    """

    triggers: tuple[int, ...]
    signature: Marks


def draw(
    secret: bytes,
    commitment: bytes,
    value: bytes,
    *,
    pool_size: int,
    trigger_size: int,
    trees: int,
    ones: int,
    scheme: str = "paper",
) -> Draw:
    """Return the draw; see the module's text.

    Parameters
    ----------
    secret, commitment, value
        The owner's secret, the commitment and the beacon's value R, of 32 bytes each.
    pool_size, trigger_size
        N and k, 1 <= k <= N.
    trees, ones
        m and the number of bits that are 1, 0 <= ones <= m; in schemes with a codebook ones / m is the
        chance of a 1.
    scheme
        Name of the scheme, which says how many patterns of bits there are.
    """
    key = hmac.digest(secret, commitment + value, "sha256")
    rows = smallest(key, b"row", pool_size, trigger_size)
    if scheme in HOLDERS:
        return Draw(rows, Codebook.of((_coins(key, row, trees, ones) for row in rows), ones))
    marked = set(smallest(key, b"bit" + whole(0), trees, ones))
    return Draw(triggers=rows, signature=Signature.of([int(tree in marked) for tree in range(trees)]))


def _coins(key: bytes, row: int, trees: int, ones: int) -> list[int]:
    """Return the bits of a pool row: each is 1 with chance ones / trees."""
    prefix = b"bit" + whole(row)
    hashes = (hmac.digest(key, prefix + whole(tree), "sha256") for tree in range(trees))
    return [int(int.from_bytes(found[:8], "little") * trees < ones << 64) for found in hashes]


def smallest(key: bytes, prefix: bytes, count: int, size: int) -> tuple[int, ...]:
    """Return the `size` numbers below `count` with the smallest HMAC(key, prefix || number), ascending."""
    order = sorted(range(count), key=lambda number: hmac.digest(key, prefix + whole(number), "sha256"))
    return tuple(sorted(order[:size]))
