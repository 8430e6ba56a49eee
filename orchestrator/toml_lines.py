"""Where each key of a TOML file stands: `tomllib` reads values but keeps no line numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

Path = tuple[str | int, ...]

_TABLE = re.compile(r"^\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(
    r"""^\s*((?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+))*)\s*="""
)


def lines_of_keys(text: str) -> dict[Path, int]:
    """Return the line, counted from 1, of every table header and key that begins a line.

    The text must be valid TOML. Keys of inline tables, and lines inside multi-line strings that look like
    keys, are not told apart: the result serves messages, nothing else.
    """
    found: dict[Path, int] = {}
    count: dict[Path, int] = {}
    table: Path = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _TABLE.match(line):
            table = _split(header[2])
            if header[1] == "[[":
                index = count.get(table, 0)
                count[table] = index + 1
                table = (*table, index)
            found.setdefault(table, number)
        elif key := _KEY.match(line):
            found.setdefault((*table, *_split(key[1])), number)
    return found


def line_of(lines: Mapping[Path, int], path: Sequence[str | int]) -> int | None:
    """Return the line of a key, or of the nearest table around it; None for the file as a whole."""
    for length in range(len(path), 0, -1):
        if (line := lines.get(tuple(path[:length]))) is not None:
            return line
    return None


def _split(dotted: str) -> Path:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))
