"""Tables of typed columns: pandas frames, and the files that pandas reads as such."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wm.datasets.cells import Cells, feature_places, label_place
from wm.datasets.columns import Column, ColumnBuilder, is_missing
from wm.datasets.preparation import number_name
from wm.datasets.wording import Naming, as_key, reason, shown
from wm.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


def frame_of(cells: Cells) -> pd.DataFrame:
    """Return a table as pandas reads it from csv: numbers, Booleans, or text; NaN for a missing value."""
    import pandas as pd

    return pd.DataFrame({column.name: _series(column) for column in cells.columns})


def _series(column: Column) -> Any:
    words = {word.lower() for word in column.words if not is_missing(word)}
    if not words or column.codes is None:
        return column.values
    texts = np.array([*column.words, ""], dtype=object)[column.codes]
    if words <= {"true", "false"} and not column.missing.any() and (column.codes >= 0).all():
        return np.array([text.lower() == "true" for text in texts])
    numbers = column.codes < 0
    texts[numbers] = [number_name(value) for value in column.values[numbers].tolist()]
    texts[column.missing] = np.nan
    return texts


def frame_cells(
    frame: pd.DataFrame,
    *,
    where: str,
    label: str | int | None,
    drop: Sequence[str | int] = (),
    labelled: bool = True,
    naming: Naming = as_key,
) -> Cells:
    """Return the raw columns and labels of a frame; its index is no column.

    Numbers and Booleans stay; text, categories and whatever else are text, as csv files have it; dates are
    text of the form 2020-12-31.

    Parameters
    ----------
    label, drop
        As in `wm.datasets.Source`.
    labelled
        Whether one of the columns is the label.

    Raises
    ------
    DataError
        There is no such column, two have one name, or a cell is no single value.
    """
    names = [str(name) for name in frame.columns]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise DataError(f"{where}: columns {shown(twice)} occur more than once")
    if not len(frame):
        raise DataError(f"{where}: there are no rows")
    place = label_place(names, label, where, naming) if labelled else None
    features = feature_places(names, place, drop, where=where, naming=naming)
    return Cells(
        where=where,
        columns=tuple(_column(names[index], frame.iloc[:, index], where) for index in features),
        labels=None if place is None else [each.strip() for each in _texts(frame.iloc[:, place])],
        place=lambda row: f"row {row + 1}",
    )


def _column(name: str, series: pd.Series[Any], where: str) -> Column:
    import pandas as pd

    if pd.api.types.is_bool_dtype(series.dtype) and not series.isna().any():
        codes = series.to_numpy(dtype=np.bool_).astype(np.int32)
        return Column(name, np.full(len(codes), np.nan), codes, ("False", "True"))
    if pd.api.types.is_complex_dtype(series.dtype):
        raise DataError(f"{where}: column {name!r} has complex numbers")
    if pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_bool_dtype(series.dtype):
        return Column(name, series.to_numpy(dtype=np.float64, na_value=np.nan))
    builder = ColumnBuilder()
    texts = _texts(series)
    if any("\n" in text for text in texts):
        texts = [" ".join(text.splitlines()) for text in texts]
    builder.add(texts, plain=not any("_" in text for text in texts), commas=False)
    return builder.column(name)


def _texts(series: pd.Series[Any]) -> list[str]:
    """Return the cells as a csv file would have them; missing ones are empty."""
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        days = bool((series.dropna() == series.dropna().dt.normalize()).all())
        series = series.dt.strftime("%Y-%m-%d" if days else "%Y-%m-%d %H:%M:%S")
    none = series.isna().to_numpy()
    values = series.astype(object).tolist()
    return ["" if lacks else _text(value) for value, lacks in zip(values, none, strict=True)]


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def read_columnar(content: bytes, kind: str, where: str) -> pd.DataFrame:
    """Return the frame in a parquet or feather file.

    Raises
    ------
    DataError
        pyarrow is not installed, or the file is damaged.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise DataError(f"{where}: pyarrow is not installed: pip install 'treeproof[parquet]'")
    import pandas as pd

    stream = io.BytesIO(content)
    try:
        return pd.read_parquet(stream) if kind == "parquet" else pd.read_feather(stream)
    except Exception as error:  # pyarrow raises a dozen kinds on damaged input
        raise DataError(f"{where}: not a readable {kind} file ({reason(error)[:120]})") from error
