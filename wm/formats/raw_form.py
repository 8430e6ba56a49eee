"""A pipeline's trees over raw columns: what an attacker who gives raw rows chooses, and the rows themselves.

An attacker of a pipeline chooses *choices*: a number for each column of numbers, 0 or 1 for each value of a
one-hot encoded column, and a place among the values of an ordinal one. The trees of `RawForm.model` take
choices, and answer as the pipeline answers the raw rows that these stand for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import ModelError
from wm.formats.pipelines import prepared
from wm.formats.raw_columns import Kind, Origin, origins
from wm.formats.raw_probe import Convert, Probe, typed
from wm.formats.units import Domain, in_units
from wm.models import TreeModel

if TYPE_CHECKING:
    import pandas as pd

_Numbers = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class RawColumn:
    """A raw column that prepared features come of.

    Attributes
    ----------
    name
        Of the column.
    kind
        As in `Origin`.
    values
        What a category may be.
    start
        Index of its first choice.
    features
        Prepared features that come of it.
    prepared : (values, features)
        What each value of a category becomes.
    takes_missing
        Whether a number or place may be missing.
    """

    name: str
    kind: Kind
    values: tuple[Any, ...]
    start: int
    features: NDArray[np.int64]
    prepared: NDArray[np.float64]
    takes_missing: bool

    @property
    def choices(self) -> range:
        """Indexes of its choices."""
        return range(self.start, self.start + (len(self.values) if self.kind == "onehot" else 1))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its choices."""
        return (
            tuple(f"{self.name}={value}" for value in self.values) if self.kind == "onehot" else (self.name,)
        )

    def chosen(self, cells: pd.Series[Any], features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the choices, (n, k), of n cells that became some prepared features; NaN for none."""
        missing = cells.isna().to_numpy()
        if self.kind == "number":
            return np.asarray(cells, dtype=np.float64)[:, None]
        same = (features[:, self.features][:, None, :] == self.prepared[None]).all(axis=2)
        known, place = same.any(axis=1), same.argmax(axis=1).astype(np.float64)
        if self.kind == "ordinal":
            return np.where(known & ~(missing & self.takes_missing), place, np.nan)[:, None]
        hot = place[:, None] == np.arange(len(self.values))
        return np.where(known[:, None], hot.astype(np.float64), np.nan)

    def cells(self, choices: _Numbers) -> list[Any]:
        """Return the cell for each row of its choices, (n, k)."""
        if self.kind == "number":
            return list(choices[:, 0].astype(np.float64))
        place = choices.argmax(axis=1) if self.kind == "onehot" else choices[:, 0]
        return [np.nan if np.isnan(each) else self.values[round(each)] for each in place.tolist()]


@dataclass(frozen=True, eq=False)
class RawForm:
    """A pipeline's trees over choices.

    Attributes
    ----------
    pipeline
        The model whose preparation was followed.
    model
        Its trees over choices, which they compare as float64; without a preparation.
    columns
        The raw columns that its features come of.
    """

    pipeline: TreeModel
    model: TreeModel
    columns: tuple[RawColumn, ...]

    @property
    def one_hot(self) -> list[list[int]]:
        """Groups of choices of which exactly one is 1."""
        return [list(column.choices) for column in self.columns if column.kind == "onehot"]

    def whole(self, frame: pd.DataFrame) -> list[int]:
        """Return the choices that are whole numbers: places among values, and columns of truths."""
        truths = self._own(frame).dtypes == np.bool_
        return [
            column.start
            for column in self.columns
            if column.kind == "ordinal" or (column.kind == "number" and truths[column.name])
        ]

    @property
    def may_miss(self) -> list[int]:
        """Choices that may be missing."""
        return [column.start for column in self.columns if column.takes_missing]

    def choices(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Return the choices, (n, k), of n raw rows; NaN where a value is missing, or is none that is known.

        Raises
        ------
        ModelError
            Columns that the pipeline lacks, or rows that it cannot prepare.
        """
        features = self.prepared(frame)
        raw = self._own(frame)
        return np.hstack([column.chosen(raw[column.name], features) for column in self.columns])

    def fits(self, choices: _Numbers) -> NDArray[np.bool_]:
        """Return which rows of choices, (n, k), have values that the pipeline knows: (n,)."""
        needed = [each for each in range(choices.shape[1]) if each not in self.may_miss]
        return np.asarray(~np.isnan(choices[:, needed]).any(axis=1))

    def domain(self, choices: _Numbers) -> Domain:
        """Return the range of each choice: of numbers that of the given rows, (n, k); all of categories."""
        known = ~np.isnan(choices)
        lowest = np.where(known, choices, np.inf).min(axis=0, initial=np.inf)
        highest = np.where(known, choices, -np.inf).max(axis=0, initial=-np.inf)
        some = known.any(axis=0)
        low, high = np.where(some, lowest, 0.0), np.where(some, highest, 0.0)
        for column in self.columns:
            if column.kind != "number":
                low[list(column.choices)] = 0.0
                high[list(column.choices)] = 1.0 if column.kind == "onehot" else len(column.values) - 1.0
        return Domain(low, high, dtype="float64")

    def raw_rows(self, choices: _Numbers, start: pd.DataFrame) -> pd.DataFrame:
        """Return raw rows of choices, (n, k), with the cells of n rows `start` where their choices agree."""
        own, rows = self.choices(start), self._own(start).copy()
        for column in self.columns:
            part = list(column.choices)
            same = (own[:, part] == choices[:, part]) | (np.isnan(own[:, part]) & np.isnan(choices[:, part]))
            given = rows[column.name].tolist()
            cells = column.cells(choices[:, part])
            if rows[column.name].dtype == np.bool_ and column.kind == "number":
                cells = [bool(cell > 0.5) for cell in cells]
            mixed = [
                before if kept else after
                for before, after, kept in zip(given, cells, same.all(axis=1).tolist(), strict=True)
            ]
            rows[column.name] = typed(mixed, column.values)
        return rows

    def prepared(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Return the trees' input for raw rows, as the pipeline prepares them."""
        return prepared(self.pipeline.preparation, self._own(frame))

    def _own(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the pipeline's own raw columns of a frame: by name if it has names, else by place."""
        names = _names(self.pipeline.preparation)
        if len(frame.columns) == len(names) and not set(names) <= set(map(str, frame.columns)):
            return frame.set_axis(names, axis=1)
        if lacking := [name for name in names if name not in frame.columns]:
            raise ModelError(f"the rows lack the pipeline's column {lacking[0]!r:.80}")
        return frame[names]


def _names(preparation: Any) -> list[str]:
    given = getattr(preparation, "feature_names_in_", None)
    if given is not None:
        return [str(name) for name in given]
    return [f"feature {index + 1}" for index in range(int(preparation.n_features_in_))]


def raw_form(model: TreeModel) -> RawForm:
    """Return the raw form of a pipeline.

    Raises
    ------
    ModelError
        A step that cannot be followed, by name.
    """
    names = _names(model.preparation)
    found, categories = origins(model.preparation, len(names))
    if len(found) != model.forest.n_features:
        raise ModelError(
            f"the pipeline's steps make {len(found)} features, its trees take {model.forest.n_features}"
        )
    probe = Probe(model, names, categories)
    columns: list[RawColumn] = []
    for place in sorted({origin.column for origin in found}):
        start = columns[-1].choices.stop if columns else 0
        columns.append(_raw_column(probe, found, place, start))
    choice = np.zeros(len(found), dtype=np.int32)
    for column in columns:
        choice[column.features] = column.start + np.array(
            [found[each].member for each in column.features.tolist()]
        )
    forest, inner = model.forest, ~model.forest.is_leaf
    moved = in_units(forest, Convert(probe, columns, found), dtype="float64")
    missing_left: NDArray[np.bool_] | None = None
    if any(column.takes_missing for column in columns):
        missing_left = probe.missing_left(columns)
    feature = forest.feature.copy()
    feature[inner] = choice[forest.feature[inner]]
    moved = replace(moved, feature=feature, n_features=columns[-1].choices.stop, missing_left=missing_left)
    named = tuple(name for column in columns for name in column.names)
    return RawForm(model, replace(model, forest=moved, feature_names=named, preparation=None), tuple(columns))


def _raw_column(probe: Probe, found: list[Origin], place: int, start: int) -> RawColumn:
    own = [(index, origin) for index, origin in enumerate(found) if origin.column == place]
    kinds = {(origin.kind, origin.values) for _, origin in own}
    name = probe.names[place]
    if len(kinds) > 1:
        raise ModelError(f"the pipeline uses column {name!r:.80} in two ways, as number and as category")
    ((kind, values),) = kinds
    features = np.array([index for index, _ in own], dtype=np.int64)
    table = np.zeros((0, len(features)))
    if kind != "number":
        if not values:
            raise ModelError(f"the pipeline knows no value of column {name!r:.80}")
        table = probe.ask({place: list(values)})[:, features]
    takes = kind != "onehot" and probe.takes_missing(place, features)
    return RawColumn(name, kind, values, start, features, table, takes)
