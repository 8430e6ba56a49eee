"""The preparation that travels with a model and its claim: how raw columns become the model's input.

It is plain data, learned from the training rows and fixed: names, values of categories, medians, scaling. The
same raw cells give the same float32 numbers for the owner, for whoever runs the model, and for a judge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, model_validator

from wm.claims.document import Document
from wm.datasets.columns import Column, is_missing

NO_VALUE = "?"
"""The value of a category that stands for a missing one."""


def _distinct(values: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(values)) != len(values):
        raise ValueError("values are given twice")
    return values


class MinMax(Document):
    """Scaling of raw rows to model input: (x - low) / span for each feature, 0 where span is 0.

    Attributes
    ----------
    low, span
        d numbers each; span at least 0.
    """

    low: tuple[float, ...]
    span: tuple[Annotated[float, Field(ge=0)], ...]

    def inverse(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return model input, (n, d), in raw units; infinite where these are beyond float32."""
        raw = X.astype(np.float64)
        with np.errstate(over="ignore"):  # values beyond float32 become infinite
            raw *= np.array(self.span)
            raw += np.array(self.low)
            return raw.astype(np.float32)

    def scaled(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return raw rows, (n, d), as scikit-learn's `MinMaxScaler` scales them, to the last bit."""
        low, span = np.array(self.low), np.array(self.span)
        with np.errstate(over="ignore", invalid="ignore"):  # the caller refuses what is not finite
            # Spans this small count as none there.
            factor = 1.0 / np.where(span < 10 * np.finfo(np.float64).eps, 1.0, span)
            result: NDArray[np.float64] = X * factor + (0.0 - low * factor)
        result[:, span == 0] = 0.0
        return result


class NumberColumn(Document):
    """A column of numbers: one feature.

    Attributes
    ----------
    name
        Of the raw column and of the feature.
    fill
        What stands for a missing value; None: there may be none.
    words
        What stands for 0 and 1 in a column of words such as no and yes.
    """

    kind: Literal["number"] = "number"
    name: str
    fill: float | None = None
    words: tuple[str, str] | None = None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The feature's name."""
        return (self.name,)

    @property
    def is_truth(self) -> bool:
        """Whether pandas reads the column's words as Booleans."""
        return self.words is not None and tuple(map(str.lower, self.words)) == ("false", "true")


class CategoryColumn(Document):
    """A column of text: a feature for each value, or one of the values' places.

    Attributes
    ----------
    kind
        "onehot" or "ordinal".
    name
        Of the raw column.
    values
        The known values, in order; `NO_VALUE` stands for a missing one.
    """

    kind: Literal["onehot", "ordinal"]
    name: str
    values: Annotated[tuple[str, ...], Field(min_length=1), AfterValidator(_distinct)]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The features' names."""
        return (
            tuple(f"{self.name}={value}" for value in self.values) if self.kind == "onehot" else (self.name,)
        )


RawColumn = Annotated[NumberColumn | CategoryColumn, Field(discriminator="kind")]


class Preparation(Document):
    """How each raw column becomes features, in order.

    Attributes
    ----------
    columns
        The raw columns that the model uses.
    scaling
        Of the features that come of them; None: they are model input as they are.
    """

    columns: Annotated[tuple[RawColumn, ...], Field(min_length=1)]
    scaling: MinMax | None = None

    @classmethod
    def of_numbers(cls, names: Iterable[str], scaling: MinMax | None = None) -> Self:
        """Return the preparation of columns of numbers, a feature each."""
        return cls(columns=tuple(NumberColumn(name=name) for name in names), scaling=scaling)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        _distinct(tuple(column.name for column in self.columns))
        features = len(_distinct(self.feature_names))
        if self.scaling is not None and {len(self.scaling.low), len(self.scaling.span)} != {features}:
            raise ValueError(f"{features} features have a scaling of another number")
        return self

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the d features."""
        return tuple(name for column in self.columns for name in column.feature_names)

    @property
    def is_plain(self) -> bool:
        """Whether raw rows are numbers, which need no more than scaling."""
        return all(
            isinstance(column, NumberColumn) and column.fill is None and column.words is None
            for column in self.columns
        )

    def inverse(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return model input, (n, d), without its scaling; infinite where that is beyond float32."""
        return X if self.scaling is None else self.scaling.inverse(X)

    def cells(self, X: NDArray[np.float32]) -> list[list[str | float]]:
        """Return a raw row for each row of model input, (n, d): text of categories, and numbers.

        The cells of a category whose features are all 0 are empty, as are those of a missing value; a row of
        nothing else has `NO_VALUE` in its first cell, since a blank line is no row.
        """
        raw = self.inverse(X)
        columns: list[Sequence[str | float]] = []
        start = 0
        for column in self.columns:
            part = raw[:, start : start + len(column.feature_names)]
            columns.append(_cells_of(column, part))
            start += part.shape[1]
        rows = [list(row) for row in zip(*columns, strict=True)]
        return [row if any(cell != "" for cell in row) else [NO_VALUE, *row[1:]] for row in rows]


def claimed(preparation: Preparation) -> Preparation | MinMax | None:
    """Return a preparation as a claim commits to it: no more than the scaling, if raw rows are numbers."""
    return preparation.scaling if preparation.is_plain else preparation


def fitted(
    columns: Sequence[NumberColumn | CategoryColumn],
    X: NDArray[np.float64],
    *,
    fill: bool,
    scaling: MinMax | None = None,
) -> Preparation:
    """Return the preparation learned from training rows.

    Parameters
    ----------
    columns
        The raw columns, without fills.
    X : (n, d)
        Features of the training rows, NaN where a value is missing.
    fill
        Whether missing numbers become the median of these rows.
    scaling
        Of the features, if any.
    """
    parts: list[NumberColumn | CategoryColumn] = []
    start = 0
    for column in columns:
        values = X[:, start]
        start += len(column.feature_names)
        if fill and isinstance(column, NumberColumn) and not np.isnan(values).all():
            parts.append(column.model_copy(update={"fill": float(np.nanmedian(values))}))
        else:
            parts.append(column)
    return Preparation(columns=tuple(parts), scaling=scaling)


_Encoded = tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]


