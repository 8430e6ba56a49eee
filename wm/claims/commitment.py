"""Commitments: hashes that fix signature and trigger set before anybody has seen the suspect.

Version 1 is one hash over everything. Version 2 is a Merkle tree (RFC 6962). Its first leaf is the header
(signature and shape), the others are the trigger rows. Each leaf has its own nonce, derived from the owner's,
so that single rows can be opened while the others stay secret.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wm.codebook import Marks

LATEST: Final = 2
"""Version of the commitments of new claims."""


def whole_commitment(signature: Marks, rows: NDArray[np.float32], labels: Sequence[int], nonce: bytes) -> str:
    """Return the commitment of version 1, SHA-256(signature || trigger set || nonce), as hex.

    The hashed bytes are: ``treeproof/claim/v1``, a zero byte, the bits as ASCII, a zero byte, k and d as
    little-endian 64-bit integers, the rows as little-endian float32, the labels as bytes, the nonce. Before
    the bits of a codebook stands the chance of a one, as ``18/70:``.
    """
    digest = hashlib.sha256(b"treeproof/claim/v1\x00" + str(signature).encode() + b"\x00")
    digest.update(np.array(rows.shape, dtype="<i8").tobytes())
    digest.update(rows.astype("<f4").tobytes())
    digest.update(bytes(labels))
    digest.update(nonce)
    return digest.hexdigest()


def row_nonce(nonce: bytes, index: int) -> bytes:
    """Return the nonce of one trigger row; without the owner's nonce it reveals none of the others."""
    return hmac.new(nonce, b"treeproof/row/v2\x00" + whole(index), hashlib.sha256).digest()


def header_nonce(nonce: bytes) -> bytes:
    """Return the nonce of the header."""
    return hmac.new(nonce, b"treeproof/header/v2\x00", hashlib.sha256).digest()


def row_leaf(index: int, row: NDArray[np.float32], label: int, own_nonce: bytes) -> bytes:
    """Return the hash of trigger row number `index`.

    The hashed bytes are: a zero byte, ``treeproof/row/v2``, a zero byte, the index as a little-endian 64-bit
    integer, the row as little-endian float32, the label as a byte, the row's nonce.
    """
    return leaf_hash(b"row/v2", row_content(index, row, label) + own_nonce)


def header_leaf(signature: Marks, size: int, features: int, own_nonce: bytes) -> bytes:
    """Return the hash of signature and shape.

    The hashed bytes are: a zero byte, ``treeproof/header/v2``, a zero byte, the bits as ASCII, a zero byte,
    k and d as little-endian 64-bit integers, the header's nonce. Before the bits of a codebook stands the
    chance of a one, as ``18/70:``.
    """
    content = str(signature).encode() + b"\x00" + whole(size) + whole(features) + own_nonce
    return leaf_hash(b"header/v2", content)


def leaf_hash(name: bytes, content: bytes) -> bytes:
    """Return the hash of a leaf of a kind and version; its leading byte differs from that of other nodes."""
    return hashlib.sha256(b"\x00treeproof/" + name + b"\x00" + content).digest()


def row_content(index: int, row: NDArray[np.float32], label: int) -> bytes:
    """Return the bytes of a row and its label, without a nonce."""
    return whole(index) + row.astype("<f4").tobytes() + bytes([label])


def leaves_of(
    signature: Marks, rows: NDArray[np.float32], labels: Sequence[int], nonce: bytes
) -> list[bytes]:
    """Return the leaves of version 2: the header, then the k rows."""
    header = header_leaf(signature, rows.shape[0], rows.shape[1], header_nonce(nonce))
    return [header] + [
        row_leaf(index, row, label, row_nonce(nonce, index))
        for index, (row, label) in enumerate(zip(rows, labels, strict=True))
    ]


def merkle_root(leaves: Sequence[bytes]) -> bytes:
    """Return the root over one or more leaves (RFC 6962, section 2.1; the leaves are hashed already)."""
    return _Tree(leaves).root(0, len(leaves))


def merkle_paths(leaves: Sequence[bytes], places: Sequence[int]) -> list[list[bytes]]:
    """Return the hashes that lead from each of some leaves to the root, nearest first.

    As in RFC 6962, section 2.1.1.
    """
    tree = _Tree(leaves)
    return [tree.path(place) for place in places]


class _Tree:
    """The roots of all subtrees, each computed once."""

    def __init__(self, leaves: Sequence[bytes]) -> None:
        self._leaves = leaves
        self._roots: dict[tuple[int, int], bytes] = {}

    def root(self, low: int, high: int) -> bytes:
        if high - low == 1:
            return self._leaves[low]
        if (low, high) not in self._roots:
            split = low + _split(high - low)
            self._roots[low, high] = _join(self.root(low, split), self.root(split, high))
        return self._roots[low, high]

    def path(self, place: int) -> list[bytes]:
        low, high, found = 0, len(self._leaves), []
        while high - low > 1:
            split = low + _split(high - low)
            other = (split, high) if place < split else (low, split)
            low, high = (low, split) if place < split else (split, high)
            found.append(self.root(*other))
        return found[::-1]


def root_from_path(leaf: bytes, place: int, count: int, path: Sequence[bytes]) -> bytes | None:
    """Return the root that a leaf and its path lead to; None for a path of the wrong length.

    Parameters
    ----------
    place
        Index of the leaf, in 0..count - 1.
    count
        Number of leaves.
    """
    turns = []  # from the root down: whether the leaf is in the left part
    low, high = 0, count
    while high - low > 1:
        split = low + _split(high - low)
        turns.append(place < split)
        low, high = (low, split) if place < split else (split, high)
    if len(path) != len(turns):
        return None
    for is_left, other in zip(reversed(turns), path, strict=True):
        leaf = _join(leaf, other) if is_left else _join(other, leaf)
    return leaf


def row_bytes(X: NDArray[Any]) -> list[bytes]:
    """Return the bytes of each row, (n, d): equal for equal rows, -0.0 being equal to 0.0."""
    return [row.tobytes() for row in X + X.dtype.type(0)]


def _split(count: int) -> int:
    """Return the largest power of two below a count of at least 2."""
    return 1 << ((count - 1).bit_length() - 1)


def _join(left: bytes, right: bytes) -> bytes:
    # The leading byte differs from that of a leaf, so that neither can pass for the other.
    return hashlib.sha256(b"\x01" + left + right).digest()


def whole(number: int) -> bytes:
    """Return an integer in 0..2^64 - 1 as 8 bytes, little-endian."""
    return int(number).to_bytes(8, "little")
