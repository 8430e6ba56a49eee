"""The record of a judgement as text, and judgements of claims of versions 1 and 2 in the same form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from wm.claims.claim import Claim
from wm.forest import Forest
from wm.verification.judgement import Judgement, VerdictKind
from wm.verification.randomization import Test, marks_floor
from wm.verification.rules import Policy, RuleOutcome
from wm.verification.verdict import judge


def judge_old_claim(
    claim: Claim, votes: ArrayLike, *, level: float, suspect: Forest | None = None
) -> Judgement:
    """Judge a claim of version 1 or 2 by a suspect's votes, (k, m): an indication at best.

    Raises
    ------
    ClaimError
        As in `wm.verification.verdict.judge`.
    """
    found = judge(claim, votes, policy=Policy(level=level), suspect=suspect)
    evidence = found.evidence
    stopped = [each for each in found.rules if each.outcome is RuleOutcome.FAILED]
    test = Test(
        "bits",
        evidence.log10_p,
        marks_floor(claim.bits),
        evidence.log10_p,
        f"{evidence.matched_bits} of {evidence.total_bits} votes on trigger rows fit the signature",
    )
    return Judgement(
        verdict=VerdictKind.NOT_VERIFIED if stopped else VerdictKind.INDICATION,
        reason=stopped[0].reason if stopped else f"p = 10^{evidence.log10_p:.1f}, level {level:g}",
        tests=(test,),
        log10_p=evidence.log10_p,
        level=level,
        multiplicity=1.0,
        factors=(),
        open_questions=(
            f"a claim of version {claim.version}: rows and signature were the claimant's choice",
            *(each.reason for each in found.rules if each.outcome is RuleOutcome.UNCHECKED),
        ),
        notes=tuple(f"{each.rule}: {each.reason}" for each in found.rules if each.rule != "p-value"),
        needed="a claim of version 3, made before the model was released",
    )


def transcript(judgement: Judgement, *, about: Mapping[str, Any] | None = None) -> str:
    """Return a judgement as text, complete, one fact a line.

    It holds no date of its own: the same claim, answers and program give the same text years later.

    Parameters
    ----------
    about
        Names and values of what was judged, for the first lines.
    """
    # The claimant wrote some of these texts: none may look like a line of the judge's.
    lines = [f"{name}: {_printable(str(value))}" for name, value in (about or {}).items()]
    lines += [
        f"test {each.name}: p = 10^{each.log10_p:.2f}, adjusted 10^{each.log10_adjusted:.2f}, at best "
        f"10^{each.log10_floor:.2f}: {each.figure}"
        for each in judgement.tests
    ]
    lines += [f"factor: {_printable(each)}" for each in judgement.factors]
    lines.append(f"multiplicity: {judgement.multiplicity:g}")
    lines.append(f"p after all corrections: 10^{judgement.log10_p:.2f}; level {judgement.level:g}")
    lines += [f"note: {_printable(each)}" for each in judgement.notes]
    lines += [f"open: {_printable(each)}" for each in judgement.open_questions]
    if judgement.needed:
        lines.append(f"needed: {judgement.needed}")
    lines.append(
        "not covered: a suspect trained on data that the claimant spread after the draw; theft of model and "
        "secret together"
    )
    lines.append(f"verdict: {judgement.verdict}: {_printable(judgement.reason)}")
    return "\n".join(lines) + "\n"


def _printable(text: str) -> str:
    return text if text.isprintable() else repr(text)
