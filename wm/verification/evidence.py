"""Verification by votes: matched bits and an exact p-value.

The paper's rule (Section 3.2): every tree errs on every trigger row iff its bit is 1. That rule is brittle
and does not account for chance, so there is also an exact p-value.

Null hypothesis: the suspect model is independent of the signature. Then, given the number of errors of each
tree on the trigger set, the n1 ones of the signature are a uniformly random subset of the m trees; the
statistic is the number of errors in those trees. All rows share one signature, so a pooled binomial over
k x m bits would count the same coincidence k times and is not valid. The bits of a codebook are independent:
there it is valid, see `wm.verification.codebook`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from wm.codebook import Codebook, Marks
from wm.errors import ClaimError
from wm.verification.codebook import HONEST_ERROR, log10_in_order
from wm.verification.tails import log10_p_value

DEFAULT_LEVEL = 1e-6
"""Default of the largest p-value that is called significant."""


@dataclass(frozen=True)
class Evidence:
    """Result of verification by votes.

    Attributes
    ----------
    trigger_size
        k, rows of the trigger set.
    n_trees
        m, bits of the signature or of each row of a codebook.
    matched_bits, total_bits
        Number of the k x m votes that fit these bits, and k x m.
    exact_match
        The paper's rule: all of them do.
    ones
        Number of ones in the signature, or in the codebook.
    errors
        Errors on the trigger set.
    log10_p
        Exact p-value under the null, as a power of ten.
    level, significant
        Level of significance, and whether p <= level.
    """

    trigger_size: int
    n_trees: int
    matched_bits: int
    total_bits: int
    exact_match: bool
    ones: int
    errors: int
    log10_p: float
    level: float
    significant: bool

    @property
    def p_value(self) -> float:
        """The p-value; 0.0 only when it is below the smallest floating-point number."""
        return float(10.0**self.log10_p)


def verify(
    votes: ArrayLike, labels: ArrayLike, signature: Marks, *, level: float = DEFAULT_LEVEL
) -> Evidence:
    """Judge a suspect model's votes on a trigger set.

    Parameters
    ----------
    votes : (k, m)
        The suspect's class values, one row for each trigger row, one column for each tree.
    labels : (k,)
        True labels of the trigger rows.
    signature
        m bits, or a codebook of k x m.
    level
        In (0, 1).

    Raises
    ------
    ClaimError
        Shapes that do not fit one another, or text in one of votes and labels and numbers in the other.
    """
    try:
        matrix, truth = np.asarray(votes), np.asarray(labels)
    except ValueError as reason:
        raise ClaimError("votes or labels are ragged: rows of one length are needed") from reason
    if matrix.ndim != 2 or not len(matrix):
        raise ClaimError(f"votes have shape {matrix.shape}; (trigger rows, trees) is needed")
    if truth.shape != (len(matrix),):
        raise ClaimError(f"votes have {len(matrix)} rows, the trigger set has {truth.size}")
    if matrix.shape[1] != signature.trees:
        raise ClaimError(f"votes have {matrix.shape[1]} trees, the signature has {signature.trees} bits")
    if isinstance(signature, Codebook) and len(matrix) != len(signature.rows):
        raise ClaimError(f"votes have {len(matrix)} rows, the codebook has {len(signature.rows)}")
    if (matrix.dtype.kind in "US") != (truth.dtype.kind in "US"):
        # NumPy calls them different everywhere, which would read as an error of every tree.
        raise ClaimError(f"votes are {matrix.dtype}, labels {truth.dtype}: both must be numbers or both text")
    if not 0 < level < 1:
        raise ClaimError(f"the level {level} is outside (0, 1)")
    wrong, wanted = matrix != truth[:, None], signature.wanted(len(matrix))
    matched = wrong == wanted
    if isinstance(signature, Codebook):
        log10_p = log10_in_order(wrong, wanted, signature.share, HONEST_ERROR)
    else:
        log10_p = log10_p_value(wrong.sum(axis=0), signature)
    return Evidence(
        trigger_size=len(matrix),
        n_trees=signature.trees,
        matched_bits=int(matched.sum()),
        total_bits=int(matched.size),
        exact_match=bool(matched.all()),
        ones=signature.ones,
        errors=int(wrong.sum()),
        log10_p=log10_p,
        level=level,
        significant=log10_p <= math.log10(level),
    )
