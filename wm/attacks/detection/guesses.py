"""Score a guess of the signature up to complement, with exact permutation p-values.

An attacker who divides the trees in two does not know which part has bit 1: a guess that is wrong everywhere
is as good as a right one. Chance is therefore above one half, and is given with each score. Null hypothesis:
the signature's ones are a uniformly random subset of the trees, whatever the forest; over all such subsets
the p-values here are exact, without sampling.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm.codebook import Codebook, repeated
from wm.errors import SignatureError
from wm.signature import Signature
from wm.statistics import doubled_ranks, rank_p_value, two_sided
from wm.verification.tails import log10_p_value

PERMUTATIONS = 9999
"""Of the columns of a codebook; the smallest p-value is 1 / (PERMUTATIONS + 1)."""


@dataclass(frozen=True)
class GuessScore:
    """Score of a guess of all bits, up to complement."""

    bits: float
    """Share of bits right, or wrong if that is larger; in [0.5, 1]."""
    null_bits: float
    """Its mean over all signatures with as many ones."""
    p_value: float
    """Share of these signatures of which the guess gets at least as many bits."""


@dataclass(frozen=True)
class ValueScore:
    """Score of one number for each tree, as a ranking of the trees by their bits."""

    auc: float
    """Chance that a tree with bit 1 has the larger number, or the smaller if that is likelier; in
    [0.5, 1]."""
    p_value: float
    """Two-sided exact rank-sum test (Mann-Whitney), ties included; of a codebook a permutation test."""


def score_guess(guess: ArrayLike, signature: Signature) -> GuessScore:
    """Score a guess of 0 or 1 for each tree, (m,), up to complement.

    Raises
    ------
    SignatureError
        Another length, or values other than 0 and 1.
    """
    from scipy.stats import hypergeom

    bits = np.asarray(guess)
    trees, ones = len(signature), signature.ones
    if bits.shape != (trees,) or not np.isin(bits, (0, 1)).all():
        raise SignatureError(f"a guess must be {trees} bits, 0 or 1")
    guessed = int(bits.sum())
    # The score depends only on the number of ones on trees guessed 1, which is hypergeometric.
    common = np.arange(max(0, guessed + ones - trees), min(guessed, ones) + 1)
    chance = hypergeom.pmf(common, trees, guessed, ones)
    agree = trees - guessed - ones + 2 * common
    best = np.maximum(agree, trees - agree)
    right = int((bits == signature.array).sum())
    found = max(right, trees - right)
    return GuessScore(
        bits=found / trees,
        null_bits=float((chance * best).sum() / trees),
        p_value=float(min(1.0, chance[best >= found].sum())),
    )


def score_values(values: ArrayLike, signature: Signature) -> ValueScore:
    """Score a number for each tree, (m,), by how well it ranks the trees by their bits, in either direction.

    Raises
    ------
    SignatureError
        Another length, or a signature whose bits are all alike.
    """
    array = np.asarray(values, dtype=np.float64)
    trees, ones = len(signature), signature.ones
    if array.shape != (trees,):
        raise SignatureError(f"one number for each of {trees} trees is needed, not {array.shape}")
    if not 0 < ones < trees:
        raise SignatureError("a signature whose bits are all alike cannot be compared with a ranking")
    ranks = doubled_ranks(array)
    above = _area(ranks, signature)
    complement = Signature.of(1 - signature.array)
    upper, lower = (10.0 ** log10_p_value(ranks - ranks.min(), each) for each in (signature, complement))
    return ValueScore(auc=float(max(above, 1 - above)), p_value=two_sided(lower, upper))


def score_values_of_rows(values: NDArray[np.float64], codebook: Codebook) -> ValueScore:
    """Score a number for each tree, (m,), by how well it ranks the bits of all rows, in either direction.

    Under the null hypothesis the columns of the codebook are exchangeable; p is taken over `PERMUTATIONS` of
    them, drawn in the same way each time.
    """
    above = _area(doubled_ranks(repeated(values, codebook)), codebook.flat)
    ranks, ones = doubled_ranks(values), codebook.array.sum(axis=0, dtype=np.int64)
    centred = ranks - ranks.mean()
    draws = np.random.default_rng(0).permuted(np.tile(ones, (PERMUTATIONS, 1)), axis=1)
    null = np.abs(draws @ centred)
    # Sums of equal terms in another order may differ in their last digits.
    p = rank_p_value(round(abs(float(ones @ centred)), 6), np.round(null, 6))
    return ValueScore(auc=float(max(above, 1 - above)), p_value=p)


def _area(ranks: NDArray[np.int64], signature: Signature) -> float:
    ones = signature.ones
    total = ranks[signature.array == 1].sum() / 2 - ones * (ones + 1) / 2
    return float(total / (ones * (len(signature) - ones)))


def above_median(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return 1 for the trees whose number, (m,), is above the median, 0 for the others: (m,)."""
    return (values > np.median(values)).astype(np.int64)
