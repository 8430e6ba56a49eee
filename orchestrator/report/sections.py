"""The parts of the page: what each asks, its pictures and tables; an attack not asked for has none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from orchestrator.report import calibrated, tables
from orchestrator.report.cells import Table
from orchestrator.report.findings import Findings
from orchestrator.report.grid import by_configuration
from orchestrator.report.headline import NOTHING_YET
from orchestrator.report.headline.calibration import calibration as calibration_statement
from orchestrator.report.pictures.modification import MOST_DETAILED
from orchestrator.report.summaries import (
    accuracy_summaries,
    budget_summaries,
    detection_summaries,
    finding_summaries,
    forgery_summaries,
    form_summaries,
    free_forgery_summaries,
    guess_summaries,
    modification_summaries,
    presence_summaries,
    size_curves,
    suppression_summaries,
)
from orchestrator.report.tables.forgery import PLACES
from workers.jobs import JobKind


@dataclass(frozen=True)
class Shown:
    """A picture as the template embeds it."""

    name: str
    section: str
    title: str
    caption: str
    alternative: str
    source: str


@dataclass(frozen=True)
class Section:
    """One part of the page.

    Attributes
    ----------
    name, title
        Anchor and heading.
    lead
        Sentences before everything else: what it shows, or why it is empty.
    pictures, tables
        Content; empty tables are left out.
    """

    name: str
    title: str
    lead: str
    pictures: tuple[Shown, ...]
    tables: tuple[Table, ...]


@dataclass(frozen=True)
class _Part:
    """How to make a section: the jobs it tells of, whether they gave anything, and what it holds then."""

    kind: str
    name: str
    title: str
    lead: Callable[[Findings], str]
    is_empty: Callable[[Findings], bool]
    tables: Callable[[Findings], Sequence[Table]]


def sections(findings: Findings, shown: Sequence[Shown]) -> list[Section]:
    """Return the sections of all that the campaign asks for, in order."""
    return [
        Section(
            part.name,
            part.title,
            NOTHING_YET if part.is_empty(findings) else part.lead(findings),
            tuple(picture for picture in shown if picture.section == part.name),
            tuple(table for table in part.tables(findings) if table.rows),
        )
        for part in _PARTS
        if findings.asks_for(part.kind)
    ]


def _accuracy(findings: Findings) -> Sequence[Table]:
    return (
        tables.accuracy_table(accuracy_summaries(findings.accuracy)),
        tables.embeddings_table(findings.accuracy),
    )


def _leakage(findings: Findings) -> Sequence[Table]:
    return (
        tables.forms_table(form_summaries(findings.leakage, findings.accuracy)),
        tables.findings_table(finding_summaries(findings.leakage)),
    )


def _detection(findings: Findings) -> Sequence[Table]:
    calibration = findings.calibration
    several = findings.repeats > 1
    return (
        tables.guesses_table(guess_summaries(findings.guesses), calibration),
        tables.presence_table(presence_summaries(findings.presence), calibration),
        *((tables.detection_table(detection_summaries(findings.detection), calibration),) if several else ()),
        tables.detections_table(findings.detection, calibration),
    )


def _suppression(findings: Findings) -> Sequence[Table]:
    summaries = suppression_summaries(findings.suppression)
    return (
        tables.suppression_table(summaries),
        tables.filter_table(summaries),
        tables.budget_table(budget_summaries(findings.budget_curves)),
    )


def _forgery(findings: Findings) -> Sequence[Table]:
    curves = size_curves(findings.distances, findings.least_forgery, findings.cap, PLACES)
    return (
        tables.distances_table(curves),
        tables.sizes_table(curves, findings.cap),
        tables.forgery_table(forgery_summaries(findings.forgery)),
        tables.undecided_table(findings.forgery),
    )


def _modification_lead(findings: Findings) -> str:
    configurations = sum(1 for _ in by_configuration(findings.modification))
    some = (
        f" Of {configurations} configurations the first {MOST_DETAILED} are drawn modification by "
        "modification; the overview and the table have all."
        if configurations > MOST_DETAILED
        else ""
    )
    return (
        "What does a thief have to do to the stolen forest for the claim to fail, and what accuracy does "
        "that cost? Bits and exact match are the paper's; the p-values are what a judge goes by."
        f"{some}{_false_positives(findings)}"
    )


def _false_positives(findings: Findings) -> str:
    """Return the counted false positives of the p-values of modified forests, where they were counted."""
    names = {
        "p from votes": calibrated.VOTES,
        "p of an alignment": calibrated.ALIGNED,
        "p from vote shares": calibrated.SHARES,
    }
    counts = {
        shown: found
        for shown, name in names.items()
        if (found := calibrated.false_positives(findings.calibration, name)) is not None
    }
    if not counts:
        return ""
    texts = [f"{shown}: {found}" for shown, found in counts.items()]
    return (
        f" Of false claims, so many had p \N{LESS-THAN OR EQUAL TO} {calibrated.LEVEL:g} by chance: "
        f"{'; '.join(texts)}."
    )


def _calibration_lead(findings: Findings) -> str:
    return (
        "Do the p-values of this page keep what they promise? Each is counted over false claims: at level "
        f"5%, at most 5% of them may be as small. {calibration_statement(findings)}"
    )


_PARTS = (
    _Part(
        JobKind.EMBED,
        "accuracy",
        "Accuracy",
        lambda _: (
            "What the watermark costs, against two honest forests trained on the same rows: the standard "
            "one, and one with the watermarked forest's limits, which tells the cost of the limits from that "
            "of the flipped labels."
        ),
        lambda findings: findings.accuracy.empty,
        _accuracy,
    ),
    _Part(
        JobKind.EMBED,
        "verification",
        "Verification",
        lambda _: (
            "Each claim held against its watermarked forest, and against the honest standard forest, where "
            "it should find nothing."
        ),
        lambda findings: findings.accuracy.empty,
        lambda findings: (tables.verification_table(findings.accuracy, findings.calibration),),
    ),
    _Part(
        "leakage",
        "leakage",
        "Leakage",
        lambda _: (
            "What does the model file say beside its predictions? As trained, scikit-learn keeps weights, "
            "counts and seeds of the training; as released, it should not; the honest forest is the control."
        ),
        lambda findings: findings.leakage.empty,
        _leakage,
    ),
    _Part(
        "detection",
        "detection",
        "Detection",
        lambda _: (
            "Can the signature be read off the bare forest: the shape of its trees, or their votes? Is it "
            "seen to be watermarked at all?"
        ),
        lambda findings: findings.detection.empty and findings.guesses.empty and findings.presence.empty,
        _detection,
    ),
    _Part(
        "suppression",
        "suppression",
        "Suppression",
        lambda _: (
            "Can a thief spot the judge's trigger queries by their votes, and answer them differently? And "
            "read the signature off them?"
        ),
        lambda findings: findings.suppression.empty,
        _suppression,
    ),
    _Part(
        JobKind.FORGERY,
        "forgery",
        "Forgery",
        lambda _: (
            "Can a false owner make a trigger set of their own for the model? Each query asks for one forged "
            "instance within eps of a test row, or for the nearest one."
        ),
        lambda findings: findings.forgery.empty and findings.distances.empty,
        _forgery,
    ),
    _Part(
        "free-forgery",
        "free-forgery",
        "Free forgery",
        lambda _: (
            "What if the false owner chooses the signature after seeing the model, or has read the true one "
            "off it? Which rule of verification then stops the claim?"
        ),
        lambda findings: findings.free_forgery.empty,
        lambda findings: (tables.free_forgery_table(free_forgery_summaries(findings.free_forgery)),),
    ),
    _Part(
        "modification",
        "modification",
        "Robustness",
        _modification_lead,
        lambda findings: findings.modification.empty,
        lambda findings: (tables.modification_table(modification_summaries(findings.modification)),),
    ),
    _Part(
        "calibration",
        "calibration",
        "Calibration",
        _calibration_lead,
        lambda findings: findings.calibration.empty,
        lambda findings: (tables.calibration_table(findings.calibration),),
    ),
)
