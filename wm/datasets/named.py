"""The public data sets by name: one line here for each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from wm.datasets.ijcnn1 import read_ijcnn1
from wm.datasets.labels import Labels
from wm.datasets.mnist import read_mnist26
from wm.datasets.model import Table
from wm.datasets.openml import read_openml
from wm.datasets.source import Source


def read_breast_cancer(data_dir: Path, *, download: bool) -> Table:
    """Return scikit-learn's breast-cancer set: 569 rows, 30 features; it is part of the package.

    Parameters
    ----------
    data_dir, download
        Not needed here; every reader takes them.
    """
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    return Table(
        where="breast-cancer",
        X=np.asarray(bunch.data, dtype=np.float64),
        labels=Labels(
            np.asarray(bunch.target, dtype=np.int64), tuple(str(name) for name in bunch.target_names)
        ),
        feature_names=tuple(str(name) for name in bunch.feature_names),
    )


READERS: dict[str, Callable[..., Table]] = {
    "breast-cancer": read_breast_cancer,
    "mnist2-6": read_mnist26,
    "ijcnn1": read_ijcnn1,
}
"""Each takes `(data_dir, *, download)` and has a name in `source.FIXED_NAMES`."""


def read_named(source: Source, data_dir: Path, *, download: bool) -> Table:
    """Read a public set.

    Raises
    ------
    DataError
        If it is neither in the data directory nor to be downloaded, or is not what it should be.
    """
    if source.openml_id is not None:
        target = None if source.label is None else str(source.label)
        return read_openml(source.openml_id, data_dir, target=target, download=download)
    return READERS[source.title](data_dir, download=download)