def encoded(part: NumberColumn | CategoryColumn, column: Column) -> _Encoded:
    """Return the features of a raw column of n cells, and what keeps some of them from having any.

    Returns
    -------
    The features, (n, k), NaN where there is none; where a cell is text that the column does not know, (n,);
    and where a value is missing and nothing stands for it, (n,).
    """
    none = column.missing
    if isinstance(part, CategoryColumn):
        return _encoded_category(part, column, none)
    own = enumerate(part.words or ())
    known = {"true": 1.0, "false": 0.0} | {word.lower(): float(place) for place, word in own}
    numbers = column.with_numbers([known.get(word.lower()) for word in column.words])
    values = numbers.values.copy()
    unknown = np.isnan(values) & ~none
    if part.fill is not None:
        values[none] = part.fill
    return values[:, None], unknown, none & np.isnan(values)


def _encoded_category(part: CategoryColumn, column: Column, none: NDArray[np.bool_]) -> _Encoded:
    places: Mapping[str, int] = {value: place for place, value in enumerate(part.values)}
    of_words = [places.get(NO_VALUE if is_missing(word) else word, -1) for word in column.words]
    codes = np.full(len(column.values), -1, dtype=np.int64)
    if column.codes is not None:
        codes = np.array([*of_words, -1], dtype=np.int64)[column.codes]
    numbers = ~np.isnan(column.values)
    codes[numbers] = [places.get(number_name(value), -1) for value in column.values[numbers].tolist()]
    codes[none] = places.get(NO_VALUE, -1)
    unknown = (codes < 0) & ~none
    if part.kind == "onehot":
        values = (codes[:, None] == np.arange(len(part.values))).astype(np.float64)
    else:
        values = np.where(codes < 0, np.nan, codes)[:, None]
    return values, unknown, none & (codes < 0)


def number_name(value: float) -> str:
    """Return a number's name among the values of a category."""
    return str(int(value)) if value.is_integer() else repr(value)


TRUTH = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}
"""Words that stand for 1 and 0."""


_HALF = 0.5
"""Numbers from here on are nearer to the second of two words."""


def _cells_of(column: NumberColumn | CategoryColumn, part: NDArray[np.float32]) -> Sequence[str | float]:
    if isinstance(column, NumberColumn):
        numbers: list[float] = part[:, 0].tolist()
        if column.words is None:
            return numbers
        return [column.words[value >= _HALF] for value in numbers]
    names = ["" if value == NO_VALUE else value for value in column.values]
    if column.kind == "ordinal":
        return [names[int(place)] if place in range(len(names)) else "" for place in part[:, 0].tolist()]
    places = np.where(part.max(axis=1) > 0, part.argmax(axis=1), -1)
    return [names[place] if place >= 0 else "" for place in places.tolist()]
