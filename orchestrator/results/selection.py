"""Choose rows and columns of a result by conditions in text that is never evaluated as code."""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from orchestrator.errors import SelectionError

Statistic = Literal["mean", "median", "min", "max", "sum", "std"]

COUNT = "rows"
"""Column of a grouped result: the number of rows of the group."""

_CONDITION = re.compile(r"\s*([A-Za-z0-9_]+)\s*(<=|>=|!=|==|=|<|>|~)(.*)", re.DOTALL)
_ORDERS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TRUTH = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


@dataclass(frozen=True)
class Condition:
    """A condition on one column; `values` are alternatives as text, "" for a missing value."""

    column: str
    relation: str
    """One of = != < <= > >= and ~, which is: contains the text, in any case."""
    values: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.column}{self.relation}{'|'.join(self.values)}"


def parse_conditions(text: str) -> tuple[Condition, ...]:
    """Parse conditions separated by commas, all of which must hold: ``eps<=0.5,engine=sat|z3``.

    Raises
    ------
    SelectionError
        A part is no condition.
    """
    found = []
    for part in text.split(","):
        match = _CONDITION.fullmatch(part)
        if match is None:
            raise SelectionError(
                f"{part.strip()!r} is no condition: write COLUMN=VALUE, with = != < <= > >= or ~ (contains)"
            )
        column, relation, values = match.groups()
        alternatives = tuple(value.strip() for value in values.split("|"))
        if relation in _ORDERS and len(alternatives) > 1:
            raise SelectionError(f"{part.strip()!r}: only = != and ~ take several values")
        found.append(Condition(column, "=" if relation == "==" else relation, alternatives))
    return tuple(found)


@dataclass(frozen=True)
class Selection:
    """What to show of a result."""

    where: tuple[Condition, ...] = ()
    columns: tuple[str, ...] = ()
    """In this order; empty for all. A result may be sorted by others, one that is not grouped."""
    group_by: tuple[str, ...] = ()
    """Columns of which each combination of values becomes one row, with a statistic of each number."""
    statistic: Statistic = "mean"
    sort: tuple[str, ...] = ()
    """Columns to sort by; one that begins with - in descending order."""
    limit: int | None = None


def select(frame: pd.DataFrame, chosen: Selection) -> pd.DataFrame:
    """Return the chosen part of a result.

    A grouped result has the columns of `group_by`, the number of `rows`, and for each other column of
    numbers or truth values the statistic over the rows that have a value.

    Raises
    ------
    SelectionError
        An unknown column, or a value that a column cannot have; the text names what there is.
    """
    _check(frame, [each.column for each in chosen.where])
    _check(frame, chosen.group_by)
    columns = [name for name in chosen.columns if not (chosen.group_by and name == COUNT)]
    _check(frame, columns)
    for condition in chosen.where if len(frame) else ():  # columns of an empty frame have no types
        frame = frame[_holds(frame[condition.column], condition)]
    if chosen.group_by:
        if chosen.columns:
            frame = frame[list(dict.fromkeys((*chosen.group_by, *columns)))]
        frame = _grouped(frame, list(chosen.group_by), chosen.statistic)
    if chosen.sort:
        names = [name.removeprefix("-") for name in chosen.sort]
        _check(frame, names)
        ascending = [not name.startswith("-") for name in chosen.sort]
        frame = frame.sort_values(names, ascending=ascending, kind="stable")
    if columns and not chosen.group_by:
        frame = frame[list(dict.fromkeys(columns))]
    return frame.head(chosen.limit).reset_index(drop=True) if chosen.limit else frame.reset_index(drop=True)


def _check(frame: pd.DataFrame, names: Iterable[str]) -> None:
    known = [str(column) for column in frame.columns]
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            meant = f"; did you mean {near[0]}?" if near else "."
            raise SelectionError(f"there is no column {name}{meant} Columns: {', '.join(known)}")


def _holds(column: pd.Series[Any], condition: Condition) -> pd.Series[bool]:
    """Return for each row whether a condition holds; a missing value is equal to "" only."""
    missing = column.isna()
    if condition.relation == "~":
        texts = column.astype(str).str.casefold()
        parts = [texts.str.contains(value.casefold(), regex=False) for value in condition.values]
        return _any(parts) & ~missing
    if condition.relation in _ORDERS:
        if not _has_numbers(column):
            raise SelectionError(f"{condition}: {condition.column} is text: use = != or ~")
        bound = _number(condition, condition.values[0])
        within: pd.Series[bool] = _ORDERS[condition.relation](column.astype(float), bound)
        return within & ~missing
    equal = _any([_equals(column, condition, value) for value in condition.values])
    return equal if condition.relation == "=" else ~equal


def _equals(column: pd.Series[Any], condition: Condition, value: str) -> pd.Series[bool]:
    missing = column.isna()
    if not value:
        return missing | (column.astype(str) == "")
    if is_bool_dtype(column.dtype):
        if value.casefold() not in _TRUTH:
            raise SelectionError(f"{condition}: {condition.column} is yes or no")
        return column.astype(bool) == _TRUTH[value.casefold()]
    if _has_numbers(column):
        # Within the digits of a float: 0.3 finds 0.1 + 0.2.
        near = np.isclose(column.astype(float), _number(condition, value), rtol=1e-9, atol=0)
        return pd.Series(near, index=column.index)
    return (column.astype(str) == value) & ~missing


def _any(parts: Sequence[pd.Series[bool]]) -> pd.Series[bool]:
    found = parts[0]
    for part in parts[1:]:
        found = found | part
    return found


def _has_numbers(column: pd.Series[Any]) -> bool:
    return is_numeric_dtype(column.dtype) and not is_bool_dtype(column.dtype)


def _number(condition: Condition, value: str) -> float:
    try:
        return float(value)
    except ValueError as reason:
        raise SelectionError(f"{condition}: {value!r} is no number, and {condition.column} is") from reason


def _grouped(frame: pd.DataFrame, names: list[str], statistic: Statistic) -> pd.DataFrame:
    numbers = [
        str(column)
        for column in frame.columns
        if column not in names and is_numeric_dtype(frame[column].dtype)
    ]
    groups = (
        frame[names + numbers].astype(dict.fromkeys(numbers, float)).groupby(names, sort=False, dropna=False)
    )
    found = groups[numbers].agg(statistic) if numbers else groups.size().to_frame()[[]]
    found.insert(0, COUNT, groups.size())
    return found.reset_index()
