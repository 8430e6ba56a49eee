"""The verdict: all rules of `wm.verification.rules` applied to a claim and a suspect's answers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from numpy.typing import ArrayLike

from wm.claims.claim import Claim
from wm.forest import Forest
from wm.signature import Signature
from wm.verification.evidence import Evidence, verify
from wm.verification.rules import (
    Policy,
    Rule,
    RuleOutcome,
    RuleResult,
    commitment_rule,
    distinct_cells_rule,
    distinct_rows_rule,
    quota_rule,
    significance_rule,
)


@dataclass(frozen=True)
class Verdict:
    """The results of all rules for one claim.

    Attributes
    ----------
    rules
        One result for each rule, in the order of `Rule`.
    evidence
        Votes and their p-value.
    """

    rules: tuple[RuleResult, ...]
    evidence: Evidence

    @property
    def stopped_by(self) -> tuple[Rule, ...]:
        """The rules that failed."""
        return tuple(each.rule for each in self.rules if each.outcome is RuleOutcome.FAILED)


def judge(
    claim: Claim,
    votes: ArrayLike,
    *,
    policy: Policy | None = None,
    published: Collection[str] | None = None,
    suspect: Forest | None = None,
) -> Verdict:
    """Judge a claim of version 1 or 2 by a suspect's votes.

    Its rows and signature were the claimant's choice: what no rule refuses is an indication, never a proof.
    The quota of ones is for signatures: the p-value of a codebook knows the chance of a one.

    Parameters
    ----------
    claim
        A checked one.
    votes
        The suspect's votes on the claim's rows, (k, m).
    policy
        None: the default one.
    published
        Commitments known to be older than the suspect; None: nothing is known.
    suspect
        The suspect model, if the judge has it; only it shows which leaves the rows reach.

    Raises
    ------
    ClaimError
        Votes that do not fit the claim.
    """
    policy = policy or Policy()
    bits = claim.bits
    evidence = verify(votes, claim.trigger_set.y, bits, level=policy.level)
    rows = claim.trigger_set.X
    return Verdict(
        rules=(
            commitment_rule(claim.commitment, published),
            *([quota_rule(bits.share, policy)] if isinstance(bits, Signature) else []),
            distinct_rows_rule(rows, policy),
            distinct_cells_rule(rows, suspect, policy),
            significance_rule(evidence),
        ),
        evidence=evidence,
    )
