"""One thing that was looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes
    ----------
    what, found
        For people.
    fix
        What to do about it; empty where all is well.
    is_fault
        Whether campaigns cannot run like this.
    """

    what: str
    found: str
    fix: str = ""
    is_fault: bool = False


def fix_for(text: str, fixes: Sequence[tuple[str, str]], otherwise: str) -> str:
    """Return the fix of the first words that occur in a server's error text, whatever their case."""
    lower = text.lower()
    return next((fix for words, fix in fixes if words.lower() in lower), otherwise)
