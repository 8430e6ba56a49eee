"""Reader of comma-separated text, for training rows, instances and a suspect's answers.

Python's own `csv` and `float` read every number to the last bit and report errors with their line.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

from wm.errors import WmError

_DECIMAL_COMMA = re.compile(r"^(-?\d+),(\d+(?:[eE][-+]?\d+)?)$")


def rows_of(content: bytes, *, error: type[WmError], what: str) -> Iterator[tuple[int, list[str]]]:
    r"""Yield the number of each row's last line, and its stripped cells; blank lines are left out.

    Parameters
    ----------
    content
        UTF-8 text: commas, or semicolons where the first line has no other comma than decimal ones; optional
        quotes, lines of one length.
    error
        Type of the exception, with one line of text, for anything else.
    what
        Name of the text in errors.

    Examples
    --------
    >>> from wm.errors import DataError
    >>> list(rows_of(b'a, "b,c"\n\n1,2', error=DataError, what="rows.csv"))
    [(1, ['a', 'b,c']), (3, ['1', '2'])]
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise error(f"{what}: is not UTF-8 text (byte {fault.start})") from fault
    delimiter = _delimiter(text.lstrip().partition("\n")[0])
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True
    )
    columns = 0
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if delimiter == ";":
                cells = [_DECIMAL_COMMA.sub(r"\1.\2", cell) for cell in cells]
            if not any(cells) and len(cells) < 2:
                continue
            columns = columns or len(cells)
            if len(cells) != columns:
                raise error(
                    f"{what}: line {reader.line_num} has {len(cells)} values, the first row has {columns} "
                    "columns"
                )
            yield reader.line_num, cells
    except csv.Error as fault:
        raise error(f"{what}: line {reader.line_num}: malformed csv ({fault})") from fault


def _delimiter(line: str) -> str:
    """Return what separates the cells of a first line."""
    cells = [cell.strip() for cell in line.split(";")]
    return (
        ";"
        if len(cells) > 1 and all("," not in each or _DECIMAL_COMMA.match(each) for each in cells)
        else ","
    )


def number(cell: str) -> float | None:
    """Return a cell's number, which may be NaN or infinite; None for other text."""
    try:
        value = float(cell)
    except ValueError:
        return None
    # Python reads "12_5" as 125; in a file it is rather a word.
    return None if "_" in cell else value
