"""Columns that can be features but rather should not be, each kind with the option that leaves it out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from wm.datasets.columns import Column
from wm.datasets.wording import Naming, shown

_FEWEST_RECORDS = 20
"""Consecutive numbers in fewer rows than this may well be chance."""

_MOST_NAMED = 3
"""Largest number of columns for which a line spells out the option."""


def oddities(columns: Sequence[Column], naming: Naming) -> list[str]:
    """Return a line for columns of one value, one for equal ones, and one for those that number the rows."""
    constant = [column.name for column in columns if _is_constant(column)]
    records = [column.name for column in columns if _numbers_rows(column)]
    twins = _equal_to_earlier([column for column in columns if column.name not in constant])
    lines = [
        (constant, f"{shown(constant)} have one value only and tell nothing"),
        (twins, f"{shown(twins)} are equal to earlier columns"),
        (records, f"{shown(records)} number the rows, whose order a model should not learn"),
    ]
    return [
        f"columns {text}" + (f": {naming('drop', names)}" if len(names) <= _MOST_NAMED else "")
        for names, text in lines
        if names
    ]


def _is_constant(column: Column) -> bool:
    known = ~column.missing
    if column.codes is not None and (column.codes[known] >= 0).any():
        return bool(len(np.unique(column.codes[known])) == 1 and np.isnan(column.values[known]).all())
    values = column.values[known]
    return bool(len(values) and (values == values[0]).all())


def _numbers_rows(column: Column) -> bool:
    values = column.values
    if column.codes is not None or len(values) < _FEWEST_RECORDS or not np.isfinite(values).all():
        return False
    ordered = np.sort(values)
    return bool((np.diff(ordered) == 1).all())


def _equal_to_earlier(columns: Sequence[Column]) -> list[str]:
    seen: set[bytes] = set()
    found = []
    for column in columns:
        words = "\n".join(column.words).encode()
        codes = b"" if column.codes is None else column.codes.tobytes()
        content = hashlib.sha256(column.values.tobytes() + codes + words).digest()
        if content in seen:
            found.append(column.name)
        seen.add(content)
    return found
