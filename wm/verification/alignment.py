"""Verification when trees are missing: the best alignment in order, and what chance alone would align.

A suspect with fewer trees than the signature has bits, its trees in the old order, is aligned so that most
bits match. Any votes align somewhat, so the p-value compares with signatures that have as many ones in random
places, each aligned as well as it can be: under the null hypothesis all of these are exchangeable. Shuffled
trees of a shared signature cannot be aligned at all: every order fits as well.
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
"""Random signatures of the null: the smallest p-value is 1 / (DRAWS + 1)."""


@dataclass(frozen=True)
class Alignment:
    """How well the trees that are left fit the signature.

    Attributes
    ----------
    bits
        Share of the bits of these trees that match.
    null_bits
        Its mean over random signatures.
    log10_p
        Permutation p-value, as a power of ten.
    """

    bits: float
    null_bits: float
    log10_p: float


def align_in_order(
    wrong: NDArray[np.bool_], signature: Signature, rng: np.random.Generator, *, draws: int = DRAWS
) -> Alignment:
    """Align a suspect's trees to places of a signature, without changing their order.

    Parameters
    ----------
    wrong : (k, t) bool
        Errors of the suspect's t trees on the trigger rows; t in 1..m.
    signature
        m bits.
    draws
        Random signatures of the null.

    Raises
    ------
    ClaimError
        More trees than bits, or no tree.
    """
    trees, places = wrong.shape[1], len(signature)
    if not 1 <= trees <= places:
        raise ClaimError(f"{trees} trees cannot be aligned to a signature of {places} bits")
    errors = wrong.sum(axis=0)
    drawn = np.stack([rng.permutation(signature.array) for _ in range(draws)]) if draws else None
    tables = signature.array[None] if drawn is None else np.vstack([signature.array[None], drawn])
    found = _best(errors, len(wrong), tables.astype(np.int64))
    total = wrong.size
    null = found[1:] / total
    return Alignment(
        bits=float(found[0] / total),
        null_bits=float(null.mean()) if len(null) else float("nan"),
        log10_p=math.log10(rank_p_value(float(found[0]), found[1:])),
    )


def _best(errors: NDArray[np.int64], rows: int, signatures: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the most bits that any alignment in order matches, for each signature: (s, m) -> (s,)."""
    count, places = signatures.shape
    trees = len(errors)
    # best[j]: most bits matched by the first j trees in the places seen so far.
    best = np.full((count, trees + 1), -1, dtype=np.int64)
    best[:, 0] = 0
    for place in range(places):
        one = signatures[:, place, None] == 1
        gain = np.where(one, errors, rows - errors)
        taken = np.where(best[:, :-1] >= 0, best[:, :-1] + gain, -1)
        best[:, 1:] = np.maximum(best[:, 1:], taken)
    last: NDArray[np.int64] = best[:, -1]
    return last
