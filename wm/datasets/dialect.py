"""The dialect of a text table: its encoding, its separator, its comments, and the rows that follow."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from wm.datasets.columns import DECIMAL_COMMA, is_missing
from wm.errors import DataError
from wm.formats.csv_cells import number

SEPARATORS = {",": ",", ";": ";", "tab": "\t", "|": "|", "space": " "}
"""What may stand between cells, by the name of the option; "space" is any number of spaces and tabs."""

_SPELLINGS = {"\t": "tab", "\\t": "tab", " ": "space"}
_SAMPLE_CHARACTERS = 2**16
_SAMPLE_LINES = 200
_WEIGHT_OF_SPACES = 0.6
"""Single spaces occur within cells too: they separate only where another separator fits badly."""
_ALIGNED = re.compile(r"\S {2,}\S")


@dataclass(frozen=True)
class Dialect:
    """How a text becomes rows.

    Attributes
    ----------
    sep
        One of the values of `SEPARATORS`.
    width
        Number of cells of the first line that is no comment; 0 if there is none.
    """

    sep: str
    width: int


def separator(name: str) -> str:
    """Return the separator that an option names; raise `DataError` for an unknown one."""
    found = SEPARATORS.get(_SPELLINGS.get(name, name))
    if found is None:
        raise DataError(f"unknown separator {name!r}: known are {' '.join(SEPARATORS)}")
    return found


def decoded(content: bytes, where: str) -> tuple[str, tuple[str, ...]]:
    """Return a file's text, and what the user should know of its encoding.

    UTF-8, or UTF-16 with a byte order mark; other text is read as Windows-1252, or
    as Latin-1 if it has a byte that is no character there.

    Raises
    ------
    DataError
        The bytes are no text.
    """
    notes: tuple[str, ...] = ()
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            text = content.decode("utf-16")
        except UnicodeDecodeError as fault:
            raise DataError(f"{where}: is damaged UTF-16 text (byte {fault.start})") from fault
    else:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as fault:
            try:
                text, encoding = content.decode("cp1252"), "Windows-1252"
            except UnicodeDecodeError:
                text, encoding = content.decode("latin-1"), "Latin-1"
            notes = (f"{where}: is not UTF-8 text (byte {fault.start}): read as {encoding}",)
    if "\0" in text:
        raise DataError(f"{where}: is no text: it has a NUL character")
    return text, notes


def sniffed(text: str, *, sep: str | None, label: str | int | None) -> Dialect:
    """Return the dialect of a text, by its first lines.

    Parameters
    ----------
    sep
        The separator, if known.
    label
        Name of a column, which the first line has under the right separator.
    """
    sample = text[:_SAMPLE_CHARACTERS].splitlines()
    if len(text) > _SAMPLE_CHARACTERS and len(sample) > 1:
        sample.pop()
    filled = [line for line in sample if line.strip()]
    lines = ([line for line in filled if not _is_marked(line)] or filled)[:_SAMPLE_LINES]
    candidates = SEPARATORS.values() if sep is None else [sep]
    rows = {each: _cells_of(lines, each) for each in candidates}
    weights = {} if any(map(_ALIGNED.search, lines)) else {" ": _WEIGHT_OF_SPACES}
    # The first of equals.
    best = max(rows, key=lambda each: _score(rows[each], each, label, weights.get(each, 1.0)))
    return Dialect(best, len(rows[best][0]) if rows[best] else 0)


def records(
    text: str, dialect: Dialect, where: str, *, keep_empty: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each row's last line, and its cells; blank lines and comments are left out.

    With `keep_empty` a row of nothing but separators is a row, all of whose values are missing.

    A comment is a line that starts with "#" and does not have as many cells as the first row: "#,name,price"
    may well be a header.

    Raises
    ------
    DataError
        Quotes do not end, or a cell is larger than 128 KiB.
    """
    fresh = True  # whether a new row starts

    def lines() -> Iterator[str]:
        nonlocal fresh
        for line in io.StringIO(text, newline=""):
            if fresh and _is_marked(line) and len(_cells_of([line], dialect.sep)[0]) != dialect.width:
                yield "\n"  # keeps the count of lines
                continue
            fresh = False
            yield _spaced(line) if dialect.sep == " " else line

    reader = csv.reader(lines(), delimiter=dialect.sep, skipinitialspace=True, strict=True)
    try:
        for cells in reader:
            fresh = True
            if any(cells) or (keep_empty and len(cells) > 1):
                yield reader.line_num, cells
    except csv.Error as fault:
        raise DataError(f"{where}: line {reader.line_num}: malformed csv ({fault})") from fault


def _is_marked(line: str) -> bool:
    return line.lstrip().startswith("#")


def _spaced(line: str) -> str:
    return line.replace("\t", " ").strip() + "\n"


def _cells_of(lines: list[str], sep: str) -> list[list[str]]:
    """Return the cells of each line; what is malformed shows later, where it has a line number."""
    source = map(_spaced, lines) if sep == " " else (f"{line}\n" for line in lines)
    rows: list[list[str]] = []
    with contextlib.suppress(csv.Error):
        rows.extend(csv.reader(source, delimiter=sep, skipinitialspace=True))
    return rows or [[""]]


def _score(rows: list[list[str]], sep: str, label: str | int | None, weight: float) -> float:
    """Return how well a separator fits: rows of one length, of numbers, and the label among the names."""
    width, count = Counter(map(len, rows)).most_common(1)[0]
    if width < 2:
        return 0.0
    cells = [cell.strip() for row in (rows[1:] or rows) for cell in row]
    numbers = sum(
        is_missing(cell)
        or cell.lower() in ("true", "false")
        or number(cell) is not None
        or (sep != "," and DECIMAL_COMMA.fullmatch(cell) is not None)
        for cell in cells
    )
    named = isinstance(label, str) and label in [cell.strip() for cell in rows[0]]
    return named + weight * count / len(rows) * (0.5 + numbers / max(1, len(cells)))
