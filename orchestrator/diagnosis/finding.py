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
    mend
        What to do about it; empty where all is well.
    is_fault
        Whether campaigns cannot run like this.
    """

    what: str
    found: str
    mend: str = ""
    is_fault: bool = False


def mend_for(text: str, mends: Sequence[tuple[str, str]], otherwise: str) -> str:
    """Return the mend of the first words that occur in a server's error text, whatever their case."""
    lower = text.lower()
    return next((mend for words, mend in mends if words.lower() in lower), otherwise)
