"""The verdict: all rules of `wm.verification.rules` applied to a claim and a suspect's answers."""

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
from wm.verification.questions import SortedAnswers
from wm.verification.rules import (
    Policy,
    Rule,
    RuleOutcome,
    RuleResult,
    choice_rule,
    commitment_rule,
    distinct_cells_rule,
    distinct_rows_rule,
    quota_rule,
    significance_rule,
)
from wm.verification.weak_evidence import WeakEvidence, verify_labels, verify_probabilities


@dataclass(frozen=True)
class Verdict:
    """The results of all rules for one claim.

    Attributes
    ----------
    rules
        One result for each rule, in the order of `Rule`.
    evidence
        Votes and their p-value; of the weaker kind if the suspect gave no votes.
    """

    rules: tuple[RuleResult, ...]
    evidence: Evidence | WeakEvidence

    @property
    def accepted(self) -> bool:
        """Whether no rule failed; `open_questions` names those that could not be checked."""
        return not self.stopped_by

    @property
    def stopped_by(self) -> tuple[Rule, ...]:
        """The rules that failed."""
        return self._rules(RuleOutcome.FAILED)

    @property
    def open_questions(self) -> tuple[Rule, ...]:
        """The rules that were not checked."""
        return self._rules(RuleOutcome.UNCHECKED)

    def _rules(self, outcome: RuleOutcome) -> tuple[Rule, ...]:
        return tuple(each.rule for each in self.rules if each.outcome is outcome)


def judge(
    claim: Claim | Opening,
    answers: SortedAnswers | ArrayLike,
    *,
    policy: Policy | None = None,
    published: Collection[str] | None = None,
    suspect: Forest | None = None,
    challenge: bytes | None = None,
) -> Verdict:
    """Judge a claim, or the opened part of one, by a suspect's answers.

    Parameters
    ----------
    claim
        A checked one, as `wm.claims.opening.read_claim_or_opening` returns it.
    answers
        The suspect's votes on the claim's rows, (k, m), or its answers to these rows and decoys.
    policy
        None: the default one.
    published
        Commitments known to be older than the suspect; None: nothing is known.
    suspect
        The suspect model, if the judge has it; only it shows which leaves the rows reach.
    challenge
        The judge's, if only some rows are opened; it draws which (`wm.claims.opening.draw_rows`).

    Raises
    ------
    ClaimError
        Answers that do not fit the claim, or neither votes nor decoys.
    """
    policy = policy or Policy()
    evidence = _evidence(claim, answers, policy.level)
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


def _evidence(
    claim: Claim | Opening, answers: SortedAnswers | ArrayLike, level: float
) -> Evidence | WeakEvidence:
    """Compare the answers with the signature, by the test for their kind."""
    labels = claim.trigger_set.y
    if not isinstance(answers, SortedAnswers):
        return verify(answers, labels, claim.bits, level=level)
    kind = answers.triggers.kind
    if kind == "votes":
        return verify(answers.triggers.values, labels, claim.bits, level=level)
    if len(answers.triggers) != len(labels):
        raise ClaimError(f"{len(labels)} rows are claimed, but {len(answers.triggers)} are answered")
    if not len(answers.decoys):
        raise ClaimError(
            f"the suspect gives {kind} only: decoys, ordinary rows with their labels, are needed too"
        )
    pairs = ((answers.triggers.values, labels), (answers.decoys.values, answers.decoy_labels))
    if kind == "probabilities":
        triggers, decoys = (np.where(truth == 1, share, 1.0 - share) for share, truth in pairs)
        return verify_probabilities(triggers, decoys, claim.bits, level=level)
    triggers, decoys = (found != truth for found, truth in pairs)
    return verify_labels(triggers, decoys, claim.bits, level=level)


def transcript(verdict: Verdict, *, about: Mapping[str, str] | None = None) -> str:
    """Return the verdict as text, one line for each rule.

    It holds no date: the same claim and answers give the same text years later.

    Parameters
    ----------
    about
        Names and values of what was judged, for the first lines.
    """
    # The claimant wrote some of these texts: none may look like a line of the judge's.
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
