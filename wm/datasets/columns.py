"""Columns of a text table, gathered from rows: numbers, and codes of the words among them."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wm.formats.csv_cells import number

_MISSING = frozenset({"", "?", "na", "n/a", "nan", "null", "#n/a", "<na>"})

DECIMAL_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?")
"""A number such as 3,14, where commas do not separate cells."""

THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}((,[0-9]{3})+(\.[0-9]+)?|(\.[0-9]{3})+,[0-9]+)")
"""A number such as 1,000 or 1,000.5, or 1.000,5 with a decimal comma."""

WITH_UNIT = re.compile(
    r"[$€£¥]\s?[+-]?[0-9]+([.,][0-9]+)*|[+-]?[0-9]+([.,][0-9]+)*(\s?[$€£¥%]|\s[^\W\d]{1,4})"
)
"""A number with a unit or currency, such as 12.5 kg, 300 EUR, $5 or 7%; not 2b, which may be a name."""


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
    commas, mixed
        Whether there are decimal commas, and decimal points beside them.
    """

    name: str
    values: NDArray[np.float64]
    codes: NDArray[np.int32] | None = None
    words: tuple[str, ...] = ()
    commas: bool = False
    mixed: bool = False

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
            return replace(self, values=values, codes=None, words=())
        new_codes = np.full(len(of_words) + 1, -1, dtype=np.int32)
        new_codes[left] = np.arange(len(left), dtype=np.int32)
        words = tuple(self.words[index] for index in left)
        return replace(self, values=values, codes=new_codes[self.codes], words=words)


class ColumnBuilder:
    """Gathers the cells of one column, some rows at a time."""

    def __init__(self) -> None:
        self._values: list[NDArray[np.float64]] = []
        self._codes: list[NDArray[np.int32] | None] = []
        self._index: dict[str, int] = {}
        self._has_points = self._has_commas = False

    def add(self, cells: Sequence[str], *, plain: bool, commas: bool) -> None:
        """Add cells.

        Parameters
        ----------
        plain
            Whether none of them has an underscore, which `float` accepts.
        commas
            Whether a comma may be a decimal comma: commas do not separate cells.
        """
        self._codes.append(None)
        text = "\n".join(cells) if commas else ""
        commas = "," in text and "." not in text and any(map(_is_surely_decimal, cells))
        if plain:
            with contextlib.suppress(ValueError):  # there may be words, which are rarer and take longer
                self._values.append(np.array(list(map(float, cells)), dtype=np.float64))
                self._has_points |= "." in text
                return
        known = {cell: self._parsed(cell, commas) for cell in dict.fromkeys(cells)}
        pairs = [known[cell] for cell in cells]
        self._values.append(np.array([value for value, _ in pairs], dtype=np.float64))
        self._has_points |= "." in text
        if any(code >= 0 for _, code in known.values()):
            self._codes[-1] = np.array([code for _, code in pairs], dtype=np.int32)

    def _parsed(self, cell: str, commas: bool) -> tuple[float, int]:
        word = cell.strip()
        if commas and "," in word and DECIMAL_COMMA.fullmatch(word):
            self._has_commas = True
            return float(word.replace(",", ".")), -1
        value = number(word)
        return (math.nan, self._index.setdefault(word, len(self._index))) if value is None else (value, -1)

    def column(self, name: str) -> Column:
        """Return the whole column."""
        values = np.concatenate(self._values) if self._values else np.zeros(0)
        commas, mixed = self._has_commas, self._has_commas and self._has_points
        if not self._index:
            return Column(name, values, commas=commas, mixed=mixed)
        codes = [
            np.full(len(part), -1, dtype=np.int32) if code is None else code
            for part, code in zip(self._values, self._codes, strict=True)
        ]
        return Column(name, values, np.concatenate(codes), tuple(self._index), commas, mixed)


def _is_surely_decimal(cell: str) -> bool:
    """Return whether a cell is a number whose comma cannot separate thousands."""
    return DECIMAL_COMMA.fullmatch(cell) is not None and THOUSANDS.fullmatch(cell) is None


def with_decimal_commas(columns: Sequence[Column]) -> list[Column]:
    """Return the columns, those of words that are numbers with decimal commas as numbers.

    A column that has both 1,5 and 2.5 stays as it is; so does one of 1,000 and the like where other columns
    have decimal points: its commas rather separate thousands.
    """
    pointed = any(not column.commas and _has_fractions(column) for column in columns)
    return [_with_commas(column, pointed) for column in columns]


def _has_fractions(column: Column) -> bool:
    with np.errstate(invalid="ignore"):  # of infinite values
        return bool(np.any(column.values % 1 > 0))


def _with_commas(column: Column, pointed: bool) -> Column:
    words = [word for word in column.words if not is_missing(word)]
    if not words or not all(map(DECIMAL_COMMA.fullmatch, words)):
        return column
    if not column.commas and (_has_fractions(column) or (pointed and all(map(THOUSANDS.fullmatch, words)))):
        return column
    numbers = [None if is_missing(word) else float(word.replace(",", ".")) for word in column.words]
    return replace(column.with_numbers(numbers), commas=True)
