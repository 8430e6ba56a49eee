"""Whether the first row of a text table holds names or values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import Enum, auto

from wm.datasets.columns import DECIMAL_COMMA, is_missing
from wm.datasets.wording import Naming
from wm.errors import DataError
from wm.formats.csv_cells import number


class _Vote(Enum):
    """What one column says of the first row."""

    NAMES = auto()
    """A word above numbers."""
    VALUES = auto()
    """A number above numbers."""
    PERHAPS_NAMES = auto()
    """A word above other words that repeat."""
    PERHAPS_VALUES = auto()
    """A word that occurs below again, or a number above words."""


def has_header(
    rows: Sequence[Sequence[str]], *, label: str | int | None, where: str, naming: Naming
) -> tuple[bool, tuple[str, ...]]:
    """Return whether the first of some rows holds names, and what the user should know of the answer.

    Parameters
    ----------
    rows
        Stripped cells of the first rows of a table, at least one row, all of one length.
    label
        The label's column: it decides if it is a name in the first row; a column of that number has no say
        as long as others have one.

    Raises
    ------
    DataError
        The columns contradict each other, or say nothing.
    """
    first, *rest = rows
    if isinstance(label, str) and label in first:
        return True, ()
    if not rest:
        return not any(_is_number(cell) for cell in first), ()
    columns = list(zip(*rows, strict=True))
    aside = (
        range(len(columns))[label] if isinstance(label, int) and -len(first) <= label < len(first) else None
    )
    votes = Counter(_vote(column) for index, column in enumerate(columns) if index != aside)
    if aside is not None and not any(votes[vote] for vote in _Vote):
        votes = Counter([_vote(columns[aside])])
    answer, certain = _decided(votes)
    shown = ", ".join(repr(cell[:20]) for cell in first[:4]) + (", ..." if len(first) > 4 else "")
    if answer is None:
        raise DataError(
            f"{where}: is the first row ({shown}) names or values? Say which with {naming('header', None)}"
        )
    if certain:
        return answer, ()
    kind = "names" if answer else "values, not names"
    return answer, (f"{where}: takes the first row ({shown}) for {kind}; else give {naming('header', None)}",)


def _decided(votes: Counter[_Vote | None]) -> tuple[bool | None, bool]:
    """Return whether there is a header, None if that is uncertain, and whether it is beyond doubt."""
    names, values = votes[_Vote.NAMES], votes[_Vote.VALUES]
    perhaps_names, perhaps_values = votes[_Vote.PERHAPS_NAMES], votes[_Vote.PERHAPS_VALUES]
    if names and not values and not perhaps_values:
        return True, True
    if values and not names:
        # All words differ from those below: years may be names too.
        return (None, False) if perhaps_names and not perhaps_values else (False, True)
    if names or values:
        return None, False
    if perhaps_values >= perhaps_names > 0 or (perhaps_values and not perhaps_names):
        return False, False
    return (True, False) if perhaps_names and not perhaps_values else (None, False)


def _vote(column: Sequence[str]) -> _Vote | None:
    first, below = column[0], [cell for cell in column[1:] if not is_missing(cell)]
    if is_missing(first) or not below:
        return None
    numbers = sum(map(_is_number, below))
    if _is_number(first):
        return _Vote.VALUES if 2 * numbers > len(below) else _Vote.PERHAPS_VALUES
    if numbers == len(below):
        return _Vote.NAMES
    if first in below:
        return _Vote.PERHAPS_VALUES
    # A few words that repeat, and this is none of them.
    return _Vote.PERHAPS_NAMES if len(below) >= 4 * len(set(below)) else None


def _is_number(cell: str) -> bool:
    return (
        number(cell) is not None or cell.lower() in ("true", "false") or bool(DECIMAL_COMMA.fullmatch(cell))
    )
