"""Sets from OpenML through scikit-learn's client, kept as npz in the data directory."""

from __future__ import annotations

import http.client
import json
import socket
import urllib.parse
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from wm.datasets.cache import STALL_LIMIT_S, close_response, make_directory, offline_advice, write_atomically
from wm.datasets.files import read_arrays, read_bytes
from wm.datasets.labels import Labels, encode_labels
from wm.datasets.model import RawTable, encode_json
from wm.datasets.wording import Naming, as_key, reason, shown
from wm.errors import DataError
from wm.formats.npz import pack


def read_openml(
    data_id: int, data_dir: Path, *, target: str | None, download: bool, naming: Naming = as_key
) -> RawTable:
    """Return a set by its OpenML number, from the data directory if it was fetched before.

    Parameters
    ----------
    data_id
        The set's number, 1 or more.
    data_dir
        Directory in which it is kept.
    target
        The target's name; None: the set's own default.
    download
        Whether it may be fetched.
    naming
        How errors name options.

    Raises
    ------
    DataError
        It cannot be fetched, or has a feature that is not a number.
    """
    where = f"openml:{data_id}"
    ending = "" if target is None else f"-{urllib.parse.quote(target, safe='')}"
    path = data_dir / f"openml-{data_id}{ending}.npz"
    if path.is_file():
        return _read_kept(path, where)
    if not download:
        raise DataError(f"{where}: not in {data_dir}, and downloads are off")
    bunch = fetch_openml_bunch(
        where, data_dir, path.name, data_id=data_id, target_column=target or "default-target", as_frame=True
    )
    table = _table(bunch, where, naming)
    names = encode_json({"classes": table.labels.classes, "features": table.feature_names})
    write_atomically(path, pack({"X": table.X, "codes": table.labels.codes, "names": names}))
    return table


def fetch_openml_bunch(where: str, data_dir: Path, file_name: str, **query: Any) -> Any:
    """Return the result of `sklearn.datasets.fetch_openml` for a query; raise `DataError` if it fails.

    Parameters
    ----------
    where
        Name of the set in errors.
    data_dir
        Directory of scikit-learn's downloads.
    file_name
        File that can replace the download, for the error's advice.
    """
    from sklearn.datasets import fetch_openml

    make_directory(data_dir)
    try:
        with _stall_limit(), warnings.catch_warnings():
            # If every retry fails, the error below reports it.
            warnings.filterwarnings("ignore", message="A network error occurred")
            # scikit-learn's other parser fails on nominal columns of numbers, such as MNIST's digits, from
            # pandas 3.1 on (scikit-learn pull request 34902).
            return fetch_openml(data_home=str(data_dir), parser="liac-arff", **query)
    except (OSError, http.client.HTTPException) as error:
        close_response(error)
        advice = offline_advice(file_name, data_dir)
        raise DataError(f"{where}: cannot be fetched from OpenML ({reason(error)}): {advice}") from error
    except Exception as error:  # its parser raises exceptions of its own, which are not public
        raise DataError(f"{where}: OpenML's answer is unusable ({reason(error)})") from error


@contextmanager
def _stall_limit() -> Iterator[None]:
    """Limit the silence of new connections: scikit-learn's client sets no limit."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(STALL_LIMIT_S)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def _table(bunch: Any, where: str, naming: Naming) -> RawTable:
    if bunch.target is None or getattr(bunch.target, "ndim", 1) != 1:
        raise DataError(
            f"{where}: does not have exactly one default target: name one with {naming('label', None)}"
        )
    words = [str(name) for name, dtype in bunch.data.dtypes.items() if dtype.kind not in "biuf"]
    if words:
        raise DataError(f"{where}: features that are not numbers: {shown(words)}")
    pairs = zip(bunch.target, bunch.target.isna(), strict=True)
    labels = np.array(["" if missing else value for value, missing in pairs], dtype=np.str_)
    return RawTable(
        where=where,
        X=bunch.data.to_numpy(dtype=np.float64),
        labels=encode_labels(labels, where=where, literal=True),
        feature_names=tuple(str(name) for name in bunch.data.columns),
    )


def _read_kept(path: Path, where: str) -> RawTable:
    X, codes, encoded = read_arrays(read_bytes(path), "X", "codes", "names", where=str(path))
    try:
        names = json.loads(encoded.tobytes())
        return RawTable(
            where=where,
            X=X.astype(np.float64),
            labels=Labels(codes.astype(np.int64), tuple(names["classes"])),
            feature_names=tuple(names["features"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: damaged; delete it, and it is fetched again") from error
