"""Export to scikit-learn: a forest, after a `ColumnTransformer` if raw rows need one."""

from __future__ import annotations

from typing import Any

import numpy as np

from wm.datasets.preparation import NO_VALUE, CategoryColumn, MinMax, NumberColumn, Preparation
from wm.exporting.labels import class_labels
from wm.forest import Forest
from wm.formats.export import skops_io, to_sklearn
from wm.interface import Interface


def write(forest: Forest, interface: Interface | None) -> bytes:
    """Return the skops file of `to_pipeline`."""
    content: bytes = skops_io().dumps(to_pipeline(forest, interface))
    return content


def to_pipeline(forest: Forest, interface: Interface | None) -> Any:
    """Return a fitted model of scikit-learn.

    A `RandomForestClassifier` if rows are model input as they are; else a `Pipeline` that ends in one and
    takes pandas frames of raw rows, as `pandas.read_csv` returns them. It has the names of its columns, and
    refuses a frame of numbers with others, or in another order.
    """
    model = to_sklearn(forest, scrub=False, classes=class_labels(forest, interface))
    preparation = None if interface is None else interface.preparation
    if preparation is None:
        return model
    steps: list[tuple[str, Any]] = [("forest", model)]
    if preparation.scaling is not None:
        steps.insert(0, ("scaling", _scaler(preparation.scaling)))
    if preparation.is_plain:
        steps[0][1].feature_names_in_ = np.array(preparation.feature_names, dtype=object)
    else:
        steps.insert(0, ("columns", column_transformer(preparation)))
    if len(steps) == 1:
        return model
    from sklearn.pipeline import Pipeline

    return Pipeline(steps)


def column_transformer(preparation: Preparation) -> Any:
    """Return a fitted `ColumnTransformer` that makes a preparation's features, without its scaling."""
    import pandas as pd
    from sklearn.compose import ColumnTransformer

    example = pd.DataFrame({column.name: _example(column) for column in preparation.columns})
    made = ColumnTransformer(
        [
            (f"column {place}", _transformer(column), [column.name])
            for place, column in enumerate(preparation.columns)
        ],
        verbose_feature_names_out=False,
        sparse_threshold=0.0,
    )
    made.fit(example)
    for (_, fitted, _), column in zip(made.transformers_, preparation.columns, strict=True):
        if isinstance(column, NumberColumn) and column.fill is not None:
            fitted[-1].statistics_ = np.array([column.fill])
    return made


def _example(column: NumberColumn | CategoryColumn) -> list[Any]:
    """Return two cells of the type that a frame has for a column."""
    if isinstance(column, CategoryColumn):
        return [column.values[0]] * 2
    return [0.0, 1.0] if column.words is None or column.is_truth else list(column.words)


def _transformer(column: NumberColumn | CategoryColumn) -> Any:
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

    if isinstance(column, CategoryColumn):
        values = [np.array(column.values, dtype=object)]
        if column.kind == "onehot":
            encoder = OneHotEncoder(categories=values, handle_unknown="ignore", sparse_output=False)
        else:
            encoder = OrdinalEncoder(categories=values)
        if NO_VALUE not in column.values:
            return encoder
        return make_pipeline(SimpleImputer(strategy="constant", fill_value=NO_VALUE), encoder)
    steps: list[Any] = []
    if column.words is not None and not column.is_truth:
        gap = [] if column.fill is None else [np.nan]
        steps.append(OrdinalEncoder(categories=[np.array([*column.words, *gap], dtype=object)]))
    if column.fill is not None:
        steps.append(SimpleImputer(strategy="median"))  # its constants must be of a column's very type
    return make_pipeline(*steps) if steps else "passthrough"


def _scaler(scaling: MinMax) -> Any:
    """Return a fitted `MinMaxScaler`; a feature of one value becomes 0, as in training."""
    from sklearn.preprocessing import MinMaxScaler

    low, span = np.array(scaling.low), np.array(scaling.span)
    made = MinMaxScaler().fit(np.stack([low, low + span]))
    factor = 1.0 / np.where(span < 10 * np.finfo(np.float64).eps, 1.0, span)
    made.scale_, made.min_ = np.where(span == 0, 0.0, factor), np.where(span == 0, 0.0, 0.0 - low * factor)
    made.data_range_ = span
    return made
