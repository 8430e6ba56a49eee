"""Raw rows for a model that is there already: read, and prepared as the model says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from orchestrator.cli.common import say
from orchestrator.cli.model_files import column
from wm.datasets.applying import model_rows, number_rows
from wm.datasets.cells import Cells
from wm.datasets.files import read_raw
from wm.datasets.frames import frame_of
from wm.datasets.preparation import Preparation
from wm.datasets.source import OF_NUMBERS, file_format
from wm.datasets.wording import as_flag
from wm.errors import QueryError
from wm.formats.pipelines import prepared
from wm.verification.questions import Units

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wm.interface import Interface
    from wm.models import TreeModel

_NAMED = 5
"""Columns that an error names."""


def read_model_rows(
    model: TreeModel,
    interface: Interface | None,
    path: Path,
    *,
    units: Units | None,
    header: bool | None,
    sep: str | None,
    drop: tuple[str, ...],
) -> NDArray[np.floating[Any]]:
    """Return the model input of the rows in a file, and print how they were read.

    It is float32 for a model that says how raw rows become its input. Others have float64, which their trees
    compare as their library does, with NaN for a missing value if the model takes such.

    Parameters
    ----------
    units
        Whether the file has raw columns or model input, which is a column of numbers for each feature. None:
        raw columns in tables, model input in arrays (npz, svmlight), and for a model without an interface.
    header, sep, drop
        As in `wm.datasets.Source`.

    Raises
    ------
    DataError, QueryError
        The file cannot be read, or its rows are none that the model takes.
    """

    def read(preparation: Preparation) -> Cells:
        places = tuple(column(each) for each in drop)
        return read_raw(path, preparation, header=header, sep=sep, drop=places, naming=as_flag)

    if model.preparation is not None:
        if units == "model":
            raise QueryError("a pipeline takes raw rows, which it prepares itself: leave --units out")
        raw = tuple(map(str, getattr(model.preparation, "feature_names_in_", ("feature 1",))))
        cells = read(Preparation.of_numbers(raw))
        for note in cells.notes:
            say(note)
        return prepared(model.preparation, frame_of(cells))
    if units == "raw" and interface is None:
        raise QueryError(
            "the model does not say what raw rows are: it takes model input only (--units model)"
        )
    chosen = units or ("model" if file_format(path) in OF_NUMBERS else "raw")
    is_raw = interface is not None and chosen == "raw"
    names, own_names = column_names(model, interface)
    preparation = interface.preparation if interface is not None and is_raw else Preparation.of_numbers(names)
    cells = read(preparation)
    given = [each.name for each in cells.columns]
    named = cells.is_named and own_names
    if not is_raw and not go_by_name(given, names, str(path), named=named, raw=interface is not None):
        cells = replace(cells, is_named=False)
    X: NDArray[np.floating[Any]]
    if interface is None:
        X, notes = number_rows(names, cells, may_miss=model.forest.missing_left is not None)
    else:
        X, notes = model_rows(preparation, cells)
    for note in (*cells.notes, *notes):
        say(note)
    return X


def column_names(model: TreeModel, interface: Interface | None) -> tuple[tuple[str, ...], bool]:
    """Return the names of a model's features, numbers from 1 if it has none, and whether they are its own."""
    own = model.feature_names if interface is None else interface.preparation.feature_names
    count = model.forest.n_features
    if len(set(own)) == count == len(own):
        return own, True
    return tuple(f"feature {index + 1}" for index in range(count)), False


def go_by_name(
    given: Sequence[str], names: tuple[str, ...], where: str, *, named: bool, raw: bool = False
) -> bool:
    """Return whether columns are found by name, in any order; by place if no name is a feature's.

    Parameters
    ----------
    given, names
        Of the columns, and of the model's features.
    where
        Name of the rows in errors.
    named
        Whether the rows and the model have names of their own.
    raw
        Whether the model takes raw columns too.

    Raises
    ------
    QueryError
        Some columns have names of features, but not all; or there are too few or too many to go by place.
    """
    if named:
        lacking = [name for name in names if name not in given]
        if not lacking:
            return True
        if {name.casefold() for name in names} & {name.casefold() for name in given}:
            raise QueryError(
                f"{where}: lacks {_listed(lacking)} of the model's {len(names)} columns: name all of them as "
                "the model does, or none"
            )
    if len(given) != len(names):
        few = len(given) < len(names)
        advice = "these are too few" if few else "leave others out with --drop"
        raise QueryError(
            f"{where}: has {len(given)} columns, the model {len(names)} features: {advice}"
            + (", or give --units raw" if raw else "")
        )
    if named:
        say("no column has the name of one of the model's features: columns are taken by place")
    return False


def _listed(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:_NAMED]))
    return f"{shown} and {len(names) - _NAMED} more" if len(names) > _NAMED else shown
