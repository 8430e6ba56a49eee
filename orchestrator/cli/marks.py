"""The mark in front of a verdict: a tick, a cross or a question mark."""

from __future__ import annotations

import sys

_PLAIN = {"✓": "+", "✗": "-"}


def mark(verdict: bool | None) -> str:
    """Return ✓ for a positive verdict, ✗ for a negative one and ? for an open one.

    Where the encoding of stdout has no such signs they are + and -.
    """
    if verdict is None:
        return "?"
    sign = "✓" if verdict else "✗"
    try:
        sign.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return _PLAIN[sign]
    return sign
