"""Parts of the package's error messages."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence

_SHOWN = 10

Naming = Callable[[str, object], str]
"""Returns how a user sets an option of `Source` to a value (None: to any value)."""


def as_key(option: str, value: object = None) -> str:
    """Return an option as a campaign file has it.

    >>> as_key("positive"), as_key("missing", "drop"), as_key("drop", ["id"])
    ('positive =', "missing = 'drop'", "drop = ['id']")
    """
    if option == "header":
        return "header = true or false"
    return f"{option} =" if value is None else f"{option} = {value!r}"


def as_flag(option: str, value: object = None) -> str:
    """Return an option as the command line has it.

    >>> as_flag("positive"), as_flag("missing", "drop"), as_flag("drop", ["my id"])
    ('--positive', '--missing drop', "--drop 'my id'")
    """
    if option == "header":
        return "--header or --no-header"
    if value is None:
        return f"--{option}"
    values = value if isinstance(value, list) else [value]
    return " ".join(f"--{option} {_quoted(str(each))}" for each in values)


def as_argument(option: str, value: object = None) -> str:
    """Return what does the same as an option for a frame X that is given to `wm.embed`.

    >>> as_argument("categorical", "onehot"), as_argument("drop", ["id"]), as_argument("missing", "drop")
    ("categorical = 'onehot'", "X.drop(columns=['id'])", 'X.dropna() with its labels')
    """
    if option == "drop":
        return f"X.drop(columns={value!r})"
    if (option, value) == ("missing", "drop"):
        return "X.dropna() with its labels"
    return as_key(option, value)


def _quoted(text: str) -> str:
    """Return a word for a shell, on one line."""
    return shlex.quote(text) if text.isprintable() else repr(text)


def shown(names: Sequence[str]) -> str:
    """Return names for an error's text, at most ten of them."""
    listed = ", ".join(repr(name) for name in names[:_SHOWN])
    return listed if len(names) <= _SHOWN else f"{listed}, ... ({len(names)} in all)"


def reason(error: BaseException) -> str:
    """Return another library's error as part of one line."""
    return " ".join(str(error).split()) or type(error).__name__
