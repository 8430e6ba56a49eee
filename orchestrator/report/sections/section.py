"""The content of a section of the page."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.report.charts import Figure
from orchestrator.report.table import Table

NOTHING_YET = "No such job has a result yet."

Pairs = tuple[tuple[str, str], ...]
"""Terms with their texts."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What a section shows; its first sentences, terms and tables are declared in the TOML file beside it."""

    headline: Pairs = ()
    """Topics and sentences for the summary at the top of the page."""
    caveats: tuple[str, ...] = ()
    """What a reader must know before trusting the numbers, for the summary too."""
    lead: str = ""
    """More sentences at its beginning."""
    facts: Pairs = ()
    """Terms and values."""
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    """Tables without rows are left out."""
    details: Pairs = ()
    """Long texts, folded, by title."""
