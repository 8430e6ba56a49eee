"""Signatures: which trees must be wrong on the trigger set.

A signature has m bits; if bit i is 1, tree i must be wrong on every trigger row. It is drawn at random with
an exact share of ones, or derived from the owner's secret key, so that the owner can later show that the bits
were not chosen to fit a model.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wm.errors import SignatureError

MIN_KEY_BYTES = 16
"""Minimum length of an owner's key: 128 bits."""

_BITS: dict[object, int] = {0: 0, 1: 1, "0": 0, "1": 1}
"""Values that `Signature.of` reads as a bit; `int` would also accept 0.5 and digits of other scripts."""


@dataclass(frozen=True)
class Signature:
    """The m bits of a signature.

    Attributes
    ----------
    bits : tuple of 0 and 1
        One for each tree, in the forest's order.

    Examples
    --------
    >>> signature = Signature.of("0110")
    >>> len(signature), signature.ones
    (4, 2)
    >>> signature.agreement(Signature.of([0, 1, 0, 1]))
    0.5
    """

    bits: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.bits:
            raise SignatureError("a signature needs at least one bit")
        if bad := [bit for bit in self.bits if type(bit) is not int or bit not in (0, 1)]:
            raise SignatureError(f"a signature's bits are 0 or 1, not {bad[0]!r}")

    @classmethod
    def of(cls, bits: Iterable[int] | str) -> Signature:
        """Return the signature of any iterable of 0 and 1, or of a string such as ``0110``.

        Raises
        ------
        SignatureError
            Anything but 0 and 1, or no bits.
        """
        try:
            return cls(tuple(_BITS[bit] for bit in bits))
        except KeyError as reason:
            raise SignatureError(f"a signature's bits are 0 or 1, not {reason}") from reason
        except TypeError as reason:
            raise SignatureError(f"a signature's bits are 0 or 1 ({reason})") from reason

    def __len__(self) -> int:
        return len(self.bits)

    def __str__(self) -> str:
        return "".join(str(bit) for bit in self.bits)

    @property
    def ones(self) -> int:
        """Number of trees that must be wrong."""
        return sum(self.bits)

    @property
    def expected_ones(self) -> int:
        """Number of trees that must be wrong on a trigger row, as a claim's header has it."""
        return self.ones

    @property
    def trees(self) -> int:
        """Number of trees, m."""
        return len(self.bits)

    @property
    def share(self) -> float:
        """Share of the trees that must be wrong on a trigger row."""
        return self.ones / self.trees

    def wanted(self, rows: int) -> NDArray[np.bool_]:
        """Return which trees must be wrong on each of some trigger rows: (rows, m)."""
        return np.tile(self.array == 1, (rows, 1))

    @cached_property
    def array(self) -> NDArray[np.int8]:
        """The bits as a read-only array: (m,)."""
        array = np.array(self.bits, dtype=np.int8)
        array.setflags(write=False)
        return array

    def agreement(self, other: Signature) -> float:
        """Return the share of equal bits of two signatures of equal length."""
        if len(self) != len(other):
            raise SignatureError(f"signatures of {len(self)} and {len(other)} bits cannot be compared")
        return float(np.mean(self.array == other.array))


def count_of_ones(length: int, ones_share: float) -> int:
    """Return the number of ones of a signature with a given share of ones; halves round up.

    Raises
    ------
    SignatureError
        A length below 1 or a share outside [0, 1].
    """
    if length < 1:
        raise SignatureError(f"a signature of {length} bits is impossible: at least 1 is needed")
    if not 0 <= ones_share <= 1:
        raise SignatureError(f"ones_share {ones_share} is outside [0, 1]")
    return int(np.floor(ones_share * length + 0.5))


def random_signature(length: int, ones_share: float, rng: np.random.Generator) -> Signature:
    """Draw one of all signatures with an exact share of ones, uniformly.

    Raises
    ------
    SignatureError
        As in `count_of_ones`.
    """
    ones = count_of_ones(length, ones_share)
    return Signature.of(rng.permutation((np.arange(length) < ones).astype(int)))


def keyed_signature(length: int, ones_share: float, key: bytes, model_id: str) -> Signature:
    """Derive a signature with an exact share of ones from the owner's secret key.

    Position i gets the rank key HMAC-SHA256(key; model_id, length, i); the positions with the smallest rank
    keys are the ones. Without the key the bits look uniform; with it anybody can derive them again.

    Parameters
    ----------
    key
        The owner's secret, at least `MIN_KEY_BYTES` bytes.
    model_id
        Distinguishes the models of one owner, who must not reuse a signature.

    Raises
    ------
    SignatureError
        A short key, or as in `count_of_ones`.
    """
    if len(key) < MIN_KEY_BYTES:
        raise SignatureError(f"the owner's key has {len(key)} bytes; at least {MIN_KEY_BYTES} are needed")
    ones = count_of_ones(length, ones_share)

    def rank(position: int) -> bytes:
        message = f"treeproof/signature/v1\x1f{model_id}\x1f{length}\x1f{position}"
        return hmac.new(key, message.encode(), hashlib.sha256).digest()

    chosen = set(sorted(range(length), key=rank)[:ones])
    return Signature(tuple(int(position in chosen) for position in range(length)))
