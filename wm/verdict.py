"""The verdict: a claim held against every rule of the protocol, each with its figure and its reason.

The paper's rule (all bits match) is reported beside it and decides nothing: it is lost to noise that costs no
accuracy, and a claimant who sees the model first can always satisfy it. The rules here are what such a
claimant runs into: the commitment must be older than the suspect, a shared signature must have many bits of
either kind, trigger rows must differ in feature space and in the leaves that they reach, and the p-value must
be small.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm.claims import Claim
from wm.disclosure import Opening
from wm.errors import ClaimError
from wm.forest import Forest
from wm.verification import DEFAULT_LEVEL, Evidence, verify
from wm.weak_evidence import WeakEvidence


class Rule(StrEnum):
    """What a claim must satisfy."""

    COMMITMENT = "commitment"
    QUOTA = "quota of ones"
    DISTINCT_ROWS = "distinct rows"
    DISTINCT_CELLS = "distinct cells"
    SIGNIFICANCE = "p-value"


class Outcome(StrEnum):
    """How a rule ended."""

    PASSED = "passed"
    FAILED = "failed"
    UNCHECKED = "not checked"
    """What the rule needs was not at hand; the reason says what."""


@dataclass(frozen=True)
class Protocol:
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
    outcome: Outcome
    figure: float | None
    reason: str


@dataclass(frozen=True)
class Verdict:
    """What the protocol says of a claim.

    Attributes
    ----------
    rules
        One result for each rule, in the order of `Rule`.
    evidence
        Votes and their p-value; of the weaker kind where the suspect gave no votes.
    """

    rules: tuple[RuleResult, ...]
    evidence: Evidence | WeakEvidence

    @property
    def accepted(self) -> bool:
        """Whether no rule failed; those that could not be checked are named in `open_questions`."""
        return not self.stopped_by

    @property
    def stopped_by(self) -> tuple[Rule, ...]:
        """The rules that failed."""
        return tuple(each.rule for each in self.rules if each.outcome is Outcome.FAILED)

    @property
    def open_questions(self) -> tuple[Rule, ...]:
        """The rules that were not checked."""
        return tuple(each.rule for each in self.rules if each.outcome is Outcome.UNCHECKED)


def judge(
    claim: Claim | Opening,
    votes: ArrayLike,
    *,
    protocol: Protocol | None = None,
    published: Collection[str] | None = None,
    suspect: Forest | None = None,
) -> Verdict:
    """Judge a claim, or the opened part of one, by a suspect's votes.

    Parameters
    ----------
    claim
        Already checked: read by `wm.claims` or `wm.disclosure`, which refuse edited ones.
    votes : (k, m)
        The suspect's class values on the claim's rows.
    protocol
        None: the default one.
    published
        Commitments known to be older than the suspect; None: nothing is known.
    suspect
        The suspect model, where the judge has it; needed to tell cells apart.

    Raises
    ------
    ClaimError
        Votes that do not fit the claim, or an impossible protocol.
    """
    protocol = _checked(protocol or Protocol())
    trigger_set = claim.trigger_set
    evidence = verify(votes, trigger_set.y, claim.bits, level=protocol.level)
    return Verdict(
        rules=(
            commitment_rule(claim.commitment, published),
            quota_rule(evidence.ones / evidence.n_trees, protocol),
            distinct_rows_rule(trigger_set.X, protocol),
            distinct_cells_rule(trigger_set.X, suspect, protocol),
            significance_rule(evidence),
        ),
        evidence=evidence,
    )


def judge_weakly(
    claim: Claim | Opening,
    evidence: WeakEvidence,
    *,
    protocol: Protocol | None = None,
    published: Collection[str] | None = None,
) -> Verdict:
    """Judge a claim by evidence without votes; `evidence` must be of this claim's rows.

    Raises
    ------
    ClaimError
        Evidence of another number of rows or another level, or an impossible protocol.
    """
    protocol = _checked(protocol or Protocol())
    trigger_set = claim.trigger_set
    if evidence.trigger_size != len(trigger_set.rows) or evidence.level != protocol.level:
        raise ClaimError(
            "the evidence is of another number of rows or another level than the claim is judged at"
        )
    return Verdict(
        rules=(
            commitment_rule(claim.commitment, published),
            quota_rule(claim.bits.ones / len(claim.bits), protocol),
            distinct_rows_rule(trigger_set.X, protocol),
            distinct_cells_rule(trigger_set.X, None, protocol),
            significance_rule(evidence),
        ),
        evidence=evidence,
    )


def _checked(protocol: Protocol) -> Protocol:
    ordered = 0 <= protocol.least_ones <= protocol.most_ones <= 1
    if not (0 < protocol.level < 1 and ordered and 0 < protocol.least_distinct <= 1):
        raise ClaimError(f"an impossible protocol: {protocol}")
    return protocol


def commitment_rule(commitment: str, published: Collection[str] | None) -> RuleResult:
    """Hold a commitment, which fits its claim, against those known to be older than the suspect."""
    if published is None:
        return RuleResult(
            Rule.COMMITMENT,
            Outcome.UNCHECKED,
            None,
            "it fits the claim; that it is older than the suspect must be shown by its publication",
        )
    if commitment in published:
        return RuleResult(
            Rule.COMMITMENT, Outcome.PASSED, None, "the commitment was published before the suspect was seen"
        )
    return RuleResult(
        Rule.COMMITMENT,
        Outcome.FAILED,
        None,
        f"not among the {len(published)} commitments published before: signature or rows may have been "
        "chosen after seeing the suspect",
    )


def quota_rule(share: float, protocol: Protocol) -> RuleResult:
    """Hold a shared signature's share of ones against the quota."""
    fits = protocol.least_ones <= share <= protocol.most_ones
    return RuleResult(
        Rule.QUOTA,
        Outcome.PASSED if fits else Outcome.FAILED,
        share,
        f"{share:.1%} of the bits are 1; {protocol.least_ones:.0%} to {protocol.most_ones:.0%} are asked for"
        + ("" if fits else ": trees that mostly agree are found around any ordinary row"),
    )


