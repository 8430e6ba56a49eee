"""Parts of the package's error messages."""

from __future__ import annotations

from collections.abc import Sequence

_SHOWN = 10


def shown(names: Sequence[str]) -> str:
    """Return names for an error's text, at most ten of them."""
    listed = ", ".join(repr(name) for name in names[:_SHOWN])
    return listed if len(names) <= _SHOWN else f"{listed}, ... ({len(names)} in all)"


def reason(error: BaseException) -> str:
    """Return another library's error as part of one line."""
    return " ".join(str(error).split()) or type(error).__name__
