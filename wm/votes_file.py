"""Votes files: what a judge got back from a suspect model, as csv or npz.

csv: one line for each trigger row in the claim's order, one column for each tree in the forest's order, class
values 0 and 1; a header line is recognised and skipped. npz: an array ``votes`` of shape (k, m).
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wm import npz
from wm.errors import ClaimError


def read_votes(path: str | Path) -> NDArray[np.int64]:
    """Read a votes file: (k, m) of class values.

    Raises
    ------
    ClaimError
        No such file, unknown ending, or something else than whole numbers in a rectangle.
    """
    file = Path(path)
    try:
        data = file.read_bytes()
    except OSError as reason:
        raise ClaimError(f"{path}: cannot be read ({reason.strerror})") from reason
    if file.suffix == ".npz":
        return _from_npz(data, str(path))
    if file.suffix == ".csv":
        return _from_csv(data, str(path))
    raise ClaimError(f"{path}: a votes file ends in .csv or .npz")


def _from_npz(data: bytes, what: str) -> NDArray[np.int64]:
    arrays = npz.unpack(data, error=ClaimError, what=what)
    if "votes" not in arrays:
        raise ClaimError(f"{what}: has no array 'votes', only: {', '.join(map(repr, arrays)) or 'nothing'}")
    votes = arrays["votes"]
    if votes.ndim != 2 or votes.dtype.kind not in "iufb" or not np.isin(votes, (0, 1)).all():
        raise ClaimError(f"{what}: 'votes' must be a (trigger rows, trees) array of 0 and 1")
    if not votes.size:
        raise ClaimError(f"{what}: holds no votes")
    return votes.astype(np.int64)


def _from_csv(data: bytes, what: str) -> NDArray[np.int64]:
    try:
        reader = csv.reader(data.decode("utf-8-sig").splitlines())
        lines = [(reader.line_num, line) for line in reader if line]
    except (UnicodeDecodeError, csv.Error) as reason:
        raise ClaimError(f"{what}: not a csv text file ({reason})") from reason
    votes: list[list[int]] = []
    for index, (number, line) in enumerate(lines):
        try:
            row = [_vote(cell) for cell in line]
        except ValueError as reason:
            if index == 0 and not any(_is_number(cell) for cell in line):
                continue  # a header
            raise ClaimError(f"{what}: line {number}: {reason}") from reason
        if votes and len(row) != len(votes[0]):
            raise ClaimError(f"{what}: line {number} has {len(row)} votes, those above have {len(votes[0])}")
        votes.append(row)
    if not votes:
        raise ClaimError(f"{what}: holds no votes")
    return np.array(votes, dtype=np.int64)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _vote(cell: str) -> int:
    value = float(cell)
    if value not in (0.0, 1.0):
        raise ValueError(f"{cell.strip()!r} is not a vote: 0 or 1")
    return int(value)
