"""Answer files: a suspect model's answers, and instances, as csv or npz.

csv: one line for each instance, in the order of the questions; a header line is recognised and skipped, also
one of numbers, as pandas writes it, if the file has just one line more than rows were asked. Votes
have one column for each tree in the forest's order, 0, 1, ...; probabilities a column for each class, in the
claim's order unless a header names all classes in another, of two classes also one (class 1 unless the header
names the other); labels one column, 0, 1, ... or the names of the classes. npz: an array ``votes``,
``probabilities`` or ``labels``; for instances ``X``. A column or array ``id`` holds the numbers of the
questions, if answers come in another order or some are missing; columns that a header names as features are
passed over.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import ClaimError
from wm.formats import npz
from wm.formats.bounded import read_bounded
from wm.formats.csv_cells import number, rows_of
from wm.verification.answers import AnswerKind, Answers, checked_answers, numbers_of

MAX_ANSWER_BYTES = 2**30
"""Largest file of answers or rows that is read."""

ID = "id"
"""Name of the column, or array, with the numbers of questions."""

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
    content: bytes,
    kind: AnswerKind,
    *,
    class_names: tuple[str, ...] = ("0", "1"),
    feature_names: Collection[str] = (),
    rows: int | None = None,
    what: str,
) -> Answers:
    """Read the content of a file of answers.

    Parameters
    ----------
    class_names
        Names of classes 0, 1, ....
    feature_names
        Names of columns that are no answers.
    rows
        Number of rows that were asked; None: not known, and no line that may be an answer is a header.
    what
        The file's name, for errors; its ending decides the format.

    Raises
    ------
    ClaimError
        The file holds no such answers; or its first line may be a header or an answer, and neither makes as
        many answers as rows were asked.
    """
    cells: dict[AnswerKind, Callable[[str], Any]] = {
        "votes": lambda cell: _vote(cell, len(class_names)),
        "probabilities": _finite,
        "labels": lambda cell: _label(cell, class_names),
    }
    ids: Any
    values: Any
    header: list[str] = []
    if _ending(what) == ".csv":
        names, ids, values = _from_csv(content, what, cells[kind], set(feature_names))
        if not names and rows is not None:
            names = _header_of_numbers(content, kind, class_names, what)
            values, names = _without_header(values, names, rows, what)
            header = names
        if kind == "probabilities":
            values = _in_order(values, names, class_names)
    else:
        arrays = _unpacked(content, kind, what)
        ids, values = arrays.get(ID), arrays[kind]
    answers = checked_answers(kind, values, class_names=class_names, error=ClaimError, what=what)
    answers = replace(answers, header=",".join(header))
    return answers if ids is None else replace(answers, ids=_checked_ids(ids, len(answers), what))


def _in_order(values: list[list[Any]], header: list[str], class_names: tuple[str, ...]) -> list[list[Any]]:
    """Return probabilities in the order of the classes, where a header names these."""
    if header == [class_names[0]] != ["0"] and len(class_names) == 2:  # "0" is how pandas numbers a column
        return [[1.0 - row[0]] for row in values]
    if sorted(header) != sorted(class_names):
        return values
    places = [header.index(name) for name in class_names]
    return [[row[place] for place in places] for row in values]


def _header_of_numbers(
    content: bytes, kind: AnswerKind, class_names: tuple[str, ...], what: str
) -> list[str]:
    """Return the first line if it may be a header of numbers or of classes named by such; else nothing."""
    cells = next((cells for _, cells in rows_of(content, error=ClaimError, what=what)), [])
    of_classes = kind == "probabilities" and (
        sorted(cells) == sorted(class_names) or (len(cells) == 1 and cells[0] in {*class_names, "1"})
    )
    counts = cells == [str(place) for place in range(len(cells))]  # as pandas names columns
    is_header = all(number(cell) is not None for cell in cells) and (counts or of_classes)
    return cells if is_header else []


def _without_header(
    values: list[list[Any]], header: list[str], rows: int, what: str
) -> tuple[list[list[Any]], list[str]]:
    """Return the answers, and the header if their first line is one by their number."""
    if not header or len(values) == rows:
        return values, []
    if len(values) == rows + 1:
        return values[1:], header
    raise ClaimError(
        f"{what}: {rows} rows were asked, the file has {len(values)} answers, or {len(values) - 1} if its "
        f"first line, {','.join(header)}, is a header"
    )


def _checked_ids(ids: Any, count: int, what: str) -> NDArray[np.int64]:
    array = np.asarray(ids)
    if array.shape != (count,) or array.dtype.kind not in "iu":
        raise ClaimError(f"{what}: {ID} must be one whole number for each of the {count} answers")
    return array.astype(np.int64)


def read_rows(path: str | Path) -> NDArray[np.float32]:
    """Read instances, (n, d): a csv file of numbers, or an npz file's array ``X``.

    Raises
    ------
    ClaimError
        As in `read_file`, or content other than a rectangle of finite numbers.
    """
    content, what = read_file(path), str(path)
    is_csv = _ending(what) == ".csv"
    rows = np.asarray(_from_csv(content, what, _finite)[2] if is_csv else _unpacked(content, "X", what)["X"])
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


def _unpacked(content: bytes, array: str, what: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz file, one of that name among them."""
    arrays = npz.unpack(content, error=ClaimError, what=what, max_bytes=MAX_ANSWER_BYTES)
    if array not in arrays:
        raise ClaimError(f"{what}: has no array {array!r}, only: {', '.join(map(repr, arrays)) or 'nothing'}")
    return arrays


