"""Raw rows for a model that is there already: read, and prepared as the model says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from orchestrator.cli.common import say
from orchestrator.cli.model_files import column
from wm.datasets.applying import model_rows
from wm.datasets.files import read_raw
from wm.datasets.preparation import NumberColumn, Preparation
from wm.datasets.wording import as_flag
from wm.errors import QueryError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wm.forest import Forest
    from wm.interface import Interface


def read_model_rows(
    forest: Forest,
    interface: Interface | None,
    path: Path,
    *,
    header: bool | None,
    sep: str | None,
    drop: tuple[str, ...],
) -> NDArray[np.float32]:
    """Return the model input of the rows in a file, and print how they were read.

    A model without an interface takes a file of as many columns of numbers as it has features.

    Parameters
    ----------
    header, sep, drop
        As in `wm.datasets.Source`.

    Raises
    ------
    DataError, QueryError
        The file cannot be read, or its rows are none that the model takes.
    """
    preparation = _numbers(forest.n_features) if interface is None else interface.preparation
    cells = read_raw(
        path,
        preparation,
        header=header,
        sep=sep,
        drop=tuple(column(each) for each in drop),
        naming=as_flag,
    )
    if interface is None:
        if len(cells.columns) != forest.n_features:
            raise QueryError(
                f"{path}: has {len(cells.columns)} columns, the model {forest.n_features} features without "
                "names: leave out the others with --drop"
            )
        cells = replace(cells, is_named=False)
    found = model_rows(preparation, cells)
    for note in (*cells.notes, *found.notes):
        say(note)
    return found.X


def _numbers(count: int) -> Preparation:
    return Preparation(columns=tuple(NumberColumn(name=f"feature {index + 1}") for index in range(count)))
