"""Types of data sets: `RawTable` (any number of classes, as read) and `Dataset` (two classes, checked)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.datasets.labels import Labels, two_classes
from wm.errors import DataError
from wm.formats.npz import content_hash


@dataclass(frozen=True, eq=False)
class RawTable:
    """Rows as read from a source, before they are checked and made binary."""

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


@dataclass(frozen=True, eq=False)
class Dataset:
    """A binary data set; its arrays cannot be written to."""

    name: str
    """The set's public name, or the file's."""
    X: NDArray[np.float64]
    """Features, (n, d), finite."""
    y: NDArray[np.int64]
    """Classes, (n,), 0 or 1; both occur."""
    class_names: tuple[str, str]
    """Names of classes 0 and 1 in the source."""
    feature_names: tuple[str, ...]
    """d names."""
    test_mask: NDArray[np.bool_] | None = None
    """(n,) bool, the rows that the source itself reserves for testing (ijcnn1); None: it reserves none."""

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


def binary_dataset(table: RawTable, *, name: str, positive: str | None) -> Dataset:
    """Check a table and make it binary.

    Raises
    ------
    DataError
        Too few rows, no features, values that are not finite, or as in `two_classes`.
    """
    n_rows, n_features = table.X.shape
    if n_rows < 2:
        raise DataError(f"{table.where}: {n_rows} rows are too few: a split needs at least 2")
    if n_features == 0:
        raise DataError(f"{table.where}: there is no feature, only the label")
    _check_finite(table)
    y, class_names = two_classes(table.labels, positive=positive, where=table.where)
    return Dataset(
        name=name,
        X=np.ascontiguousarray(table.X),
        y=y,
        class_names=class_names,
        feature_names=table.feature_names,
        test_mask=None if table.test_mask is None else table.test_mask.copy(),
    )


def _check_finite(table: RawTable) -> None:
    finite = np.isfinite(table.X)
    if finite.all():
        return
    row, column = np.argwhere(~finite)[0]
    kind = "missing or NaN" if np.isnan(table.X[row, column]) else "infinite"
    count = int(finite.size - finite.sum())
    raise DataError(
        f"{table.where}: row {row + 1}, column {table.feature_names[column]!r}: the value is {kind} "
        f"({count} such values in all): drop or fill those rows (rows are counted from 1, without the header)"
    )
