"""Raw columns behind a pipeline's prepared features: which feature comes of which column, and back.

A scikit-learn pipeline is followed step by step. Where each prepared feature comes of one raw column, and
never falls when the column's number rises (scalers, imputers, one-hot and ordinal encoders, columns that pass
or are left out), its trees are those of a forest over the raw columns: the threshold of each node is found by
asking the pipeline itself, see `wm.formats.units.in_units`. Any other step is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from wm.errors import ModelError

Kind = Literal["number", "onehot", "ordinal"]


@dataclass(frozen=True)
class Origin:
    """Where a prepared feature comes from.

    Attributes
    ----------
    column
        Index of the raw column.
    kind
        "number": the column's number; "onehot": whether it has one of its values; "ordinal": the value's
        place.
    values
        What a category may be, in the encoder's order; a missing value among them only if it is one-hot.
    member
        The place in `values` that a one-hot feature stands for.
    """

    column: int
    kind: Kind = "number"
    values: tuple[Any, ...] = ()
    member: int = 0


def origins(preparation: Any, columns: int) -> tuple[list[Origin], dict[int, tuple[Any, ...]]]:
    """Return the origin of each feature that a fitted preparation makes, and each category's values.

    Parameters
    ----------
    columns
        Number of raw columns.

    Raises
    ------
    ModelError
        A step whose features do not come of one raw column each, or not in a way that can be inverted.
    """
    follower = _Follower({})
    return follower.after(preparation, [Origin(column) for column in range(columns)]), follower.categories


@dataclass(frozen=True)
class _Follower:
    """Follows steps; knows the values of all categories on the way, of dropped features too."""

    categories: dict[int, tuple[Any, ...]]

    def after(self, step: Any, before: list[Origin]) -> list[Origin]:
        """Return the origins of a step's features from those of its input."""
        if step is None or isinstance(step, str):
            return before if step != "drop" else []
        if type(step).__module__.startswith("sklearn."):
            if (follow := _RULES.get(type(step).__name__)) is not None:
                return follow(self, step, before)
            if hasattr(step, "get_support") and hasattr(step, "transform"):  # a selection of features
                return [before[place] for place in np.flatnonzero(step.get_support()).tolist()]
        raise _refused(step, "makes features that do not come of one raw column each, or cannot be inverted")

    def pipeline(self, step: Any, before: list[Origin]) -> list[Origin]:
        for _, each in step.steps:
            before = self.after(each, before)
        return before

    def columns(self, step: Any, before: list[Origin]) -> list[Origin]:
        made: list[Origin | None] = [None] * sum(
            part.stop - part.start for part in step.output_indices_.values()
        )
        for name, each, chosen in step.transformers_:
            places = _places(step, chosen, len(before))
            part = self.after(each, [before[place] for place in places])
            made[step.output_indices_[name]] = part
        if None in made or len(made) != sum(origin is not None for origin in made):
            raise _refused(step, "makes another number of features than its parts")
        return [origin for origin in made if origin is not None]

    def scaler(self, step: Any, before: list[Origin]) -> list[Origin]:
        scale = getattr(step, "scale_", None)
        if scale is not None and not (np.asarray(scale) >= 0).all():
            raise _refused(step, "scales a column by less than 0, or by a missing value")
        return before

    def imputer(self, step: Any, before: list[Origin]) -> list[Origin]:
        import pandas as pd

        if step.add_indicator or pd.isna(step.missing_values) is not True:
            raise _refused(step, "has an indicator, or takes an ordinary value for a missing one")
        if step.strategy == "constant" or step.keep_empty_features:
            return before
        return [
            origin
            for origin, fill in zip(before, step.statistics_.tolist(), strict=True)
            if not pd.isna(fill)
        ]

    def one_hot(self, step: Any, before: list[Origin]) -> list[Origin]:
        dropped = [None] * len(before) if step.drop_idx_ is None else list(step.drop_idx_)
        return [
            Origin(origin.column, "onehot", values, member)
            for origin, values, drop in zip(before, self.values_of(step, before), dropped, strict=True)
            for member in range(len(values))
            if member != drop
        ]

    def ordinal(self, step: Any, before: list[Origin]) -> list[Origin]:
        import pandas as pd

        return [
            Origin(origin.column, "ordinal", tuple(value for value in values if not pd.isna(value)))
            for origin, values in zip(before, self.values_of(step, before), strict=True)
        ]

    def values_of(self, step: Any, before: list[Origin]) -> list[tuple[Any, ...]]:
        """Return the values that an encoder knows of each of its columns."""
        if step.min_frequency is not None or step.max_categories is not None:
            raise _refused(step, "puts rare values together")
        if any(origin.kind != "number" for origin in before):
            raise _refused(step, "encodes a column that is encoded already")
        found = [tuple(values.tolist()) for values in step.categories_]
        for origin, values in zip(before, found, strict=True):
            self.categories[origin.column] = values
        return found

    def function(self, step: Any, before: list[Origin]) -> list[Origin]:
        if step.func is not None:
            raise _refused(step, "calls a function whose inverse is not known")
        return before


_Follow = Callable[[_Follower, Any, list[Origin]], list[Origin]]
_RULES: dict[str, _Follow] = {
    "Pipeline": _Follower.pipeline,
    "ColumnTransformer": _Follower.columns,
    "StandardScaler": _Follower.scaler,
    "MinMaxScaler": _Follower.scaler,
    "MaxAbsScaler": _Follower.scaler,
    "RobustScaler": _Follower.scaler,
    "SimpleImputer": _Follower.imputer,
    "OneHotEncoder": _Follower.one_hot,
    "OrdinalEncoder": _Follower.ordinal,
    "FunctionTransformer": _Follower.function,
}
"""What follows a step of each of scikit-learn's own classes."""


def _places(step: Any, chosen: Any, count: int) -> list[int]:
    """Return the indexes of the columns that a part of a column transformer takes, of `count`."""
    names = [str(name) for name in getattr(step, "feature_names_in_", ())]
    if isinstance(chosen, slice):
        first = names.index(chosen.start) if isinstance(chosen.start, str) else chosen.start
        # pandas counts a named end in
        end = names.index(chosen.stop) + 1 if isinstance(chosen.stop, str) else chosen.stop
        return list(range(count))[first : end : chosen.step]
    if isinstance(chosen, str | int):
        chosen = [chosen]
    given = list(chosen)
    if given and isinstance(given[0], bool | np.bool_):
        return [place for place, taken in enumerate(given) if taken]
    return [names.index(str(each)) if isinstance(each, str) else int(each) % count for each in given]


def _refused(step: Any, why: str) -> ModelError:
    return ModelError(f"the pipeline's {type(step).__name__} {why}")
