"""The rules that a verdict consists of, each with its figure and its reason.

The paper's rule (all bits match) is reported beside them and decides nothing: it is lost to noise that costs
no accuracy, and a claimant who sees the model first can always satisfy it. The rules here are what such a
claimant runs into: the commitment must be older than the suspect, rows that are opened must be the judge's
choice, a shared signature must have many bits of either kind, trigger rows must differ in feature space and
in the leaves that they reach, and the p-value must be small.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from wm.claims.claim import Claim
from wm.claims.opening import Opening, draw_rows
from wm.errors import ClaimError
from wm.forest import Forest
from wm.verification.evidence import DEFAULT_LEVEL, Evidence
from wm.verification.weak_evidence import WeakEvidence


class Rule(StrEnum):
    """What a claim must satisfy."""

    COMMITMENT = "commitment"
    CHOICE = "choice of rows"
    QUOTA = "quota of ones"
    DISTINCT_ROWS = "distinct rows"
    DISTINCT_CELLS = "distinct cells"
    SIGNIFICANCE = "p-value"


class RuleOutcome(StrEnum):
    """How a rule ended."""

    PASSED = "passed"
    FAILED = "failed"
    UNCHECKED = "not checked"
    """What the rule needs was not at hand; the reason says what."""


@dataclass(frozen=True)
class Policy:
    """What a judge asks for.

    Attributes
    ----------
    level
        Largest p-value that counts as proof, in (0, 1).
    least_ones, most_ones
        Share of ones that a shared signature must have, in [0, 1].
    least_distinct
        Share of trigger rows that must be distinct, as rows and as leaf tuples, in (0, 1].
    """

    level: float = DEFAULT_LEVEL
    least_ones: float = 0.25
    most_ones: float = 0.75
    least_distinct: float = 1.0


@dataclass(frozen=True)
class RuleResult:
    """One rule, held against a claim.

    Attributes
    ----------
    rule, outcome
        Which one, and how it ended.
    figure
        The number that decided, None where there is none.
    reason
        One sentence.
    """

    rule: Rule
    outcome: RuleOutcome
    figure: float | None
    reason: str


def checked_policy(policy: Policy | None) -> Policy:
    """Return a policy, the default one for None.

    Raises
    ------
    ClaimError
        A level, quota or share that no claim could be held against.
    """
    policy = policy or Policy()
    if not 0 < policy.level < 1:
        raise ClaimError(f"an impossible protocol: the level {policy.level} is outside (0, 1)")
    if not 0 <= policy.least_ones <= policy.most_ones <= 1:
        raise ClaimError(
            f"an impossible protocol: a share of ones from {policy.least_ones} to {policy.most_ones}"
        )
    if not 0 < policy.least_distinct <= 1:
        raise ClaimError(
            f"an impossible protocol: the share of distinct rows {policy.least_distinct} is outside (0, 1]"
        )
    return policy


def commitment_rule(commitment: str, published: Collection[str] | None) -> RuleResult:
    """Hold a commitment, which fits its claim, against those known to be older than the suspect."""
    if published is None:
        return RuleResult(
            Rule.COMMITMENT,
            RuleOutcome.UNCHECKED,
            None,
            "it fits the claim; that it is older than the suspect must be shown by its publication",
        )
    if commitment in published:
        return RuleResult(
            Rule.COMMITMENT,
            RuleOutcome.PASSED,
            None,
            "the commitment was published before the suspect was seen",
        )
    return RuleResult(
        Rule.COMMITMENT,
        RuleOutcome.FAILED,
        None,
        f"not among the {len(published)} commitments published before: signature or rows may have been "
        "chosen after seeing the suspect",
    )


def choice_rule(claim: Claim | Opening, challenge: bytes | None) -> RuleResult:
    """Hold the rows that are shown against those that the judge's challenge draws (`draw_rows`)."""
    if isinstance(claim, Claim):
        shown = len(claim.trigger_set.rows)
        return RuleResult(Rule.CHOICE, RuleOutcome.PASSED, 1.0, f"all {shown} trigger rows are shown")
    count, size = len(claim.opened), claim.trigger_size
    share = count / size
    if count == size:
        return RuleResult(Rule.CHOICE, RuleOutcome.PASSED, share, f"all {size} trigger rows are opened")
    if challenge is None:
        return RuleResult(
            Rule.CHOICE,
            RuleOutcome.UNCHECKED,
            share,
            f"{count} of {size} rows are opened; without a challenge the owner may have picked them",
        )
    fits = draw_rows(claim.commitment, challenge, size, count) == tuple(row.index for row in claim.opened)
    reason = (
        "those that the challenge draws" if fits else "not those that the challenge draws: they were picked"
    )
    return RuleResult(
        Rule.CHOICE,
        RuleOutcome.PASSED if fits else RuleOutcome.FAILED,
        share,
        f"{count} of {size} rows are opened, {reason}",
    )


def quota_rule(share: float, policy: Policy) -> RuleResult:
    """Hold a shared signature's share of ones against the quota."""
    fits = policy.least_ones <= share <= policy.most_ones
    return RuleResult(
        Rule.QUOTA,
        RuleOutcome.PASSED if fits else RuleOutcome.FAILED,
        share,
        f"{share:.1%} of the bits are 1; {policy.least_ones:.0%} to {policy.most_ones:.0%} are asked for"
        + ("" if fits else ": trees that mostly agree are found around any ordinary row"),
    )


def distinct_rows_rule(X: NDArray[np.float32], policy: Policy) -> RuleResult:
    """Count distinct trigger rows, (k, d)."""
    found = len(np.unique(X, axis=0))
    return _distinct(Rule.DISTINCT_ROWS, found, len(X), "rows", policy)


def distinct_cells_rule(X: NDArray[np.float32], suspect: Forest | None, policy: Policy) -> RuleResult:
    """Count distinct tuples of leaves that the trigger rows, (k, d), reach in the suspect."""
    if suspect is None:
        return RuleResult(
            Rule.DISTINCT_CELLS,
            RuleOutcome.UNCHECKED,
            None,
            "the suspect model is not at hand: whether rows share all their leaves cannot be seen from votes",
        )
    found = len(np.unique(suspect.apply(X), axis=0))
    return _distinct(Rule.DISTINCT_CELLS, found, len(X), "leaf tuples", policy)


def _distinct(rule: Rule, found: int, size: int, words: str, policy: Policy) -> RuleResult:
    share = found / size
    fits = share >= policy.least_distinct
    return RuleResult(
        rule,
        RuleOutcome.PASSED if fits else RuleOutcome.FAILED,
        share,
        f"{found} distinct {words} among {size} trigger rows"
        + ("" if fits else ": the others are copies and prove nothing more"),
    )


def significance_rule(evidence: Evidence | WeakEvidence) -> RuleResult:
    """Hold the p-value against the level."""
    weak = f" ({evidence.source} only; {evidence.statistic})" if isinstance(evidence, WeakEvidence) else ""
    return RuleResult(
        Rule.SIGNIFICANCE,
        RuleOutcome.PASSED if evidence.significant else RuleOutcome.FAILED,
        evidence.log10_p,
        f"p = 10^{evidence.log10_p:.2f}, level {evidence.level:g}{weak}",
    )
