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

from wm.errors import ClaimError
from wm.signature import Signature
from wm.verification.evidence import DEFAULT_LEVEL, Evidence, sums, verify


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


@dataclass(frozen=True, eq=False)
class ClaimVotes:
    """A suspect's votes on the trigger set of one claim.

    Attributes
    ----------
    votes : (k, m)
        Class values, a row for each trigger row, a column for each tree.
    labels : (k,)
        True labels.
    signature
        m bits.
    """

    votes: NDArray[Any]
    labels: NDArray[Any]
    signature: Signature


def verify_together(answers: Sequence[ClaimVotes], *, level: float = DEFAULT_LEVEL) -> PooledEvidence:
    """Judge a suspect model's answers to several claims, each alone and all together.

    The claims must be of one owner, with independent signatures: two equal ones are refused.

    Raises
    ------
    ClaimError
        No answers, answers that `wm.verification.evidence.verify` refuses, or two equal signatures.
    """
    if not answers:
        raise ClaimError("there is no claim to judge")
    signatures = [str(answer.signature) for answer in answers]
    if len(set(signatures)) < len(signatures):
        raise ClaimError("two claims have the same signature: they are not independent and cannot be pooled")
    parts = tuple(verify(one.votes, one.labels, one.signature, level=level) for one in answers)
    log10_p = _log10_p([(one.votes != one.labels[:, None]).sum(axis=0) for one in answers], answers)
    return PooledEvidence(
        parts=parts,
        exact_match=all(part.exact_match for part in parts),
        log10_p=log10_p,
        level=level,
        significant=log10_p <= math.log10(level),
    )


def _log10_p(errors: list[NDArray[np.int64]], answers: Sequence[ClaimVotes]) -> float:
    """Return log10 P(all errors in trees with bit 1 are at least as many), for all claims together.

    Since the total of errors is fixed, this is the probability that trees with bit 0 hold at most as many:
    only sums up to these need to be followed.
    """
    unit = max(1, int(np.gcd.reduce(np.concatenate(errors))))
    counts = [of_claim // unit for of_claim in errors]
    zeros = [answer.signature.array == 0 for answer in answers]
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