def distinct_rows_rule(X: NDArray[np.float32], protocol: Protocol) -> RuleResult:
    """Count distinct trigger rows, (k, d)."""
    found = len(np.unique(X, axis=0))
    return _distinct(Rule.DISTINCT_ROWS, found, len(X), "rows", protocol)


def distinct_cells_rule(X: NDArray[np.float32], suspect: Forest | None, protocol: Protocol) -> RuleResult:
    """Count distinct tuples of leaves that the trigger rows, (k, d), reach in the suspect."""
    if suspect is None:
        return RuleResult(
            Rule.DISTINCT_CELLS,
            Outcome.UNCHECKED,
            None,
            "the suspect model is not at hand: whether rows share all their leaves cannot be seen from votes",
        )
    found = len(np.unique(suspect.apply(X), axis=0))
    return _distinct(Rule.DISTINCT_CELLS, found, len(X), "leaf tuples", protocol)


def _distinct(rule: Rule, found: int, size: int, words: str, protocol: Protocol) -> RuleResult:
    share = found / size
    fits = share >= protocol.least_distinct
    return RuleResult(
        rule,
        Outcome.PASSED if fits else Outcome.FAILED,
        share,
        f"{found} distinct {words} among {size} trigger rows"
        + ("" if fits else ": the others are copies and prove nothing more"),
    )


def significance_rule(evidence: Evidence | WeakEvidence) -> RuleResult:
    """Hold the p-value against the level."""
    weak = f" ({evidence.source} only; {evidence.statistic})" if isinstance(evidence, WeakEvidence) else ""
    return RuleResult(
        Rule.SIGNIFICANCE,
        Outcome.PASSED if evidence.significant else Outcome.FAILED,
        evidence.log10_p,
        f"p = 10^{evidence.log10_p:.2f}, level {evidence.level:g}{weak}",
    )


def transcript(verdict: Verdict) -> str:
    """Return the verdict as text, one line for each rule, for the record."""
    lines = [f"{each.rule}: {each.outcome}: {each.reason}" for each in verdict.rules]
    if isinstance(verdict.evidence, Evidence):
        found = verdict.evidence
        lines.append(
            f"paper's rule (reported, decides nothing): {found.matched_bits} of {found.total_bits} bits match"
        )
    else:
        lines.append(f"assumed: {verdict.evidence.assumes}")
    if verdict.open_questions:
        lines.append(f"left open: {', '.join(verdict.open_questions)}")
    lines.append(f"verdict: {'accepted' if verdict.accepted else 'refused'}")
    return "\n".join(lines) + "\n"
