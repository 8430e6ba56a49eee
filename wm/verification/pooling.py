"""Verification of several claims on one model: the classes of a one-vs-rest model.

A model of C classes carries C binary watermarks, each with its own signature. Each is verified alone; the
pooled p-value is that of all together.

Null hypothesis: the suspect's votes are independent of the signatures, and these of one another: the owner
drew them independently, or derived each under its own model identifier. Then, given the votes, the ones of
each signature are a uniformly random subset of that class's trees, independently over the classes, however
similar the classes' forests or trigger sets are. So the distribution of the statistic, all errors in trees
with bit 1, is the convolution over the classes, and the p-value is exact; for perfect claims it is the
product of theirs. Codebooks are pooled as one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.claims.claim import Claim
from wm.codebook import Codebook, Marks
from wm.errors import ClaimError
from wm.signature import Signature
from wm.verification.codebook import HONEST_ERROR, log10_in_order
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
    log10_p = _pooled([claim.bits for claim in claims], [_wrong(claim, one) for claim, one in pairs])
    return PooledEvidence(
        parts=parts,
        exact_match=all(part.exact_match for part in parts),
        log10_p=log10_p,
        level=level,
        significant=log10_p <= math.log10(level),
    )


def _wrong(claim: Claim, votes: NDArray[Any]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = votes != claim.trigger_set.y[:, None]
    return found


def _pooled(marks: list[Marks], wrong: list[NDArray[np.bool_]]) -> float:
    books = [one for one in marks if isinstance(one, Codebook)]
    signatures = [one for one in marks if isinstance(one, Signature)]
    if not books:
        errors = [one.sum(axis=0) for one in wrong]
        return _log10_p(errors, [signature.array == 0 for signature in signatures])
    if signatures or len({book.share for book in books}) > 1:
        raise ClaimError("claims of several schemes, or of other chances of a one, cannot be pooled")
    # All bits are coins with one chance: those of all claims are one large codebook of a single row.
    bits = np.concatenate([book.array.ravel() == 1 for book in books])[None]
    return log10_in_order(
        np.concatenate([one.ravel() for one in wrong])[None], bits, books[0].share, HONEST_ERROR
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
