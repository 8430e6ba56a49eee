"""The sections of the page, in order, and the cards at its top; an attack without one is shown row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from orchestrator.report.data import CONFIGURATION, Findings
from orchestrator.report.sections import (
    calibration,
    campaign,
    claims,
    cost,
    detection,
    embedding,
    forgery,
    free_forgery,
    leakage,
    modification,
    schemes,
    suppression,
    verification,
)
from orchestrator.report.sections.section import NOTHING, NOTHING_YET, Answer, Grade, Question, Shown
from orchestrator.report.table import frame_table
from orchestrator.report.wording import counted, listed
from orchestrator.store.tables import JobState
from wm.attacks import registry

__all__ = [
    "NOTHING",
    "NOTHING_YET",
    "SECTIONS",
    "Card",
    "Section",
    "Shown",
    "answering",
    "cards",
    "not_asked_for",
    "sections",
    "shown_of",
]


@dataclass(frozen=True)
class Section:
    """A section: its anchor and title, how it is shown, and the kind of jobs that it is about, if any."""

    name: str
    title: str
    show: Callable[[Findings], Shown]
    kind: str = ""
    frame: str = ""
    """The frame without whose rows there is nothing to show yet."""
    applies: Callable[[Findings], bool] = lambda _: True
    """Whether it says anything of a campaign; only for sections without a kind."""


SECTIONS = (
    Section("accuracy", "Accuracy", embedding.accuracy, "embed"),
    Section("verification", "Verification", verification.show, "embed", "accuracy"),
    Section("leakage", "Leakage", leakage.show, "leakage", "leakage"),
    Section("detection", "Detection", detection.show, "detection", "detection"),
    Section("suppression", "Suppression", suppression.show, "suppression", "suppression"),
    Section("forgery", "Forgery", forgery.show, "forgery", "forgery"),
    Section("free-forgery", "Free forgery", free_forgery.show, "free-forgery", "free-forgery"),
    Section("modification", "Robustness", modification.show, "modification", "modification"),
    Section("calibration", "Calibration", calibration.show, "calibration", "calibration"),
    Section("claims", "Claims", claims.show, "claims", "claims"),
    Section("schemes", "Schemes", schemes.show, frame="accuracy", applies=schemes.has_several),
    Section("cost", "Computing cost", cost.show),
    Section("failures", "Jobs without a result", campaign.show_failures),
    Section("provenance", "Provenance", campaign.show_provenance),
)

_STEPS = {"split", "tune-fold", "tune", "baseline", "embed"}
"""Kinds of jobs that are no attacks."""


def sections(findings: Findings) -> Iterator[tuple[Section, Shown]]:
    """Yield the sections of what was asked for; attacks without one come before failed jobs."""
    yield from answering(findings)
    for section in SECTIONS:
        if not section.kind and section.applies(findings):
            yield section, shown_of(section, findings)


def answering(findings: Findings) -> Iterator[tuple[Section, Shown]]:
    """Yield those of them that are about results, not about the campaign itself."""
    kinds = list(dict.fromkeys(findings.frame("jobs")["kind"]))
    known = _STEPS | {section.kind for section in SECTIONS}
    others = [_generic(str(kind)) for kind in kinds if kind not in known]
    for section in (*(section for section in SECTIONS if section.kind in kinds), *others):
        yield section, shown_of(section, findings)


def shown_of(section: Section, findings: Findings) -> Shown:
    """Return what a section shows; where its frame has no rows, that there is nothing yet."""
    if section.frame and findings.frame(section.frame).empty:
        jobs = findings.frame("jobs")
        is_done = (jobs.loc[jobs["kind"] == section.kind, "state"] == JobState.DONE).all()
        text = NOTHING if is_done else NOTHING_YET
        return Shown(headline=((section.title, text),), lead=text)
    return section.show(findings)


def not_asked_for(findings: Findings) -> str:
    """Return the attacks that are not part of the campaign, in words; empty if all are."""
    kinds = set(findings.frame("jobs")["kind"]) | {"", *_STEPS}
    return listed(section.title.lower() for section in SECTIONS if section.kind not in kinds)


def _generic(kind: str) -> Section:
    """Return the section of an attack that has none: its rows, sorted by their place in the grid."""
    is_known = kind in registry.kinds()  # not if its package is missing here
    summary = registry.attack(kind).summary if is_known else f"Results of the attack {kind}"

    def show(findings: Findings) -> Shown:
        frame = findings.frame(kind)
        place = [name for name in (*CONFIGURATION, "repeat") if name in frame]
        rows = frame.sort_values(place, kind="stable")
        grid = len(frame.drop_duplicates(place)) if place else 0
        text = f"{counted(len(frame), 'row')} on {counted(grid, 'forest')}."
        means = frame.drop(columns=place).select_dtypes("number").astype(float).mean().dropna()
        numbers = f" Means: {listed(f'{name} {mean:.4g}' for name, mean in means.items())}."
        return Shown(
            headline=((kind, f"{text}{'' if means.empty else numbers}"),),
            lead=f"{summary}. {text}",
            tables=(frame_table(f"{kind}-table", f"Every row of {kind}", rows),),
        )

    return Section(kind, kind.replace("-", " ").replace("_", " ").capitalize(), show, kind, kind)


@dataclass(frozen=True)
class Card:
    """A question with the answers of all sections that have one."""

    question: Question
    answers: tuple[tuple[Section, Answer], ...]
    """The worst first, each with its section; empty while nothing answers it."""

    @property
    def grade(self) -> Grade:
        """Grade of the worst answer: a watermark is as good as its weakest side."""
        return self.answers[0][1].grade if self.answers else Grade.OPEN


def cards(found: Iterable[tuple[Section, Shown]]) -> list[Card]:
    """Return a card for every question, in their order."""
    answers = [(section, answer) for section, shown in found for answer in shown.answers]
    ranks = list(Grade)

    def rank(pair: tuple[Section, Answer]) -> int:
        return ranks.index(pair[1].grade)

    return [
        Card(question, tuple(sorted((one for one in answers if one[1].question is question), key=rank)))
        for question in Question
    ]
