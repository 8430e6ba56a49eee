"""Addresses of stores and brokers as messages and logs may show them."""

from __future__ import annotations

import re

_HIDDEN = "***"
_SECRET_PARAMETER = re.compile(r"([?&][^=&#]*(?:pass|pwd|secret|token|key)[^=&#]*=)[^&#]*", re.IGNORECASE)


def masked(url: str) -> str:
    """Return an address without what may be secret: passwords, lone user names, parameters of such names.

    A malformed address is masked too: what stands before its last @, and what follows its first colon if it
    names no scheme.
    """
    scheme, separator, rest = url.partition("://")
    if not separator:
        before, at, host = url.rpartition("@")
        name, colon, _ = (before or url).partition(":")
        return f"{name}{colon}{_HIDDEN}{at}{host if at else ''}" if colon or at else url
    credentials, at, place = rest.rpartition("@")
    user, colon, _ = credentials.partition(":")
    user = _SECRET_PARAMETER.sub(
        rf"\1{_HIDDEN}", user
    )  # an @ at the end of a parameter, which separates nothing
    shown = f"{user}:{_HIDDEN}@" if colon and user else f"{_HIDDEN}@"
    place = _SECRET_PARAMETER.sub(rf"\1{_HIDDEN}", place)
    return f"{scheme}://{shown if at else ''}{place}"
