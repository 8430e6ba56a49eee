"""The rules of a verdict, each with its figure and reason.

The paper's rule (all bits match) is reported but decides nothing: noise that costs no accuracy breaks it, and
a claimant who has seen the model can always satisfy it. The rules here stop such a claimant: the commitment
must be older than the suspect, the signature must have many bits of either kind, trigger rows must differ as
rows and in the leaves that they reach, and the p-value must be small.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from numpy.typing import NDArray

from wm.claims.commitment import row_bytes
from wm.errors import ClaimError
from wm.forest import Forest
from wm.verification.evidence import DEFAULT_LEVEL, Evidence


class Rule(StrEnum):
    """Names of the rules."""

    COMMITMENT = "commitment"
    QUOTA = "quota of ones"
    DISTINCT_ROWS = "distinct rows"
    DISTINCT_CELLS = "distinct cells"
    SIGNIFICANCE = "p-value"


class RuleOutcome(StrEnum):
    """Result of a rule."""

    PASSED = "passed"
    FAILED = "failed"
    UNCHECKED = "not checked"
    """The rule needs something that the judge does not have; the reason says what."""


@dataclass(frozen=True)
class Policy:
    """Requirements of a judge.

    Attributes
    ----------
    level
        Largest p-value that counts as proof, in (0, 1).
    min_ones, max_ones
        Limits on the share of ones in the signature, in [0, 1].
    min_distinct
        Smallest share of trigger rows that are distinct, as rows and as leaf tuples, in (0, 1].

    Raises
    ------
    ClaimError
        A value out of range.
    """

    level: float = DEFAULT_LEVEL
    min_ones: float = 0.25
    max_ones: float = 0.75
    min_distinct: float = 1.0

    def __post_init__(self) -> None:
        fault = ""
        if not 0 < self.level < 1:
            fault = f"the level {self.level} is outside (0, 1)"
        elif not 0 <= self.min_ones <= self.max_ones <= 1:
            fault = f"a share of ones from {self.min_ones} to {self.max_ones}"
        elif not 0 < self.min_distinct <= 1:
            fault = f"the share of distinct rows {self.min_distinct} is outside (0, 1]"
        if fault:
            raise ClaimError(f"an impossible protocol: {fault}")


@dataclass(frozen=True)
class RuleResult:
    """Result of one rule for one claim.

    Attributes
    ----------
    rule, outcome
        The rule and its result.
    figure
        The number that decided, None if there is none.
    reason
        One sentence.
    """

    rule: Rule
    outcome: RuleOutcome
    figure: float | None
    reason: str


def commitment_rule(commitment: str, published: Collection[str] | None) -> RuleResult:
    """Check that a claim's commitment is among those known to be older than the suspect."""
    if published is None:
        reason = "it fits the claim; that it is older than the suspect must be shown by its publication"
        return _result(Rule.COMMITMENT, None, None, reason)
    found = commitment in published
    reason = (
        "the commitment was published before the suspect was seen"
        if found
        else f"not among the {len(published)} commitments published before: signature or rows may have been "
        "chosen after seeing the suspect"
    )
    return _result(Rule.COMMITMENT, found, None, reason)


def quota_rule(share: float, policy: Policy) -> RuleResult:
    """Check the signature's share of ones."""
    fits = policy.min_ones <= share <= policy.max_ones
    reason = (
        f"{share:.1%} of the bits are 1; {policy.min_ones:.0%} to {policy.max_ones:.0%} are asked for"
        + ("" if fits else ": trees that mostly agree are found around any ordinary row")
    )
    return _result(Rule.QUOTA, fits, share, reason)


def distinct_rows_rule(X: NDArray[Any], policy: Policy) -> RuleResult:
    """Check the share of distinct trigger rows, (k, d)."""
    return _distinct(Rule.DISTINCT_ROWS, X, "rows", policy)


def distinct_cells_rule(X: NDArray[Any], suspect: Forest | None, policy: Policy) -> RuleResult:
    """Check the share of distinct tuples of leaves that the trigger rows, (k, d), reach in the suspect."""
    if suspect is None:
        reason = (
            "the suspect model is not given: whether rows share all their leaves cannot be seen from votes"
        )
        return _result(Rule.DISTINCT_CELLS, None, None, reason)
    return _distinct(Rule.DISTINCT_CELLS, suspect.apply(X), "leaf tuples", policy)


def significance_rule(evidence: Evidence) -> RuleResult:
    """Check that the p-value is at most the level."""
    reason = f"p = 10^{evidence.log10_p:.2f}, level {evidence.level:g}"
    return _result(Rule.SIGNIFICANCE, evidence.significant, evidence.log10_p, reason)


def _distinct(rule: Rule, rows: NDArray[Any], words: str, policy: Policy) -> RuleResult:
    found, size = len(set(row_bytes(rows))), len(rows)
    fits = found / size >= policy.min_distinct
    reason = f"{found} distinct {words} among {size} trigger rows" + (
        "" if fits else ": the others are copies and prove nothing more"
    )
    return _result(rule, fits, found / size, reason)


def _result(rule: Rule, passed: bool | None, figure: float | None, reason: str) -> RuleResult:
    """Return a rule's result; None: it was not checked."""
    failed = RuleOutcome.UNCHECKED if passed is None else RuleOutcome.FAILED
    return RuleResult(rule, RuleOutcome.PASSED if passed else failed, figure, reason)
