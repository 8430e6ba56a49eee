"""What a section of the page is."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.report.charts import Figure
from orchestrator.report.table import Table

NOTHING_YET = "No such job has a result yet."

Pairs = tuple[tuple[str, str], ...]
"""Terms and what there is to say of each."""


@dataclass(frozen=True)
class Shown:
    """What a section shows.

    Attributes
    ----------
    lead
        Sentences before everything else.
    headline
        Topics and sentences for the summary at the top of the page.
    caveats
        What a reader must know before trusting the numbers: said first of all.
    facts
        Terms and values.
    figures, tables
        Tables without rows are left out.
    details
        Long texts, folded, by title.
    glossary
        Terms and meanings, for the end of the page.
    """

    lead: str = ""
    headline: Pairs = ()
    caveats: tuple[str, ...] = ()
    facts: Pairs = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    details: Pairs = ()
    glossary: Pairs = ()
