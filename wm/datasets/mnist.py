"""MNIST2-6: the images of the digits 2 and 6 (the paper's table of experimental settings)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wm.datasets.cache import offline_advice, write_atomically
from wm.datasets.files import read_arrays, read_bytes
from wm.datasets.labels import Labels
from wm.datasets.model import RawTable
from wm.datasets.openml import fetch_openml_bunch
from wm.datasets.wording import reason
from wm.errors import DataError
from wm.formats.npz import content_hash, pack

FILE_NAME = "mnist26.npz"
MNIST26_SHA256 = "f4b9e1fb16cd82c2aa0f9c4a5a6b5979b6c235d94f59490055272cd15bf65dd1"
"""`wm.formats.npz.content_hash` of X, uint8 (13866, 784), and y, int8 of 2 and 6, in file order."""

_WHERE = "mnist2-6"


def read_mnist26(data_dir: Path, *, download: bool, expected_sha256: str = MNIST26_SHA256) -> RawTable:
    """Return the 13,866 images of 2 (class 0) and 6 (class 1): 784 grey levels, 0 to 255.

    They come from `mnist26.npz` in the data directory, else from OpenML (`mnist_784`, version 1), in the
    order of the original files.

    Parameters
    ----------
    data_dir
        Directory of the file.
    download
        Whether it may be fetched.
    expected_sha256
        Hash of the known content.

    Raises
    ------
    DataError
        The images are not available, or are not the known ones.
    """
    path = data_dir / FILE_NAME
    if path.is_file():
        X, y = read_arrays(read_bytes(path), "X", "y", where=str(path))
        _check(X, y, expected_sha256, str(path))
    elif download:
        X, y = _cut_from_openml(data_dir)
        _check(X, y, expected_sha256, "OpenML's mnist_784, version 1")
        write_atomically(path, pack({"X": X, "y": y}))
    else:
        advice = offline_advice(FILE_NAME, data_dir)
        raise DataError(f"{_WHERE}: not found, and downloads are off: {advice}")
    return RawTable(
        where=_WHERE,
        X=X.astype(np.float64),
        labels=Labels((y == 6).astype(np.int64), ("2", "6")),
        feature_names=tuple(f"pixel{index + 1}" for index in range(X.shape[1])),
    )


def _cut_from_openml(data_dir: Path) -> tuple[NDArray[np.uint8], NDArray[np.int8]]:
    bunch = fetch_openml_bunch(_WHERE, data_dir, FILE_NAME, name="mnist_784", version=1, as_frame=False)
    try:
        digits = np.asarray(bunch.target).astype(np.int64)
        wanted = (digits == 2) | (digits == 6)
        return np.asarray(bunch.data)[wanted].astype(np.uint8), digits[wanted].astype(np.int8)
    except (ValueError, TypeError) as error:
        raise DataError(f"{_WHERE}: OpenML's answer is unusable ({reason(error)})") from error


def _check(X: NDArray[np.uint8], y: NDArray[np.int8], expected_sha256: str, where: str) -> None:
    if content_hash({"X": X, "y": y}) != expected_sha256:
        raise DataError(f"{where}: not the known 13,866 images of 2 and 6 (SHA-256 of X and y differs)")
