"""Find the line of each key of a TOML file: `tomllib` keeps no line numbers."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

Path = tuple[str | int, ...]

_PART = r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)"""
_DOTTED = rf"{_PART}(?:\s*\.\s*{_PART})*"
_TABLE = re.compile(rf"^\s*(\[\[?)\s*({_DOTTED})\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(rf"^\s*({_DOTTED})\s*=")


def lines_of_keys(text: str) -> dict[Path, int]:
    """Return the line, counted from 1, of every table header and key that begins a line.

    The text must be valid TOML. Keys of inline tables are left out. A line inside a multi-line string or list
    may be mistaken for a key that the file has: use the result for messages only.
    """
    data = tomllib.loads(text)
    found: dict[Path, int] = {}
    tables_of_array: dict[Path, int] = {}
    table: Path = ()
    for number, line in enumerate(text.split("\n"), start=1):
        if header := _TABLE.match(line):
            path = _resolved(_split(header[2]), tables_of_array, opens_element=header[1] == "[[")
            if _has(data, path):
                table = path
                found.setdefault(path, number)
                if isinstance(path[-1], int):
                    tables_of_array[path[:-1]] = path[-1] + 1
        elif (key := _KEY.match(line)) and _has(data, path := (*table, *_split(key[1]))):
            found.setdefault(path, number)
    return found


def line_of(lines: Mapping[Path, int], path: Sequence[str | int]) -> int | None:
    """Return the line of a key, or of the innermost table around it; None for the file as a whole.

    A table without a header begins at the first of its dotted keys.
    """
    for length in range(len(path), 0, -1):
        around = tuple(path[:length])
        if inside := [line for key, line in lines.items() if key[:length] == around]:
            return min(inside)
    return None


def _resolved(names: Sequence[str], tables_of_array: Mapping[Path, int], *, opens_element: bool) -> Path:
    """Return a header's path: the name of an array of tables means its last element so far."""
    path: Path = ()
    for name in names[:-1]:
        path = (*path, name)
        if path in tables_of_array:
            path = (*path, tables_of_array[path] - 1)
    path = (*path, names[-1])
    return (*path, tables_of_array.get(path, 0)) if opens_element else path


def _has(data: Any, path: Path) -> bool:
    for part in path:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def _split(dotted: str) -> tuple[str, ...]:
    parts: list[str] = []
    inner: Any = tomllib.loads(f"{dotted} = 0")
    while inner:
        ((part, inner),) = inner.items()
        parts.append(part)
    return tuple(parts)
