"""The one way in: a source becomes a data set."""

from __future__ import annotations

from pathlib import Path

from wm.datasets.cache import default_data_dir
from wm.datasets.files import read_file
from wm.datasets.model import Dataset, binary_dataset
from wm.datasets.named import read_named
from wm.datasets.source import Source


def load(source: Source, *, data_dir: Path | None = None, download: bool = True) -> Dataset:
    """Return the rows of a source as a binary data set.

    Parameters
    ----------
    source
        A public name or a file.
    data_dir
        Where files are looked for and downloads kept; default: the directory in the environment variable
        WM_DATA_DIR, else ~/.cache/treeproof (below XDG_CACHE_HOME if that is set).
    download
        Whether a public set that is not in `data_dir` may be fetched.

    Raises
    ------
    DataError
        If the set is missing, malformed or unfit; the text says what, where, and how to mend it.
    """
    folder = default_data_dir() if data_dir is None else data_dir
    if source.path is None:
        table = read_named(source, folder, download=download)
    else:
        table = read_file(source.path, folder, label=source.label, header=source.header)
    return binary_dataset(table, name=source.title, positive=source.positive)
