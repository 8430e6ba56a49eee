"""Define the result of one check of `wm doctor`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class CheckResult:
    """The result of one check."""

    what: str
    found: str
    fix: str = ""
    """Empty if all is well."""
    is_fault: bool = False
    """Whether campaigns cannot run like this."""


def fix_for(text: str, fixes: Sequence[tuple[str, str]], otherwise: str) -> str:
    """Return the fix of the first phrase that occurs in a server's error text, in any case."""
    lower = text.lower()
    return next((fix for phrase, fix in fixes if phrase.lower() in lower), otherwise)
