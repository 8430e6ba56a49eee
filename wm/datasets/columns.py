"""Columns of a text table, gathered from rows: numbers, and codes of the words among them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.formats.csv_cells import number

_MISSING = frozenset({"", "?", "na", "n/a", "nan", "null", "#n/a", "<na>"})

DECIMAL_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?")
"""A number such as 3,14, where commas do not separate cells."""

THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(,[0-9]{3})+")
"""A number such as 1,000."""


def is_missing(word: str) -> bool:
    """Return whether a stripped cell stands for a missing value."""
    return word.lower() in _MISSING


@dataclass(frozen=True, eq=False)
class Column:
    """The cells of a column below its name.

    Attributes
    ----------
    values
        (n,) float64; NaN where the cell is a word, or NaN itself.
    codes
        (n,) int32, index into `words`, -1 where the cell is a number; None: there are no words.
    words
        The distinct cells that are not numbers, stripped.
    """

    name: str
    values: NDArray[np.float64]
    codes: NDArray[np.int32] | None = None
    words: tuple[str, ...] = ()

    @property
    def missing(self) -> NDArray[np.bool_]:
        """(n,) bool, where the value is missing or NaN."""
        none = np.isnan(self.values)
        if self.codes is not None:
            none &= np.array([*map(is_missing, self.words), True])[self.codes]
        return none

    def with_numbers(self, of_words: Sequence[float | None]) -> Column:
        """Return the column with some words as numbers; None leaves a word as it is."""
        if self.codes is None:
            return self
        known = np.array([math.nan if value is None else value for value in of_words] + [math.nan])
        values = np.where(self.codes >= 0, known[self.codes], self.values)
        left = [index for index, value in enumerate(of_words) if value is None]
        if not left:
            return Column(self.name, values)
        new_codes = np.full(len(of_words) + 1, -1, dtype=np.int32)
        new_codes[left] = np.arange(len(left), dtype=np.int32)
        return Column(self.name, values, new_codes[self.codes], tuple(self.words[index] for index in left))


class ColumnBuilder:
    """Gathers the cells of one column, some rows at a time."""

    def __init__(self) -> None:
        self._values: list[NDArray[np.float64]] = []
        self._codes: list[NDArray[np.int32] | None] = []
        self._index: dict[str, int] = {}

    def add(self, cells: Sequence[str], *, plain: bool) -> None:
        """Add cells; `plain` says that none of them has an underscore, which `float` accepts."""
        self._codes.append(None)
        if plain:
            try:
                self._values.append(np.array(list(map(float, cells)), dtype=np.float64))
            except ValueError:
                pass  # there are words, which are rarer and take longer
            else:
                return
        known = {cell: self._parsed(cell) for cell in dict.fromkeys(cells)}
        pairs = [known[cell] for cell in cells]
        self._values.append(np.array([value for value, _ in pairs], dtype=np.float64))
        if any(code >= 0 for _, code in known.values()):
            self._codes[-1] = np.array([code for _, code in pairs], dtype=np.int32)

    def _parsed(self, cell: str) -> tuple[float, int]:
        word = cell.strip()
        value = number(word)
        return (math.nan, self._index.setdefault(word, len(self._index))) if value is None else (value, -1)

    def column(self, name: str) -> Column:
        """Return the whole column."""
        values = np.concatenate(self._values) if self._values else np.zeros(0)
        if not self._index:
            return Column(name, values)
        codes = [
            np.full(len(part), -1, dtype=np.int32) if code is None else code
            for part, code in zip(self._values, self._codes, strict=True)
        ]
        return Column(name, values, np.concatenate(codes), tuple(self._index))


def with_decimal_commas(columns: Sequence[Column]) -> tuple[list[Column], int]:
    """Return the columns, those of numbers with decimal commas as numbers, and how many these are.

    A column that has both 1,5 and 2.5 stays as it is; so does one of 1,000 and the like where other columns
    have decimal points: its commas rather separate thousands.
    """
    pointed = any(np.any(column.values % 1 > 0) for column in columns)
    found = [_with_commas(column, pointed) for column in columns]
    return found, sum(new is not old for new, old in zip(found, columns, strict=True))


def _with_commas(column: Column, pointed: bool) -> Column:
    words = [word for word in column.words if not is_missing(word)]
    if not words or not all(map(DECIMAL_COMMA.fullmatch, words)) or np.any(column.values % 1 > 0):
        return column
    if pointed and all(map(THOUSANDS.fullmatch, words)):
        return column
    return column.with_numbers(
        [None if is_missing(word) else float(word.replace(",", ".")) for word in column.words]
    )
