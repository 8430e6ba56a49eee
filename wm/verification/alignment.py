"""Verification when trees are missing: the best alignment in order, with a permutation p-value.

A suspect with fewer trees than the signature has bits, in the old order, is aligned so that as many bits as
possible match. Any votes align to some degree, so the match is compared with that of random signatures with
as many ones, each aligned as well as possible: under the null hypothesis all of these are exchangeable. Trees
out of order cannot be aligned.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.errors import ClaimError
from wm.signature import Signature
from wm.statistics import rank_p_value

DRAWS = 9999
"""Random signatures that are drawn; the smallest p-value is 1 / (DRAWS + 1)."""


@dataclass(frozen=True)
class Alignment:
    """Match of the remaining trees and the signature.

    Attributes
    ----------
    bits
        Share of the bits of these trees that match.
    log10_p
        Permutation p-value, as a power of ten.
    """

    bits: float
    log10_p: float


def align_in_order(
    wrong: NDArray[np.bool_], signature: Signature, rng: np.random.Generator, *, draws: int = DRAWS
) -> Alignment:
    """Align a suspect's trees with places of a signature, without changing their order.

    Parameters
    ----------
    wrong : (k, t) bool
        Errors of the suspect's t trees on the trigger rows; t in 1..m.
    signature
        m bits.
    draws
        Random signatures to compare with, at least 1.

    Raises
    ------
    ClaimError
        More trees than bits, or no tree.
    """
    trees, places = wrong.shape[1], len(signature)
    if not 1 <= trees <= places:
        raise ClaimError(f"{trees} trees cannot be aligned to a signature of {places} bits")
    errors = wrong.sum(axis=0)
    drawn = [rng.permutation(signature.array) for _ in range(draws)]
    found = _best(errors, len(wrong), np.stack([signature.array, *drawn]).astype(np.int64))
    return Alignment(
        bits=float(found[0] / wrong.size), log10_p=math.log10(rank_p_value(float(found[0]), found[1:]))
    )


def _best(errors: NDArray[np.int64], rows: int, signatures: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the largest number of bits that an alignment in order matches: signatures (s, m) -> (s,)."""
    count, places = signatures.shape
    trees = len(errors)
    # best[:, j]: largest number of bits that the first j trees match in the places seen so far.
    best = np.full((count, trees + 1), -1, dtype=np.int64)
    best[:, 0] = 0
    for place in range(places):
        one = signatures[:, place, None] == 1
        gain = np.where(one, errors, rows - errors)
        taken = np.where(best[:, :-1] >= 0, best[:, :-1] + gain, -1)
        best[:, 1:] = np.maximum(best[:, 1:], taken)
    last: NDArray[np.int64] = best[:, -1]
    return last
