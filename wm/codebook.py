"""Codebooks: for each trigger row the trees that must be wrong on it.

A signature wants the same trees to be wrong on every trigger row; a codebook has a row of bits of its own for
each of them. Every bit is 1 with the same chance, independently of all others: under the null hypothesis of a
verdict the bits are then independent coins, whatever the suspect's votes are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import SignatureError
from wm.signature import Signature, count_of_ones

SCHEME = "codebook"
"""Name of the scheme whose forests are marked by a codebook."""

BOOSTED = "boosted"
"""Name of the scheme whose boosted models are; its bits are fair coins."""

HOLDERS = (SCHEME, BOOSTED)
"""Schemes whose claims hold codebooks."""

MAX_BITS = 2**21
"""Most bits of a claim's codebook: a judge recomputes them in a few seconds."""


@dataclass(frozen=True)
class Codebook:
    """A row of m bits for each of k trigger rows.

    Attributes
    ----------
    rows
        k rows; the bits of a row are those of its trees, in the forest's order.
    expected_ones
        Each bit is 1 with chance expected_ones / m, in 1..m - 1.

    Examples
    --------
    >>> codebook = Codebook.of(["0110", "0001"], expected_ones=1)
    >>> codebook.trees, codebook.ones, codebook.share
    (4, 3, 0.25)
    """

    rows: tuple[Signature, ...]
    expected_ones: int

    def __post_init__(self) -> None:
        if len({len(row) for row in self.rows}) != 1:
            raise SignatureError("a codebook needs at least one row, and rows of one length")
        if not 0 < self.expected_ones < self.trees:
            raise SignatureError(
                f"a codebook whose bits are 1 with chance {self.expected_ones}/{self.trees} says nothing: "
                "the chance must be above 0 and below 1"
            )

    @classmethod
    def of(cls, rows: Iterable[Iterable[int] | str], expected_ones: int) -> Codebook:
        """Return the codebook of rows of bits.

        Raises
        ------
        SignatureError
            Rows that are not bits or not equally long, or an impossible chance.
        """
        return cls(tuple(Signature.of(row) for row in rows), expected_ones)

    @classmethod
    def from_text(cls, text: str, rows: int, expected_ones: int) -> Codebook:
        """Return the codebook of k x m bits, row after row: the inverse of `flat`.

        Raises
        ------
        SignatureError
            Bits that are no such number of rows, or as in `of`.
        """
        trees, rest = divmod(len(text), rows)
        if rest or not trees:
            raise SignatureError(f"{len(text)} bits are not {rows} rows of one length")
        return cls.of([text[row * trees : (row + 1) * trees] for row in range(rows)], expected_ones)

    def __str__(self) -> str:
        return f"{self.expected_ones}/{self.trees}:{self.flat}"

    @property
    def trees(self) -> int:
        """Number of trees, m."""
        return len(self.rows[0])

    @property
    def share(self) -> float:
        """Chance of a one: the expected share of the trees that are wrong on a trigger row."""
        return self.expected_ones / self.trees

    @property
    def ones(self) -> int:
        """Number of ones in all rows."""
        return sum(row.ones for row in self.rows)

    @cached_property
    def flat(self) -> Signature:
        """All bits, row after row: k x m of them."""
        return Signature(tuple(bit for row in self.rows for bit in row.bits))

    @cached_property
    def array(self) -> NDArray[np.int8]:
        """The bits as a read-only array: (k, m)."""
        array = np.array([row.bits for row in self.rows], dtype=np.int8)
        array.setflags(write=False)
        return array

    def wanted(self, rows: int) -> NDArray[np.bool_]:
        """Return which trees must be wrong on each trigger row: (k, m).

        Raises
        ------
        SignatureError
            `rows` is not k.
        """
        if rows != len(self.rows):
            raise SignatureError(f"{rows} trigger rows do not fit a codebook of {len(self.rows)} rows")
        found: NDArray[np.bool_] = self.array == 1
        return found

    def some_rows(self, places: Sequence[int] | NDArray[np.int64]) -> Codebook:
        """Return the codebook of some rows, in the given order."""
        return Codebook(tuple(self.rows[place] for place in places), self.expected_ones)


Marks = Signature | Codebook
"""What a claim wants of the trees: the same on every trigger row, or something else on each."""


def flat_bits(marks: Marks) -> Signature:
    """Return the bits of a signature, or those of a codebook row after row."""
    return marks.flat if isinstance(marks, Codebook) else marks


def repeated(values: NDArray[Any], marks: Marks) -> NDArray[Any]:
    """Return a number of each tree, (m,), once for each of its bits, in the order of `flat_bits`."""
    return np.tile(values, len(flat_bits(marks)) // marks.trees)


def check_size(rows: int, trees: int, ones: int, scheme: str) -> None:
    """Raise `ValueError` for a codebook whose bits say nothing, or that no judge recomputes."""
    if not 0 < ones < trees:
        raise ValueError(f"in scheme {scheme} both zeros and ones are needed")
    if trees * rows > MAX_BITS:
        raise ValueError(
            f"{trees} trees and {rows} trigger rows are more than {MAX_BITS} bits, the largest codebook"
        )


def random_codebook(rows: int, trees: int, ones_share: float, rng: np.random.Generator) -> Codebook:
    """Draw a codebook: each bit is 1 with the share's chance, rounded to a whole number of trees.

    Raises
    ------
    SignatureError
        As in `wm.signature.count_of_ones`, or a chance of 0 or 1.
    """
    expected = count_of_ones(trees, ones_share)
    return Codebook.of((rng.integers(trees, size=(rows, trees)) < expected).astype(int).tolist(), expected)
