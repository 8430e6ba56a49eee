"""Lay out tables as text: full width for a pipe, fitted to a terminal so that every value is readable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len

_GAP = 3
"""Spaces between columns."""


def as_text(value: Any) -> str:
    """Return a value as one line of text, with control characters escaped."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    first = next(iter(str(value).splitlines()), "")
    if first.isprintable():
        return first
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in first
    )


@dataclass(frozen=True)
class _Column:
    name: str
    cells: tuple[str, ...]
    is_number: bool = False

    @property
    def width(self) -> int:
        """Width of the widest of name and cells."""
        return max(map(cell_len, (self.name, *self.cells)))

    def lines(self) -> Iterator[str]:
        """Yield name and cells, each padded to the column's width."""
        width = self.width
        for text in (self.name, *self.cells):
            pad = " " * (width - cell_len(text))
            yield pad + text if self.is_number else text + pad


def layout(columns: Sequence[str], rows: Sequence[Sequence[Any]], width: int | None = None) -> list[str]:
    """Return the lines of a table; columns in which every cell is empty are left out.

    The constant columns of a table that is wider than `width` are printed above it. If it is still too wide
    its columns are split into groups, each with the columns that identify a row; if a column is too wide for
    that, each row becomes a block with a line for each value. Only a value that is wider than `width` is
    broken, at spaces.

    Parameters
    ----------
    width
        Columns of the terminal; None for no limit.
    """
    shown = [
        _Column(
            name,
            tuple(as_text(row[index]) for row in rows),
            all(isinstance(row[index], int | float | None) for row in rows),
        )
        for index, name in enumerate(columns)
        if not rows or any(row[index] not in (None, "") for row in rows)
    ]
    if width is None or _total(shown) <= width:
        return _grid(shown)
    if not rows:
        return list(_wrapped("  ".join(column.name for column in shown), width))
    constant = [column for column in shown if len(rows) > 1 and len(set(column.cells)) == 1]
    varying = [column for column in shown if column not in constant]
    above = [*_packed(constant, width), ""] if constant else []
    if _total(varying) <= width:
        return above + _grid(varying)
    for keys in _keys(varying) if len(rows) > 1 else ():
        others = [column for column in varying if column not in keys]
        left = width - _total(keys) - _GAP
        if all(column.width <= left for column in others):
            first, *more = (_grid([*keys, *group]) for group in _groups(others, left))
            return above + first + [line for group in more for line in ("", *group)]
    return above + list(_blocks(varying, width))


def _total(columns: Sequence[_Column]) -> int:
    return sum(column.width for column in columns) + _GAP * (len(columns) - 1)


def _grid(columns: Sequence[_Column]) -> list[str]:
    if not columns:
        return []
    head, *body = (
        (" " * _GAP).join(parts).rstrip() for parts in zip(*(c.lines() for c in columns), strict=True)
    )
    return [head, "─" * _total(columns), *body]


def _keys(columns: Sequence[_Column]) -> Iterator[list[_Column]]:
    """Yield columns that identify each row: as few of the first columns as possible, then row numbers."""
    count = len(columns[0].cells)
    for end in range(1, len(columns)):
        if len(set(zip(*(column.cells for column in columns[:end]), strict=True))) == count:
            yield list(columns[:end])
            break
    yield [_Column("#", tuple(map(str, range(1, count + 1))), is_number=True)]


def _groups(columns: Sequence[_Column], width: int) -> Iterator[list[_Column]]:
    """Yield runs of columns, each run at most `width` wide."""
    group: list[_Column] = []
    for column in columns:
        if group and _total([*group, column]) > width:
            yield group
            group = []
        group.append(column)
    yield group


def _packed(columns: Sequence[_Column], width: int) -> list[str]:
    """Return each column's name and one value, as many on a line as it holds."""
    lines: list[str] = []
    for number, column in enumerate(columns):
        text = f"{column.name} {column.cells[0]}" + ("," if number < len(columns) - 1 else "")
        if lines and cell_len(lines[-1]) + 1 + cell_len(text) <= width:
            lines[-1] += f" {text}"
        elif cell_len(text) <= width:
            lines.append(text)
        else:
            lines += [column.name, *_wrapped(column.cells[0], width)]
    return lines


def _blocks(columns: Sequence[_Column], width: int) -> Iterator[str]:
    """Yield a block for each row: each value after its name, or below it if the line is too short."""
    longest = max((cell_len(column.name) for column in columns), default=0)
    for row in range(len(columns[0].cells) if columns else 0):
        if row:
            yield ""
        for column in columns:
            name, text = column.name, column.cells[row]
            if not text:
                continue
            line = name + " " * (longest - cell_len(name) + 2) + text
            if cell_len(line) <= width:
                yield line
            else:
                yield name
                yield from _wrapped(text, width)


def _wrapped(text: str, width: int) -> Iterator[str]:
    """Yield a text in lines that end at spaces, indented if there is room; longer words stay whole."""
    indent = " " * max(0, min(2, width - cell_len(text))) if cell_len(text) <= width else "  "
    line = ""
    for word in text.split(" "):
        if line and cell_len(indent + line) + 1 + cell_len(word) > width:
            yield indent + line
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield indent + line
