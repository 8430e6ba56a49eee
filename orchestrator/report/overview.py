"""The overview at the top of the page: a card for each question, from the answers of the sections."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.report.sections import Section, Shown
from orchestrator.report.sections.section import Answer, Grade, Question


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
