"""Types of data sets: `RawTable` (as read) and `Dataset` (checked)."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.datasets.labels import Labels, chosen_classes
from wm.datasets.preparation import CategoryColumn, NumberColumn
from wm.datasets.wording import Naming, as_key, shown
from wm.errors import DataError
from wm.formats.npz import content_hash


@dataclass(frozen=True, eq=False)
class RawTable:
    """Rows as read from a source, before they are checked."""

    where: str
    """Name of the source in errors."""
    X: NDArray[np.float64]
    """Features, (n, d)."""
    labels: Labels
    """The class of each row."""
    feature_names: tuple[str, ...]
    """d names."""
    test_mask: NDArray[np.bool_] | None = None
    """(n,) bool, the rows that the source reserves for testing; None: it reserves none."""
    notes: tuple[str, ...] = ()
    """What the user should know of how it was read, a line each."""
    columns: tuple[NumberColumn | CategoryColumn, ...] = ()
    """The raw columns that the features come of, in order; none: each feature is a column of numbers."""
    is_settled: bool = False
    """Whether columns were dropped and missing values treated as the source asks."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set to train a model on; its arrays cannot be written to."""

    name: str
    """The set's public name, or the file's."""
    X: NDArray[np.float64]
    """Features, (n, d), finite; NaN where `split` puts the median of the training rows."""
    y: NDArray[np.int64]
    """Classes, (n,), 0, 1, ...; each occurs."""
    class_names: tuple[str, ...]
    """Names of classes 0, 1, ... in the source."""
    feature_names: tuple[str, ...]
    """d names."""
    test_mask: NDArray[np.bool_] | None = None
    """(n,) bool, the rows that the source itself reserves for testing (ijcnn1); None: it reserves none."""
    notes: tuple[str, ...] = ()
    """What the user should know of how it was read, a line each; not in the hash."""
    columns: tuple[NumberColumn | CategoryColumn, ...] = ()
    """The raw columns that the features come of, in order; not in the hash."""

    def __post_init__(self) -> None:
        for array in (self.X, self.y, self.test_mask):
            if array is not None:
                array.setflags(write=False)

    @cached_property
    def sha256(self) -> str:
        """SHA-256 (hex) of the arrays and of the names of classes and features, not of the set's name."""
        arrays: dict[str, NDArray[Any]] = {
            "X": self.X,
            "y": self.y,
            "names": encode_json([self.class_names, self.feature_names]),
        }
        if self.test_mask is not None:
            arrays["test_mask"] = self.test_mask
        return content_hash(arrays)


def encode_json(document: object) -> NDArray[np.uint8]:
    """Return a JSON document as an array of bytes, to be hashed or packed with arrays."""
    return np.frombuffer(json.dumps(document, sort_keys=True).encode(), dtype=np.uint8)


def column_names(count: int) -> tuple[str, ...]:
    """Return names for columns that have none: column_0, column_1, ..."""
    return tuple(f"column_{index}" for index in range(count))


def checked_dataset(table: RawTable, *, name: str, positive: str | None, naming: Naming = as_key) -> Dataset:
    """Make a data set of a table whose values are finite, or NaN where a median will be put.

    Parameters
    ----------
    positive
        As in `wm.datasets.Source`.

    Raises
    ------
    DataError
        Too few rows, no features, or as in `chosen_classes`.
    """
    n_rows, n_features = table.X.shape
    if n_rows < 2:
        raise DataError(f"{table.where}: {n_rows} rows are too few: a split needs at least 2")
    if n_features == 0:
        raise DataError(f"{table.where}: there is no feature, only the label")
    y, class_names = chosen_classes(table.labels, positive=positive, where=table.where, naming=naming)
    notes = table.notes
    if len(class_names) > 2:
        notes += (
            f"{len(class_names)} classes, {shown(class_names)}: one model for all; "
            f"{naming('positive', None)} sets one against all others",
        )
    return Dataset(
        name=name,
        X=np.ascontiguousarray(table.X),
        y=y,
        class_names=class_names,
        feature_names=table.feature_names,
        test_mask=None if table.test_mask is None else table.test_mask.copy(),
        notes=notes,
        columns=table.columns or tuple(NumberColumn(name=each) for each in table.feature_names),
    )


def with_medians(dataset: Dataset, rows: NDArray[np.int64] | None = None) -> Dataset:
    """Return a set with medians of some of its rows (None: of all) in place of missing values.

    Parameters
    ----------
    rows
        Indexes of the training rows.

    Raises
    ------
    DataError
        A column has no value in these rows.
    """
    if not np.isnan(dataset.X).any():
        return dataset
    return replace(dataset, X=median_filled(dataset.X, dataset.feature_names, where=dataset.name, rows=rows))


def median_filled(
    X: NDArray[np.float64], names: tuple[str, ...], *, where: str, rows: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """Return rows, (n, d), with medians in place of missing values; errors as in `with_medians`."""
    gaps = np.isnan(X)
    known = X if rows is None else X[rows]
    columns = np.flatnonzero(gaps.any(axis=0))
    empty = np.isnan(known[:, columns]).all(axis=0)
    if empty.any():
        name = names[columns[int(np.argmax(empty))]]
        raise DataError(f"{where}: column {name!r} has no value in the training rows: drop it")
    filled = X.copy()
    filled[:, columns] = np.where(gaps[:, columns], np.nanmedian(known[:, columns], axis=0), X[:, columns])
    return filled
