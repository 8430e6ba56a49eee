"""Answer files: a suspect model's answers, and instances, as csv or npz.

csv: one line for each instance, in the order of the questions; a header line is recognised and skipped. Votes
have one column for each tree in the forest's order, 0 and 1; probabilities one column (class 1) or two;
labels one column, 0 and 1 or the names of the classes. npz: an array ``votes``, ``probabilities`` or
``labels``; for instances ``X``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import ClaimError
from wm.formats import npz
from wm.formats.bounded import read_bounded
from wm.formats.csv_cells import number, rows_of
from wm.verification.answers import AnswerKind, Answers, checked_answers

MAX_ANSWER_BYTES = 2**30
"""Largest file of answers or rows that is read."""

_LABEL_HEADERS = ("label", "labels", "class", "y")
"""Recognised headers of a column of labels; any other word could be a label."""


def read_file(path: str | Path) -> bytes:
    """Return the content of a file of answers or rows.

    Raises
    ------
    ClaimError
        No such file, a file that is too large, or an ending other than .csv and .npz.
    """
    _ending(str(path))
    return read_bounded(path, error=ClaimError, max_bytes=MAX_ANSWER_BYTES, kind="such a file")


def parse_answers(
    content: bytes, kind: AnswerKind, *, class_names: tuple[str, str] = ("0", "1"), what: str
) -> Answers:
    """Read the content of a file of answers.

    Parameters
    ----------
    class_names
        Names of classes 0 and 1; for labels.
    what
        The file's name, for errors; its ending decides the format.

    Raises
    ------
    ClaimError
        The file holds no such answers.
    """
    cells: dict[AnswerKind, Callable[[str], Any]] = {
        "votes": _vote,
        "probabilities": _finite,
        "labels": lambda cell: _label(cell, class_names),
    }
    values = _parsed(content, kind, cells[kind], what)
    return checked_answers(kind, values, class_names=class_names, error=ClaimError, what=what)


def read_rows(path: str | Path) -> NDArray[np.float32]:
    """Read instances, (n, d): a csv file of numbers, or an npz file's array ``X``.

    Raises
    ------
    ClaimError
        As in `read_file`, or content other than a rectangle of finite numbers.
    """
    rows = np.asarray(_parsed(read_file(path), "X", _finite, str(path)))
    if rows.ndim != 2 or rows.dtype.kind not in "iufb" or not rows.size:
        raise ClaimError(f"{path}: rows must be an (instances, features) array of numbers")
    with np.errstate(over="ignore"):
        exact = rows.astype(np.float32)
    if not np.isfinite(exact).all():
        raise ClaimError(f"{path}: holds a number that is not finite in float32")
    return exact


def _ending(what: str) -> str:
    ending = Path(what).suffix
    if ending not in (".csv", ".npz"):
        raise ClaimError(f"{what}: a file of answers or rows ends in .csv or .npz")
    return ending


def _parsed(content: bytes, array: str, cell: Callable[[str], Any], what: str) -> Any:
    """Return the rows of a csv file, or the array of that name in an npz file."""
    if _ending(what) == ".csv":
        return _from_csv(content, what, cell)
    arrays = npz.unpack(content, error=ClaimError, what=what, max_bytes=MAX_ANSWER_BYTES)
    if array not in arrays:
        raise ClaimError(f"{what}: has no array {array!r}, only: {', '.join(map(repr, arrays)) or 'nothing'}")
    return arrays[array]


def _from_csv(content: bytes, what: str, read_cell: Callable[[str], Any]) -> list[list[Any]]:
    found: list[list[Any]] = []
    for index, (line, cells) in enumerate(rows_of(content, error=ClaimError, what=what)):
        try:
            found.append([read_cell(cell) for cell in cells])
        except ValueError as reason:
            if index == 0 and all(number(cell) is None for cell in cells):
                continue  # a header
            raise ClaimError(f"{what}: line {line}: {reason}") from reason
    return found


def _vote(cell: str) -> int:
    value = number(cell)
    if value not in (0.0, 1.0):
        raise ValueError(f"{cell!r} is not a vote: 0 or 1")
    return int(value)


def _finite(cell: str) -> float:
    value = number(cell)
    if value is None or not math.isfinite(value):
        raise ValueError(f"{cell!r} is not a finite number")
    return value


def _label(cell: str, class_names: tuple[str, str]) -> str:
    if cell.lower() in _LABEL_HEADERS and cell not in class_names:
        raise ValueError(f"{cell!r} is not a label")
    return cell
