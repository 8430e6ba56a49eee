"""What a misspelt name was meant to be."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence


def closest(given: str, known: Sequence[str]) -> str | None:
    """Return the known name that is nearest to the given one; None if none is near."""
    return next(iter(difflib.get_close_matches(given, known, n=1, cutoff=0.7)), None)


def suggest(message: str, given: str, known: Sequence[str]) -> str:
    """Return a message, with the known name that is nearest to the given one if any is near."""
    meant = closest(given, known)
    return message if meant is None else f"{message}; did you mean `{meant}`?"


def readable(message: str) -> str:
    """Return a message as it goes on after a path; from names that it lists the nearest is suggested."""
    message = message[:1].lower() + message[1:]
    named = re.search(r"unknown [^']*'(.*?)'[:;] known are:? (.*)", message)
    return message if named is None else suggest(message, named[1], re.findall(r"[\w.<>:-]+", named[2]))
