"""The content of a section of the page, and its answers to a reader's questions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from orchestrator.report.charts import Figure
from orchestrator.report.table import Table

NOTHING_YET = "No such job has a result yet."

NOTHING = "All such jobs are done, and have no rows: the attack does not apply to what was embedded."

Pairs = tuple[tuple[str, str], ...]
"""Terms with their texts."""


class Question(StrEnum):
    """A question that readers bring; the overview has a card for each."""

    VERIFIED = "Is it verified?"
    COST = "What does it cost?"
    LEAKS = "What leaks?"
    FORGED = "Can it be forged?"
    SURVIVES = "Does it survive?"


class Grade(StrEnum):
    """How an answer is for the owner of a watermark, from the worst."""

    BAD = "bad"
    MIXED = "mixed"
    OPEN = "open"
    GOOD = "good"

    @property
    def sign(self) -> str:
        """A sign that tells grades apart without colour."""
        return {"bad": "\N{BALLOT X}", "mixed": "\N{ALMOST EQUAL TO}", "open": "?", "good": "\N{CHECK MARK}"}[
            self
        ]


@dataclass(frozen=True)
class Answer:
    """A section's answer to a question: one number, with what it is a number of."""

    question: Question
    grade: Grade
    number: str
    """The number, as short as it can be."""
    of: str
    """What it counts or measures, in a few words that follow it."""
    spread: str = ""
    """Spread of the single results, and their number."""


def nothing_to_survive(state: str) -> Answer:
    """Return that attacks have nothing to take, as no claim was in some state before them."""
    return Answer(Question.SURVIVES, Grade.OPEN, "Nothing", f"to survive: no claim was {state} before")


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What a section shows; its first sentences, terms and tables are declared in the TOML file beside it."""

    answers: tuple[Answer, ...] = ()
    """Its answers for the overview at the top of the page."""
    headline: Pairs = ()
    """Topics and sentences that say what was found."""
    caveats: tuple[str, ...] = ()
    """What a reader must know before trusting the numbers, for the top of the page."""
    lead: str = ""
    """More sentences at its beginning."""
    facts: Pairs = ()
    """Terms and values."""
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    """Tables without rows are left out."""
    details: Pairs = ()
    """Long texts, folded, by title."""
