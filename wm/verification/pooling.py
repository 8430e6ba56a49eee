"""Verification of several claims on one model: the classes of a one-vs-rest model.

A model of C classes carries C binary watermarks, each with its own signature. Each is verified alone; the
pooled p-value is that of all together.

Null hypothesis: the suspect's votes are independent of the signatures, and these of one another: the owner
drew them independently, or derived each under its own model identifier. Then, given the votes, the ones of
each signature are a uniformly random subset of that class's trees, independently over the classes, however
similar the classes' forests or trigger sets are. So the distribution of the statistic, all errors in trees
with bit 1, is the convolution over the classes, and the p-value is exact; for perfect claims it is the
product of theirs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.claims.claim import Claim
from wm.errors import ClaimError
from wm.verification.evidence import DEFAULT_LEVEL, Evidence, verify
from wm.verification.tails import sums


@dataclass(frozen=True)
class PooledEvidence:
    """Result of verification of several claims on one model.

    Attributes
    ----------
    parts
        The evidence of each claim.
    exact_match
        Whether all of them match in every bit.
    log10_p
        Exact p-value of all errors in trees with bit 1, as a power of ten.
    level, significant
        Level of significance, and whether the pooled p <= level.
    """

    parts: tuple[Evidence, ...]
    exact_match: bool
    log10_p: float
    level: float
    significant: bool


def verify_together(
    claims: Sequence[Claim], votes: Sequence[NDArray[Any]], *, level: float = DEFAULT_LEVEL
) -> PooledEvidence:
    """Judge a suspect model by several claims of one owner, each alone and all together.

    Parameters
    ----------
    votes
        For each claim the suspect's class values on its trigger rows, (k, m).

    Raises
    ------
    ClaimError
        No claims, votes that `wm.verification.evidence.verify` refuses, or two equal signatures, which are
        not independent.
    """
    if not claims:
        raise ClaimError("there is no claim to judge")
    if len({claim.signature for claim in claims}) < len(claims):
        raise ClaimError("two claims have the same signature: they are not independent and cannot be pooled")
    pairs = list(zip(claims, votes, strict=True))
    parts = tuple(verify(one, claim.trigger_set.y, claim.bits, level=level) for claim, one in pairs)
    errors = [(one != claim.trigger_set.y[:, None]).sum(axis=0) for claim, one in pairs]
    log10_p = _log10_p(errors, [claim.bits.array == 0 for claim in claims])
    return PooledEvidence(
        parts=parts,
        exact_match=all(part.exact_match for part in parts),
        log10_p=log10_p,
        level=level,
        significant=log10_p <= math.log10(level),
    )


def _log10_p(errors: list[NDArray[np.int64]], zeros: list[NDArray[np.bool_]]) -> float:
    """Return log10 P(all errors in trees with bit 1 are at least as many), for all claims together.

    Since the total of errors is fixed, this is the probability that trees with bit 0 hold at most as many:
    only sums up to these need to be followed.
    """
    unit = max(1, int(np.gcd.reduce(np.concatenate(errors))))
    counts = [of_claim // unit for of_claim in errors]
    allowed = sum(int(count[zero].sum()) for count, zero in zip(counts, zeros, strict=True))
    total = np.zeros(1)
    for count, zero in zip(counts, zeros, strict=True):
        limit = min(allowed, int(count.sum()))
        total = _log_convolution(total, sums(count, int(zero.sum()), limit, logs=True))[: allowed + 1]
    return min(0.0, float(np.logaddexp.reduce(total)) / math.log(10))


def _log_convolution(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convolve two arrays of log-probabilities; each has at least one finite value."""
    first, second = one.max(), other.max()
    product = np.convolve(np.exp(one - first), np.exp(other - second))
    with np.errstate(divide="ignore"):  # sums that are impossible, or less likely by a factor of about e-300
        logs: NDArray[np.float64] = np.log(product) + first + second
    return logs
