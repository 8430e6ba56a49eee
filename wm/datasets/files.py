"""Readers of the user's files: npz and svmlight here, csv in `csv_file`."""

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
from wm.datasets.model import RawTable, column_names
from wm.datasets.source import FileFormat, Source, file_format, find_file
from wm.datasets.wording import reason, shown
from wm.errors import DataError
from wm.formats.npz import unpack

MAX_DENSE_BYTES = 2**33
"""Largest size (8 GiB) of one set's features in memory; a forest's training needs them dense."""


def read_file(path: Path, data_dir: Path, source: Source) -> RawTable:
    """Read a file of any known format, as its source says.

    Raises
    ------
    DataError
        The file is missing, damaged or does not hold labelled rows of numbers.
    """
    path = find_file(path, data_dir)
    content = read_bytes(path)
    if not content.strip():
        raise DataError(f"{path}: the file is empty")
    kind = file_format(path)
    if kind is FileFormat.NPZ:
        return _read_npz(content, path, "y" if source.label is None else str(source.label))
    if kind is FileFormat.SVMLIGHT:
        return parse_svmlight(content, where=str(path))
    return parse_csv(
        content,
        where=str(path),
        label=source.label,
        header=source.header,
        sep=source.sep,
        preparing=source.preparing,
        naming=source.naming,
    )


def read_bytes(path: Path) -> bytes:
    """Return a file's content, unpacked if its name ends in .gz or .bz2.

    Raises
    ------
    DataError
        It cannot be read, is damaged, or unpacks to more than `MAX_DENSE_BYTES`.
    """
    openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
    try:
        with openers.get(path.suffix.lower(), open)(path, "rb") as stream:
            content: bytes = stream.read(MAX_DENSE_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path}: damaged compressed file ({reason(error)})") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or reason(error)})") from error
    if len(content) > MAX_DENSE_BYTES:
        raise DataError(f"{path}: holds more than {MAX_DENSE_BYTES} bytes")
    return content


def read_arrays(content: bytes, *names: str, where: str) -> list[NDArray[Any]]:
    """Return the named arrays of an npz; raise `DataError` if it is damaged or lacks one."""
    arrays = unpack(content, error=DataError, what=where, max_bytes=MAX_DENSE_BYTES)
    for name in names:
        if name not in arrays:
            raise DataError(f"{where}: no array {name!r}: its arrays are {shown(list(arrays))}")
    return [arrays[name] for name in names]


def _read_npz(content: bytes, path: Path, label: str) -> RawTable:
    where = str(path)
    X, y = read_arrays(content, "X", label, where=where)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise DataError(f"{where}: array 'X' is {X.dtype} of shape {X.shape}: it must be numbers, (n, d)")
    if y.shape != (len(X),):
        raise DataError(f"{where}: array {label!r} has shape {y.shape}: it must have one label for each row")
    return RawTable(
        where=where,
        X=X.astype(np.float64),
        labels=encode_labels(y, where=where),
        feature_names=column_names(X.shape[1]),
    )


def parse_svmlight(content: bytes, *, where: str, n_features: int | None = None) -> RawTable:
    """Read svmlight text ("label index:value ..."), made dense.

    Parameters
    ----------
    where
        Name of the text in errors.
    n_features
        Number of columns; None: the largest index that occurs. Indexes start at 1 unless a 0 occurs.

    Raises
    ------
    DataError
        The text is malformed, or the dense rows would take more than `MAX_DENSE_BYTES`.
    """
    from sklearn.datasets import load_svmlight_file

    try:
        sparse, y = load_svmlight_file(io.BytesIO(content), n_features=n_features)
    except (ValueError, OverflowError, TypeError) as error:
        raise DataError(f"{where}: malformed svmlight text ({reason(error)})") from error
    n_rows, n_columns = sparse.shape
    if n_rows * n_columns * np.dtype(np.float64).itemsize > MAX_DENSE_BYTES:
        raise DataError(
            f"{where}: {n_rows} rows of {n_columns} features (the largest index) are more than "
            f"{MAX_DENSE_BYTES} bytes when dense"
        )
    return RawTable(
        where=where,
        X=np.asarray(sparse.toarray(), dtype=np.float64),
        labels=encode_labels(np.asarray(y), where=where),
        feature_names=tuple(f"feature_{index + 1}" for index in range(n_columns)),
    )
