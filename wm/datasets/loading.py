"""Loading of data sets; the public ones have one line here each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wm.datasets.cache import default_data_dir
from wm.datasets.cells import prepared_table
from wm.datasets.files import read_file
from wm.datasets.frames import frame_cells
from wm.datasets.ijcnn1 import read_ijcnn1
from wm.datasets.labels import Labels
from wm.datasets.mnist import read_mnist26
from wm.datasets.model import Dataset, RawTable, checked_dataset
from wm.datasets.openml import read_openml
from wm.datasets.preparing import Categorical, Missing, Preparing, settled
from wm.datasets.source import BUNDLED_NAMES, Source
from wm.datasets.wording import as_key

if TYPE_CHECKING:
    import pandas as pd


def read_bundled(name: str, data_dir: Path, *, download: bool) -> RawTable:
    """Return a set that is part of scikit-learn's package, as in its function ``load_<name>``."""
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name.replace('-', '_')}")()
    return RawTable(
        where=name,
        X=np.asarray(bunch.data, dtype=np.float64),
        labels=Labels(np.asarray(bunch.target, dtype=np.int64), tuple(map(str, bunch.target_names))),
        feature_names=tuple(map(str, bunch.feature_names)),
    )


READERS: dict[str, Callable[..., RawTable]] = {
    **{name: partial(read_bundled, name) for name in BUNDLED_NAMES},
    "mnist2-6": read_mnist26,
    "ijcnn1": read_ijcnn1,
}
"""Each takes `(data_dir, *, download)` and has a name in `source.FIXED_NAMES`."""


def load(source: Source, *, data_dir: Path | None = None, download: bool = True) -> Dataset:
    """Return the rows of a source as a data set; parameters and errors as in `load_table`."""
    table = load_table(source, data_dir=data_dir, download=download)
    return checked_dataset(table, name=source.title, positive=source.positive, naming=source.naming)


def load_table(source: Source, *, data_dir: Path | None = None, download: bool = True) -> RawTable:
    """Return the rows of a source, of any number of classes.

    Parameters
    ----------
    source
        A public name or a file.
    data_dir
        Directory of files and downloads; None: the one in the environment variable WM_DATA_DIR, else
        ~/.cache/treeproof (below XDG_CACHE_HOME if that is set; a temporary directory for a user
        who has none).
    download
        Whether a public set that is not in `data_dir` may be fetched.

    Raises
    ------
    DataError
        The set is missing, malformed or unfit; the text says how to fix it.
    """
    folder = default_data_dir() if data_dir is None else data_dir
    if source.path is not None:
        table = read_file(source.path, folder, source)
    elif source.openml_id is not None:
        target = None if source.label is None else str(source.label)
        table = read_openml(source.openml_id, folder, target=target, download=download, naming=source.naming)
    else:
        table = READERS[source.title](folder, download=download)
    return table if table.is_settled else settled(table, source.preparing, source.naming)


def load_frame(
    frame: pd.DataFrame,
    *,
    label: str | int,
    name: str = "frame",
    positive: str | None = None,
    missing: Missing = "refuse",
    categorical: Categorical = "refuse",
    drop: tuple[str | int, ...] = (),
) -> Dataset:
    """Return the rows of a pandas frame as a data set; its index is no column.

    Parameters
    ----------
    label, positive, missing, categorical, drop
        As in `wm.datasets.Source`.
    name
        Of the frame in errors.

    Raises
    ------
    DataError
        The frame is unfit; the text says how to fix it.
    """
    cells = frame_cells(frame, where=name, label=label, drop=drop)
    table = prepared_table(cells, Preparing(missing, categorical, drop), as_key, positive=positive)
    return checked_dataset(table, name=name, positive=positive)
