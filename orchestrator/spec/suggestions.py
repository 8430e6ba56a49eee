"""Suggest the name that a misspelt one was meant to be."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence


def closest(given: str, known: Sequence[str]) -> str | None:
    """Return the known name that is most similar to the given one; None if none is similar."""
    return next(iter(difflib.get_close_matches(given, known, n=1, cutoff=0.7)), None)


def suggest(message: str, given: str, known: Sequence[str]) -> str:
    """Return a message, followed by the most similar known name if there is one."""
    meant = closest(given, known)
    return message if meant is None else f"{message}; did you mean `{meant}`?"


def readable(message: str) -> str:
    """Return a message in lower case to follow a path, with a suggestion from the names that it lists."""
    message = message[:1].lower() + message[1:]
    named = re.search(r"unknown [^']*'(.*?)'[:;] known are:? (.*)", message)
    return message if named is None else suggest(message, named[1], re.findall(r"[\w.<>:-]+", named[2]))
