"""The verdict: a claim and a suspect's answers, held against every rule of `wm.verification.rules`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from wm.claims.claim import Claim
from wm.claims.opening import Opening
from wm.errors import ClaimError
from wm.forest import Forest
from wm.verification.evidence import Evidence, verify
from wm.verification.questions import Heard
from wm.verification.rules import (
    Policy,
    Rule,
    RuleOutcome,
    RuleResult,
    checked_policy,
    choice_rule,
    commitment_rule,
    distinct_cells_rule,
    distinct_rows_rule,
    quota_rule,
    significance_rule,
)
from wm.verification.weak_evidence import WeakEvidence, verify_labels, verify_probabilities

__all__ = [
    "Policy",
    "Rule",
    "RuleOutcome",
    "RuleResult",
    "Verdict",
    "judge",
    "judge_answers",
    "judge_weakly",
    "transcript",
]


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
        return tuple(each.rule for each in self.rules if each.outcome is RuleOutcome.FAILED)

    @property
    def open_questions(self) -> tuple[Rule, ...]:
        """The rules that were not checked."""
        return tuple(each.rule for each in self.rules if each.outcome is RuleOutcome.UNCHECKED)


def judge(
    claim: Claim | Opening,
    votes: ArrayLike,
    *,
    policy: Policy | None = None,
    published: Collection[str] | None = None,
    suspect: Forest | None = None,
    challenge: bytes | None = None,
) -> Verdict:
    """Judge a claim, or the opened part of one, by a suspect's votes.

    Parameters
    ----------
    claim
        Already checked: read by `wm.claims.claim` or `wm.claims.opening`, which refuse edited ones.
    votes : (k, m)
        The suspect's class values on the claim's rows.
    policy
        None: the default one.
    published
        Commitments known to be older than the suspect; None: nothing is known.
    suspect
        The suspect model, where the judge has it; needed to tell cells apart.
    challenge
        The judge's, where only some rows are opened: it draws which (`wm.claims.opening.draw_rows`).

    Raises
    ------
    ClaimError
        Votes that do not fit the claim, or an impossible policy.
    """
    policy = checked_policy(policy)
    evidence = verify(votes, claim.trigger_set.y, claim.bits, level=policy.level)
    return _verdict(claim, evidence, policy, published=published, suspect=suspect, challenge=challenge)


def judge_weakly(
    claim: Claim | Opening,
    evidence: WeakEvidence,
    *,
    policy: Policy | None = None,
    published: Collection[str] | None = None,
    challenge: bytes | None = None,
) -> Verdict:
    """Judge a claim by evidence without votes; `evidence` must be of this claim's rows.

    Raises
    ------
    ClaimError
        Evidence of another number of rows or another level, or an impossible policy.
    """
    policy = checked_policy(policy)
    if evidence.trigger_size != len(claim.trigger_set.rows) or evidence.level != policy.level:
        raise ClaimError(
            "the evidence is of another number of rows or another level than the claim is judged at"
        )
    return _verdict(claim, evidence, policy, published=published, suspect=None, challenge=challenge)


def _verdict(
    claim: Claim | Opening,
    evidence: Evidence | WeakEvidence,
    policy: Policy,
    *,
    published: Collection[str] | None,
    suspect: Forest | None,
    challenge: bytes | None,
) -> Verdict:
    """Hold a claim and what the suspect answered against every rule."""
    rows = claim.trigger_set.X
    return Verdict(
        rules=(
            commitment_rule(claim.commitment, published),
            choice_rule(claim, challenge),
            quota_rule(claim.bits.ones / len(claim.bits), policy),
            distinct_rows_rule(rows, policy),
            distinct_cells_rule(rows, suspect, policy),
            significance_rule(evidence),
        ),
        evidence=evidence,
    )


def judge_answers(
    claim: Claim | Opening,
    heard: Heard,
    *,
    policy: Policy | None = None,
    published: Collection[str] | None = None,
    suspect: Forest | None = None,
    challenge: bytes | None = None,
) -> Verdict:
    """Judge a claim by whatever the suspect answered: `judge` for votes, else `judge_weakly`.

    Parameters
    ----------
    heard
        Answers to the claim's rows, and to decoys with 0 and 1 as true labels.

    Raises
    ------
    ClaimError
        Answers that do not fit the claim, no decoys where there are no votes, or an impossible policy.
    """
    policy = checked_policy(policy)
    kind, labels = heard.triggers.kind, claim.trigger_set.y
    if kind == "votes":
        votes = heard.triggers.values
        return judge(claim, votes, policy=policy, published=published, suspect=suspect, challenge=challenge)
    if not len(heard.decoys):
        raise ClaimError(
            f"the suspect gives {kind} only: decoys, ordinary rows with their labels, are needed too"
        )
    if kind == "probabilities":
        test = verify_probabilities
        triggers, decoys = (
            np.where(truth == 1, answers.values, 1.0 - answers.values)
            for answers, truth in ((heard.triggers, labels), (heard.decoys, heard.decoy_labels))
        )
    else:
        test = verify_labels
        triggers, decoys = heard.triggers.values != labels, heard.decoys.values != heard.decoy_labels
    evidence = test(triggers, decoys, claim.bits, level=policy.level)
    return judge_weakly(claim, evidence, policy=policy, published=published, challenge=challenge)


def transcript(verdict: Verdict, *, about: Mapping[str, str] | None = None) -> str:
    """Return the verdict as text, one line for each rule, for the record.

    It holds no time of its own: the same claim and answers give the same text years later.

    Parameters
    ----------
    about
        What was judged, name by name, for the first lines.
    """
    # Some of these texts are the claimant's: none may pass for a line of the judge's.
    lines = [
        f"{name}: {value if value.isprintable() else repr(value)}" for name, value in (about or {}).items()
    ]
    lines += [f"{each.rule}: {each.outcome}: {each.reason}" for each in verdict.rules]
    found = verdict.evidence
    if isinstance(found, Evidence):
        lines.append(
            f"paper's rule (reported, decides nothing): {found.matched_bits} of {found.total_bits} bits match"
        )
    else:
        lines.append(
            f"compared: {found.on_triggers:.4g} on {found.trigger_size} trigger rows, {found.on_decoys:.4g} "
            f"on {found.decoys} decoys; {found.expected:.4g} is expected of the watermark"
        )
        lines.append(f"assumed: {found.assumes}")
    if verdict.open_questions:
        lines.append(f"left open: {', '.join(verdict.open_questions)}")
    lines.append(f"verdict: {'accepted' if verdict.accepted else 'refused'}")
    return "\n".join(lines) + "\n"
