"""Watermarking schemes whose claims a judge can read, and the tests of each, a line for each scheme."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from wm.codebook import BOOSTED
from wm.errors import ClaimError
from wm.verification.answers import AnswerKind, Answers
from wm.verification.boosted import boosted_tests
from wm.verification.randomization import RowTruth, Test, run_tests

Tests = Callable[[Mapping[AnswerKind, Answers], RowTruth], tuple[Test, ...]]
"""A suspect's answers and what the draw says of the rows to every test that the answers allow."""

EVIDENCE: dict[str, Tests] = {"paper": run_tests, "codebook": run_tests, BOOSTED: boosted_tests}
"""Tests by the name in a claim's header."""

OF_MARGINS = (BOOSTED,)
"""Schemes whose models add margins: their trees' votes are the signs about their centres."""


def tests_of(scheme: str) -> Tests:
    """Return the tests of a scheme.

    Raises
    ------
    ClaimError
        A scheme that this program cannot judge: a claimant might name any, and read its draw as he likes.
    """
    if scheme not in EVIDENCE:
        known = ", ".join(sorted(EVIDENCE))
        raise ClaimError(
            f"the claim is of scheme {scheme[:40]!r}, which cannot be judged; known are: {known}"
        )
    return EVIDENCE[scheme]