def _from_csv(
    content: bytes, what: str, read_cell: Callable[[str], Any], passed_over: Collection[str] = ()
) -> tuple[list[str], list[int] | None, list[list[Any]]]:
    """Return the header of answers and the numbers of questions, if there are such, and the answers."""
    found: list[list[Any]] = []
    ids: list[int] = []
    names: list[str] = []
    id_place, places = None, None
    for index, (line, cells) in enumerate(rows_of(content, error=ClaimError, what=what)):
        if index == 0 and len(cells) > 1 and not cells[0]:
            raise ClaimError(
                f"{what}: its first column has no name, as pandas writes an index: name it {ID} if it has "
                "the numbers of questions, or leave it out (index=False)"
            )
        if index == 0 and (ID in map(str.lower, cells) or set(cells) & set(passed_over)):
            id_place, places = _places(cells, passed_over, what)
            names = _at(cells, places)
            continue
        try:
            if id_place is not None:
                ids.append(_id(cells[id_place]))
            found.append([read_cell(cell) for cell in _at(cells, places)])
        except ValueError as reason:
            if index == 0 and all(number(cell) is None for cell in cells):
                names = cells
                continue
            raise ClaimError(f"{what}: line {line}: {reason}") from reason
    return names, None if id_place is None else ids, found


def _places(header: list[str], passed_over: Collection[str], what: str) -> tuple[int | None, list[int]]:
    """Return the places of the column of numbers, if there is one, and of the answers."""
    rest = [place for place, name in enumerate(header) if name not in passed_over]
    id_place = next((place for place in rest if header[place].lower() == ID), None)
    places = [place for place in rest if place != id_place]
    if not places:
        raise ClaimError(f"{what}: its header names no column of answers, only features and {ID}")
    return id_place, places


def _at(cells: list[str], places: list[int] | None) -> list[str]:
    return cells if places is None else [cells[place] for place in places]


def _id(cell: str) -> int:
    if not (cell.isascii() and cell.isdecimal() and len(cell) < 10):
        raise ValueError(f"{cell!r} is not the number of a question")
    return int(cell)


def _vote(cell: str, classes: int) -> int:
    value = number(cell)
    if value is None or value not in range(classes):
        raise ValueError(f"{cell!r} is not a vote: {numbers_of(classes)}")
    return int(value)


def _finite(cell: str) -> float:
    value = number(cell)
    if value is None or not math.isfinite(value):
        raise ValueError(f"{cell!r} is not a finite number")
    return value


def _label(cell: str, class_names: tuple[str, ...]) -> str:
    if cell.lower() in _LABEL_HEADERS and cell not in class_names:
        raise ValueError(f"{cell!r} is not a label")
    return cell
