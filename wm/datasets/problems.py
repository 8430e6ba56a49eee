"""What keeps columns from being features, in words: column, kind, how many rows, and what would help."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.datasets.columns import THOUSANDS, WITH_UNIT, Column, is_missing
from wm.datasets.wording import Naming

_MOST_LINES = 10
_LONGEST_CELL = 24
_FEW_WORDS = 0.05
"""Share of a column's cells below which words among numbers are rather mistakes than categories."""

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?")
"""A date whose order as text is that of time."""

_OTHER_DATE = re.compile(
    r"[0-9]{4}[/.-][0-9]{1,2}[/.-][0-9]{1,2}([T ].*)?|[0-9]{1,2}[/.-][0-9]{1,2}[/.-][0-9]{2,4}( .*)?"
)


@dataclass(frozen=True)
class Situation:
    """What all columns of a table share.

    Attributes
    ----------
    rows, whole
        Numbers of rows, and of those that lack nothing.
    place
        Returns a row's name by its index.
    naming
        Returns an option's name.
    """

    rows: int
    whole: int
    place: Callable[[int], str]
    naming: Naming

    def dropping(self, column: Column) -> str:
        """Return the option that leaves out a column."""
        return self.naming("drop", [column.name])


def missing(column: Column, none: NDArray[np.bool_], situation: Situation) -> str:
    """Return the problem of a column with missing values, (n,) bool."""
    words = [word for word in column.words if is_missing(word)]
    if np.isnan(column.values[none if column.codes is None else none & (column.codes < 0)]).any():
        words.append("nan")
    kind = f"missing or NaN ({quoted(words)})"
    if none.all():
        return line(column, kind, none, situation, f"it has no value: give {situation.dropping(column)}")
    median = situation.naming("missing", "median")
    if 2 * situation.whole < situation.rows:
        left = f"{situation.whole} of {situation.rows} rows lack nothing"
        return line(column, kind, none, situation, f"give {median} ({left}), or {situation.dropping(column)}")
    drop = situation.naming("missing", "drop")
    return line(column, kind, none, situation, f"give {drop} or {median}, or {situation.dropping(column)}")


def infinite(column: Column, unlimited: NDArray[np.bool_], situation: Situation) -> str:
    """Return the problem of a column with infinite values, (n,) bool."""
    advice = f"correct them, or give {situation.dropping(column)}"
    return line(column, "infinite", unlimited, situation, advice)


def mixed(column: Column, situation: Situation) -> str:
    """Return the problem of a column with decimal commas and decimal points."""
    advice = f"write one or the other, or give {situation.dropping(column)}"
    return f"column {column.name!r}: decimal commas and decimal points: {advice}"


def text(column: Column, categorical: str, most: int, situation: Situation) -> str | None:
    """Return the problem of a column of text under an option; None if it can be encoded.

    Parameters
    ----------
    categorical
        "refuse", "onehot" or "ordinal".
    most
        Largest number of values for "onehot".
    """
    assert column.codes is not None  # noqa: S101 - text has codes
    words = [word for word in column.words if not is_missing(word)]
    is_text = np.array([*(not is_missing(word) for word in column.words), False])[column.codes]
    dropping = situation.dropping(column)
    numbers = column.values[~np.isnan(column.values)]
    distinct = len(np.unique(numbers))
    is_among_numbers = len(numbers) > is_text.sum()
    among_numbers = f"text among numbers ({quoted(words)})"
    if is_among_numbers and (distinct > most or _are_few(int(is_text.sum()), len(numbers))):
        return line(column, among_numbers, is_text, situation, f"correct these cells, or give {dropping}")
    values = len(words) + distinct
    if all(map(THOUSANDS.fullmatch, words)):
        advice = f"write them without separators of thousands, or give {dropping}"
        return line(column, f"numbers with commas ({quoted(words)})", is_text, situation, advice)
    dates = all(map(_DATE.fullmatch, words))
    if not dates and all(map(_OTHER_DATE.fullmatch, words)):
        advice = f"write them year first (2020-03-01), or give {dropping}"
        return line(column, f"dates ({quoted(words)})", is_text, situation, advice)
    if len(words) > 1 and all(map(WITH_UNIT.fullmatch, words)):
        advice = f"write the numbers alone, or give {dropping}"
        return line(column, f"numbers with a unit ({quoted(words)})", is_text, situation, advice)
    if categorical == "ordinal" or (categorical == "onehot" and values <= most and not dates):
        return None
    ordinal = situation.naming("categorical", "ordinal")
    if dates:
        kind = f"dates ({quoted(words)})"
        advice = f"give {dropping}, or {ordinal} for their order"
    elif values == 1:
        kind, advice = f"constant text ({quoted(words)})", f"give {dropping}"
    elif values > most:
        kind = f"text of {values} values ({quoted(words)})"
        advice = f"give {dropping}, or {ordinal}; they are too many for one-hot encoding"
    elif is_among_numbers:
        kind, onehot = among_numbers, situation.naming("categorical", "onehot")
        advice = f"correct these cells, give {onehot} or {ordinal} if they are categories, or {dropping}"
    else:
        kind = f"text of {values} values ({quoted(words)})"
        advice = f"give {situation.naming('categorical', 'onehot')} or {ordinal}, or {dropping}"
    return line(column, kind, is_text, situation, advice)


def _are_few(words: int, numbers: int) -> bool:
    """Return whether so many cells with words, among so many with numbers, are rather mistakes."""
    return words == 1 or words < _FEW_WORDS * (words + numbers)


def refusal(where: str, problems: Sequence[str]) -> str:
    """Return the text of an error: one line for one problem, else at most ten lines."""
    if len(problems) == 1:
        return f"{where}: {problems[0]}"
    most = _MOST_LINES - 1  # the first line counts too
    lines = list(problems) if len(problems) <= most else list(problems[: most - 1])
    more = len(problems) - len(lines)
    if more:
        lines.append(f"... and {more} more")
    return "\n".join(
        [f"{where}: {len(problems)} problems with its columns:", *(f"  {each}" for each in lines)]
    )


def line(column: Column, kind: str, bad: NDArray[np.bool_], situation: Situation, advice: str) -> str:
    """Return a problem's line: where it is in (n,) bool rows, and what would help."""
    count = f"{int(bad.sum())} of {situation.rows} rows, first in {situation.place(int(np.argmax(bad)))}"
    return f"column {column.name!r}: {kind} in {count}: {advice}"


def quoted(words: Sequence[str]) -> str:
    """Return the first three words, shortened."""
    listed = ", ".join(repr(word[:_LONGEST_CELL]) for word in words[:3])
    return listed if len(words) <= 3 else f"{listed}, ..."
