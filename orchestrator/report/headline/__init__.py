"""What a campaign found, in plain words and with its numbers: the first thing on the page.

One module for each kind of result; `statement` has what they share, `caveats` what to read first.
"""

from __future__ import annotations

from collections.abc import Callable

from orchestrator.report.findings import Findings
from orchestrator.report.headline.calibration import calibration
from orchestrator.report.headline.caveats import caveats
from orchestrator.report.headline.detection import detection
from orchestrator.report.headline.embedding import cost, embedded, verified
from orchestrator.report.headline.forgery import forgery, free_forgery
from orchestrator.report.headline.leakage import leakage
from orchestrator.report.headline.modification import modification
from orchestrator.report.headline.statement import NOTHING_YET, Statement
from orchestrator.report.headline.suppression import suppression
from orchestrator.report.wording import listed
from workers.jobs import JobKind

__all__ = ["NOTHING_YET", "Statement", "caveats", "headline"]

_ATTACKS: tuple[tuple[str, str, Callable[[Findings], str]], ...] = (
    ("leakage", "Leakage", leakage),
    ("detection", "Detection", detection),
    ("suppression", "Suppression", suppression),
    (JobKind.FORGERY, "Forgery", forgery),
    ("free-forgery", "Free forgery", free_forgery),
    ("modification", "Robustness", modification),
    ("calibration", "Calibration", calibration),
)
"""What may be asked for, in the order of the page."""


def headline(findings: Findings) -> list[Statement]:
    """Return the summary: what was embedded, whether it verifies, its cost, and what each attack got."""
    asked = [(topic, tell) for kind, topic, tell in _ATTACKS if findings.asks_for(kind)]
    others = [topic.lower() for kind, topic, _ in _ATTACKS if not findings.asks_for(kind)]
    return [
        Statement("Embedded", embedded(findings)),
        Statement("Verified", verified(findings)),
        Statement("Cost in accuracy", cost(findings)),
        *(Statement(topic, tell(findings)) for topic, tell in asked),
        *([Statement("Not part of this campaign", f"{listed(others)}.")] if others else []),
    ]
