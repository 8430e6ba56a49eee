"""Checked access to the parsed content of a model file, which may be hostile."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import ModelError

_SHOWN = 60


def parse_json(data: bytes) -> Any:
    """Return the content of a JSON document.

    Raises
    ------
    ModelError
        It is not JSON, or too deeply nested.
    """
    try:
        return json.loads(data)
    except RecursionError as reason:
        raise ModelError("not readable JSON: nested too deeply") from reason
    except ValueError as reason:  # not JSON, not UTF-8, a number of thousands of digits
        raise ModelError(f"not readable JSON ({shown(reason)})") from reason


def shown(value: object) -> str:
    """Return a short printable form of a value from a file, for an error's text."""
    text = str(value)[:_SHOWN]
    return text if text.isprintable() else repr(text)


def part(found: Any, *names: str | int) -> Any:
    """Return the part of a document that lies under some names, one below the other.

    Raises
    ------
    ModelError
        It is not there.
    """
    for place, name in enumerate(names):
        try:
            found = found[name]
        except (KeyError, IndexError, TypeError) as reason:
            path = ".".join(str(each) for each in names[: place + 1])
            raise ModelError(f"lacks {path}") from reason
    return found


def only_known(found: Any, known: Collection[str], what: str) -> None:
    """Refuse a part that is no object, or has fields that might change what the model answers.

    Raises
    ------
    ModelError
        It is not made of fields, or has one that is not among the known ones.
    """
    if not isinstance(found, dict):
        raise ModelError(f"{what} is {shown(found)!r}, not an object of fields")
    if strange := sorted(set(found) - set(known)):
        raise ModelError(f"{what} has a field {shown(strange[0])!r}, which is not known here")


def items(found: Any, name: str) -> list[Any]:
    """Return a list under a name; errors as in `part`, or something else than a list."""
    value = part(found, name)
    if not isinstance(value, list):
        raise ModelError(f"{name} is not a list")
    return value


def whole(found: Any, *names: str) -> int:
    """Return a whole number, written as one or as text; errors as in `part`, or another value."""
    return int(_number(found, names, int))


def real(found: Any, *names: str) -> float:
    """Return a finite number, written as one or as text; errors as in `part`, or another value."""
    number = float(_number(found, names, float))
    if not np.isfinite(number):
        raise ModelError(f"{names[-1]} is not finite")
    return number


def _number(found: Any, names: tuple[str, ...], kind: Callable[[Any], Any]) -> Any:
    value = part(found, *names)
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            if (number := kind(value)) == float(value):
                return number
        except (ValueError, OverflowError):
            pass
    raise ModelError(f"{names[-1]} is {shown(value)!r}, not a number")


def numbers(found: Any, name: str, dtype: Any = np.float64) -> NDArray[Any]:
    """Return a list of numbers under a name as an array of one dimension.

    Raises
    ------
    ModelError
        As in `part`, or anything but numbers that the type holds.
    """
    value = part(found, name)
    try:
        array = np.asarray(value)
        if not array.size:
            return np.zeros(0, dtype=dtype)
        if array.ndim == 1 and array.dtype.kind in "biuf":
            with np.errstate(all="ignore"):  # what the type does not hold is refused just below
                kept = array.astype(dtype)
            if np.issubdtype(dtype, np.floating) or (kept == array).all():
                return kept
    except (ValueError, OverflowError, TypeError):
        pass
    raise ModelError(f"{name} is not a list of numbers")
