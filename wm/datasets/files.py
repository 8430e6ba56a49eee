"""Readers of the user's files: npz and svmlight here, csv in `csv_file`, typed columns in `frames`."""

from __future__ import annotations

import bz2
import gzip
import io
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.datasets.arff import read_arff
from wm.datasets.cells import Cells, feature_places, prepared_table
from wm.datasets.columns import Column
from wm.datasets.csv_file import read_csv
from wm.datasets.frames import frame_cells, read_columnar
from wm.datasets.labels import encode_labels
from wm.datasets.model import RawTable, column_names
from wm.datasets.preparation import Preparation
from wm.datasets.source import OF_NUMBERS, FileFormat, Source, file_format, find_file
from wm.datasets.wording import Naming, reason, shown
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
    where = str(path)
    if kind is FileFormat.NPZ:
        return _read_npz(content, path, "y" if source.label is None else str(source.label), source.positive)
    if kind is FileFormat.SVMLIGHT:
        return parse_svmlight(content, where=where)
    cells = _cells(content, kind, source, where)
    return prepared_table(cells, source.preparing, source.naming, positive=source.positive)


def _cells(content: bytes, kind: FileFormat, source: Source, where: str) -> Cells:
    label, naming = source.label, source.naming
    if kind is FileFormat.CSV:
        return read_csv(
            content,
            where=where,
            label=label,
            header=source.header,
            sep=source.sep,
            drop=source.drop,
            naming=naming,
        )
    if kind is FileFormat.ARFF:
        return read_arff(content, where=where, label=label, drop=source.drop, naming=naming)
    frame = read_columnar(content, kind, where)
    return frame_cells(frame, where=where, label=label, drop=source.drop, naming=naming)


def read_labelled(path: Path, source: Source) -> Cells:
    """Read the cells of a labelled table: csv, ARFF, parquet or feather.

    Raises
    ------
    DataError
        The file is missing, damaged, or has no such label or column.
    """
    return _cells(read_bytes(path), file_format(path), source, str(path))


def read_raw(
    path: Path,
    preparation: Preparation,
    *,
    header: bool | None = None,
    sep: str | None = None,
    drop: Sequence[str | int] = (),
    naming: Naming,
) -> Cells:
    """Read the rows of a file for a model that is there already; labels are a column as others.

    Parameters
    ----------
    header, sep, drop
        As in `Source`.

    Raises
    ------
    DataError
        As in `read_file`.
    """
    content, kind, where = read_bytes(path), file_format(path), str(path)
    if kind is FileFormat.CSV:
        known = preparation.columns[0].name
        return read_csv(
            content, where=where, label=None, header=header, sep=sep, drop=drop, known=known, naming=naming
        )
    if (header, sep) != (None, None):
        raise DataError(f"{where}: {naming('header' if sep is None else 'sep', None)} is for csv files")
    if kind is FileFormat.ARFF:
        return read_arff(content, where=where, label=None, drop=drop, labelled=False, naming=naming)
    if kind not in OF_NUMBERS:
        frame = read_columnar(content, kind, where)
        return frame_cells(frame, where=where, label=None, drop=drop, labelled=False, naming=naming)
    if kind is FileFormat.NPZ:
        (X,) = read_arrays(content, "X", where=where)
        X = _checked_matrix(X, where)
        names = column_names(X.shape[1])
    else:
        table = parse_svmlight(content, where=where, n_features=len(preparation.columns))
        X, names = table.X, table.feature_names
    places = feature_places(names, None, drop, where=where, naming=naming)
    columns = tuple(Column(names[index], X[:, index]) for index in places)
    return Cells(where, columns, None, lambda row: f"row {row + 1}", is_named=False)


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


def _read_npz(content: bytes, path: Path, label: str, positive: str | None) -> RawTable:
    where = str(path)
    X, y = read_arrays(content, "X", label, where=where)
    X = _checked_matrix(X, where)
    if y.shape != (len(X),):
        raise DataError(f"{where}: array {label!r} has shape {y.shape}: it must have one label for each row")
    return RawTable(
        where=where,
        X=X,
        labels=encode_labels(y, where=where, positive=positive),
        feature_names=column_names(X.shape[1]),
    )


def _checked_matrix(X: NDArray[Any], where: str) -> NDArray[np.float64]:
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise DataError(f"{where}: array 'X' is {X.dtype} of shape {X.shape}: it must be numbers, (n, d)")
    return X.astype(np.float64)


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
