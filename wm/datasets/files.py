"""Reads the user's files: npz and svmlight here, csv in `csv_file`."""

from __future__ import annotations

import bz2
import gzip
import io
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.datasets.csv_file import parse_csv
from wm.datasets.labels import encode_labels
from wm.datasets.model import Table
from wm.datasets.source import FileFormat, file_format, find_file
from wm.datasets.wording import reason, shown
from wm.errors import DataError
from wm.formats.npz import unpack

MAX_DENSE_BYTES = 2**33
"""Most memory (8 GiB) that the features of one set may take; a forest's training needs them dense."""

_ROWS_ARRAY = "X"
_LABEL_ARRAY = "y"


def read_file(path: Path, data_dir: Path, *, label: str | int | None, header: bool | None) -> Table:
    """Read a file of any known kind; the parameters are those of `Source`.

    Raises
    ------
    DataError
        If the file is missing, damaged or does not hold rows of numbers with a label each.
    """
    path = find_file(path, data_dir)
    content = read_bytes(path)
    if not content.strip():
        raise DataError(f"{path}: the file is empty")
    kind = file_format(path)
    if kind is FileFormat.NPZ:
        return _read_npz(content, path, _LABEL_ARRAY if label is None else str(label))
    if kind is FileFormat.SVMLIGHT:
        return parse_svmlight(content, where=str(path))
    return parse_csv(content, where=str(path), label=label, header=header)


def read_bytes(path: Path, *, max_bytes: int = MAX_DENSE_BYTES) -> bytes:
    """Return a file's content, unpacked if its name ends in .gz or .bz2.

    Raises
    ------
    DataError
        If it cannot be read, is damaged, or unpacks to more than `max_bytes`.
    """
    try:
        with _opener(path) as stream:
            content = stream.read(max_bytes + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: damaged compressed file ({reason(error)})") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or reason(error)})") from error
    if len(content) > max_bytes:
        raise DataError(f"{path}: holds more than {max_bytes} bytes")
    return content


def _opener(path: Path) -> gzip.GzipFile | bz2.BZ2File | io.BufferedReader:
    ending = path.suffix.lower()
    if ending == ".gz":
        return gzip.open(path, "rb")
    return bz2.open(path, "rb") if ending == ".bz2" else path.open("rb")


def read_arrays(content: bytes, *names: str, where: str) -> list[NDArray[Any]]:
    """Return the named arrays of an npz.

    Raises
    ------
    DataError
        If it is damaged or has no such array.
    """
    arrays = unpack(content, error=DataError, what=where, max_bytes=MAX_DENSE_BYTES)
    for name in names:
        if name not in arrays:
            raise DataError(f"{where}: no array {name!r}: its arrays are {shown(list(arrays))}")
    return [arrays[name] for name in names]


def _read_npz(content: bytes, path: Path, label: str) -> Table:
    where = str(path)
    X, y = read_arrays(content, _ROWS_ARRAY, label, where=where)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise DataError(f"{where}: array 'X' is {X.dtype} of shape {X.shape}: it must be numbers, (n, d)")
    if y.shape != (len(X),):
        raise DataError(f"{where}: array {label!r} has shape {y.shape}: it must have one label for each row")
    return Table(
        where=where,
        X=X.astype(np.float64),
        labels=encode_labels(y, where=where),
        feature_names=column_names(X.shape[1]),
    )


def column_names(count: int) -> tuple[str, ...]:
    """Return names for columns that have none: column_0, column_1, ..."""
    return tuple(f"column_{index}" for index in range(count))


def parse_svmlight(
    content: bytes, *, where: str, n_features: int | None = None, max_bytes: int = MAX_DENSE_BYTES
) -> Table:
    """Read svmlight text ("label index:value ..."), made dense.

    Parameters
    ----------
    content
        The text.
    where
        How errors name it.
    n_features
        Number of columns where the text may leave out the last; None: the largest index that occurs.
        Indexes start at 1 unless a 0 occurs.
    max_bytes
        Most memory that the dense rows may take.

    Raises
    ------
    DataError
        If the text is malformed or the dense rows would be too large.
    """
    from sklearn.datasets import load_svmlight_file

    try:
        sparse, y = load_svmlight_file(io.BytesIO(content), n_features=n_features)
    except (ValueError, OverflowError, TypeError) as error:
        raise DataError(f"{where}: malformed svmlight text ({reason(error)})") from error
    n_rows, n_columns = sparse.shape
    if n_rows * n_columns * np.dtype(np.float64).itemsize > max_bytes:
        raise DataError(
            f"{where}: {n_rows} rows of {n_columns} features (the largest index) are more than "
            f"{max_bytes} bytes when dense"
        )
    return Table(
        where=where,
        X=np.asarray(sparse.toarray(), dtype=np.float64),
        labels=encode_labels(np.asarray(y), where=where),
        feature_names=tuple(f"feature_{index + 1}" for index in range(n_columns)),
    )
