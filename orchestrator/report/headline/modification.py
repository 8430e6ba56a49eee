"""What modified forests kept."""

from __future__ import annotations

import numpy as np

from orchestrator.report.findings import Findings
from orchestrator.report.headline.statement import NOTHING_YET, across
from orchestrator.report.summaries import ModificationSummary, modification_summaries
from orchestrator.report.wording import counted, p_value, signed
from wm.verification.evidence import DEFAULT_LEVEL

_CHEAP = -1.0
"""Accuracy change in points above which a modification costs a thief little."""


def modification(findings: Findings) -> str:
    """Tell how often the paper's rule and the p-values survive, and what breaks them at the least cost."""
    frame = findings.modification
    if frame.empty:
        return NOTHING_YET
    level = np.log10(DEFAULT_LEVEL)
    kept = (frame["log10_p"] <= level) | (frame["log10_p_shares"] <= level)
    return (
        f"Over {counted(frame['modification'].nunique(), 'modification')}, the exact match survives in "
        f"{int(frame['exact_match'].sum()):,} of {counted(len(frame), 'run')}; p from votes or from vote "
        f"shares stays at or below {p_value(DEFAULT_LEVEL)} in {int(kept.sum()):,}. "
        f"{_cheapest(modification_summaries(frame), level)}"
    )


def _cheapest(summaries: list[ModificationSummary], level: float) -> str:
    """Return which modification loses the claim in every run at the least cost in accuracy."""
    breaking = [row for row in summaries if min(row.log10_p.least, row.log10_p_shares.least) > level]
    if not breaking:
        return "None brings both p-values above that in all of its runs."
    best = max(breaking, key=lambda row: row.accuracy_change.mean)
    cheap = len({row.modification for row in breaking if row.accuracy_change.mean >= _CHEAP})
    return (
        f"The cheapest that brings both above that in all of its runs ({best.bits.n:,}) is "
        f"{best.modification} at {best.strengths} ({best.configuration}), with "
        f"{across(best.accuracy_change, signed)} points of accuracy. At no more than {abs(_CHEAP):g} point: "
        f"{counted(cheap, 'modification')}."
    )
