"""ijcnn1: LIBSVM's version of the IJCNN 2001 challenge, sampled as in the paper's experiments."""

from __future__ import annotations

import bz2
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.datasets.cache import SIZE_LIMIT_BYTES, download, offline_advice
from wm.datasets.files import parse_svmlight, read_arrays, read_bytes
from wm.datasets.labels import Labels
from wm.datasets.model import RawTable
from wm.datasets.wording import reason
from wm.errors import DataError
from wm.formats.npz import content_hash

FILE_NAME = "ijcnn1.npz"
_WHERE = "ijcnn1"
_DECIMALS = 6  # the text files have at most six: rounding gives their values back from float32


@dataclass(frozen=True)
class Recipe:
    """The known files, and the draw of the paper's rows from them."""

    site: str = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"
    """Address of the directory with the files."""
    train_file: str = "ijcnn1.tr.bz2"
    test_file: str = "ijcnn1.t.bz2"
    """Names of the files, compressed with bzip2."""
    train_blob: str = "1e76e6189e93ecd1fd581fa6f4a2ec86a71e5f0e"
    test_blob: str = "21107880de57d93a258bb2361ccb3211202dfbf3"
    """Git blob hash (SHA-1, hex) of each file's text."""
    n_train: int = 35_000
    """Number of first rows of the npz's training arrays that are the training file."""
    n_features: int = 22
    """Number of columns."""
    n_drawn: int = 10_000
    """Number of rows drawn without replacement from each file."""
    seed: int = 7
    """The `random_state` of both draws."""
    expected_sha256: str = "767d65824f7f042eb2bbb40b294d93d3638d2a47489fa576211d809ae3f0f858"
    """Content hash (`wm.formats.npz.content_hash`) of all rows and labels of the two files."""


PAPER = Recipe()


_NAMES = ("X_train", "y_train", "X_test", "y_test")
_Arrays = dict[str, NDArray[Any]]
"""The arrays of `_NAMES`: float64 rows, and int64 labels, 0 or 1."""


def read_ijcnn1(data_dir: Path, *, download: bool, recipe: Recipe = PAPER) -> RawTable:
    """Return the paper's 10,000 training and 10,000 test rows, 22 features; class 1 is +1.

    They come from `ijcnn1.npz` in the data directory, else from the files on LIBSVM's site, which are kept in
    the data directory. The draw is `sklearn.utils.resample` with seed 7 on each file (the authors'
    notebook): 931 and 876 rows of class 1.

    Raises
    ------
    DataError
        The files are not available, or are not the known ones.
    """
    from sklearn.utils import resample

    path = data_dir / FILE_NAME
    if path.is_file():
        rows, where = _from_npz(path, recipe), str(path)
    else:
        rows, where = _from_text(data_dir, recipe, may_download=download), f"{data_dir}/{recipe.train_file}"
    if content_hash(rows) != recipe.expected_sha256:
        raise DataError(f"{where}: not the known rows of ijcnn1 (SHA-256 of its arrays differs)")
    options = {"n_samples": recipe.n_drawn, "replace": False, "random_state": recipe.seed}
    X_train, y_train = resample(rows["X_train"], rows["y_train"], **options)
    X_test, y_test = resample(rows["X_test"], rows["y_test"], **options)
    return RawTable(
        where=_WHERE,
        X=np.concatenate([X_train, X_test]),
        labels=Labels(np.concatenate([y_train, y_test]), ("-1", "1")),
        feature_names=tuple(f"feature_{index + 1}" for index in range(recipe.n_features)),
        test_mask=np.repeat([False, True], recipe.n_drawn),
    )


def _from_npz(path: Path, recipe: Recipe) -> _Arrays:
    X_train, y_train, X_test, y_test = read_arrays(read_bytes(path), *_NAMES, where=str(path))
    n = recipe.n_train
    return {
        "X_train": X_train[:n].astype(np.float64).round(_DECIMALS),
        "y_train": (y_train[:n] > 0).astype(np.int64),
        "X_test": X_test.astype(np.float64).round(_DECIMALS),
        "y_test": (y_test > 0).astype(np.int64),
    }


def _from_text(data_dir: Path, recipe: Recipe, *, may_download: bool) -> _Arrays:
    parts: list[NDArray[Any]] = []
    for file_name, blob in ((recipe.train_file, recipe.train_blob), (recipe.test_file, recipe.test_blob)):
        text = _text(data_dir / file_name, blob, recipe, may_download=may_download)
        table = parse_svmlight(text, where=file_name, n_features=recipe.n_features)
        positive = np.array([name == "1" for name in table.labels.classes])
        parts += [table.X, positive[table.labels.codes].astype(np.int64)]
    return dict(zip(_NAMES, parts, strict=True))


def _text(path: Path, blob: str, recipe: Recipe, *, may_download: bool) -> bytes:
    def check(content: bytes) -> None:
        _unpack(content, blob, f"{recipe.site}/{path.name}")

    if path.is_file():
        return _unpack(path.read_bytes(), blob, str(path))
    if not may_download:
        advice = offline_advice(f"{FILE_NAME} or {path.name}", path.parent)
        raise DataError(f"{_WHERE}: not found, and downloads are off: {advice}")
    content = download(f"{recipe.site}/{path.name}", path, check=check)
    return _unpack(content, blob, str(path))


def _unpack(content: bytes, blob: str, where: str) -> bytes:
    try:
        text = bz2.BZ2Decompressor().decompress(content, SIZE_LIMIT_BYTES)
    except (OSError, EOFError) as error:
        raise DataError(f"{where}: damaged compressed file ({reason(error)})") from error
    if git_blob_sha1(text) != blob:
        raise DataError(f"{where}: not the known file (its Git blob hash is not {blob})")
    return text


def git_blob_sha1(content: bytes) -> str:
    """Return a file's Git blob hash, which is published for these files."""
    header = f"blob {len(content)}\0".encode()
    return hashlib.sha1(header + content, usedforsecurity=False).hexdigest()
