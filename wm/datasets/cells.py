"""A table as read from a file or a frame: raw columns and labels, before they become numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from wm.datasets.columns import Column
from wm.datasets.labels import encode_labels, is_unlabelled
from wm.datasets.model import RawTable
from wm.datasets.oddities import oddities
from wm.datasets.preparing import Preparing, dropped, prepare
from wm.datasets.wording import Naming, shown
from wm.errors import DataError


@dataclass(frozen=True, eq=False)
class Cells:
    """Raw columns of a table.

    Attributes
    ----------
    where
        Name of the table in errors.
    columns
        Those that may be features, without the ones that were dropped; n cells each.
    labels
        The label of each row as text, "" where it is missing; None: the table has none.
    place
        Returns a row's name by its index.
    is_named
        Whether the columns have names of their own, or are numbered.
    notes
        What the user should know of how it was read, a line each.
    """

    where: str
    columns: tuple[Column, ...]
    labels: Sequence[str] | None
    place: Callable[[int], str]
    is_named: bool = True
    notes: tuple[str, ...] = ()


def feature_places(
    names: Sequence[str], label_place: int | None, drop: Sequence[str | int], *, where: str, naming: Naming
) -> list[int]:
    """Return the indexes of the columns that are neither the label nor dropped.

    Raises
    ------
    DataError
        There is no such column, or it is the label.
    """
    found = dropped(names, drop, where=where, naming=naming)
    if label_place is not None and label_place in found:
        raise DataError(f"{where}: column {names[label_place]!r} is the label: it cannot be dropped")
    return [index for index in range(len(names)) if index not in {label_place, *found}]


def label_place(columns: Sequence[str], label: str | int | None, where: str, naming: Naming) -> int:
    """Return the index of the label's column; raise `DataError` if there is none."""
    choices = f"its {len(columns)} columns are {shown(columns)}"
    if label is None:
        raise DataError(f"{where}: say which column is the label with {naming('label', None)}; {choices}")
    if isinstance(label, str):
        if label not in columns:
            raise DataError(f"{where}: no column {label!r} for the label; {choices}")
        return list(columns).index(label)
    if not -len(columns) <= label < len(columns):
        raise DataError(f"{where}: no column number {label} for the label; {choices}")
    return label % len(columns)


def prepared_table(
    cells: Cells, options: Preparing, naming: Naming, *, positive: str | None = None
) -> RawTable:
    """Return the numbers and labels of a table that has labels; `positive` as in `encode_labels`.

    Raises
    ------
    DataError
        As in `prepare` and `encode_labels`.
    """
    labels = cells.labels or []
    unlabelled = np.array([is_unlabelled(name, positive) for name in labels], dtype=np.bool_)
    done = prepare(
        cells.columns,
        keep=~unlabelled if options.missing == "drop" else np.ones_like(unlabelled),
        where=cells.where,
        place=cells.place,
        options=options,
        naming=naming,
    )
    kept = np.array(labels, dtype=np.str_)[done.rows]
    return RawTable(
        where=cells.where,
        X=done.X,
        labels=encode_labels(kept, where=cells.where, naming=naming, positive=positive),
        feature_names=tuple(name for column in done.columns for name in column.feature_names),
        columns=done.columns,
        notes=(
            *cells.notes,
            *done.notes,
            *(f"{cells.where}: {line}" for line in oddities(cells.columns, naming)),
        ),
        is_settled=True,
    )
