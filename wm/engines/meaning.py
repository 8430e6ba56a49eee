"""What a row must obey beyond its box to keep its meaning: whole numbers, one-hot groups, missing values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.errors import QueryError

MOST_VALUES = 2**16
"""Values that one feature may be permitted; more are no small set of whole numbers."""


@dataclass(frozen=True, eq=False)
class Meaning:
    """Rules for a row of d features, in the units of the queries.

    Attributes
    ----------
    may_miss : (d,) bool
        Features whose value an attacker may leave out (NaN).
    values
        For each feature the numbers that it may be, ascending float32; None for any.
    groups
        One-hot groups: exactly one feature of each is hot, the others are not. A group is its features, each
        with the value that is hot, which must be the largest of its two values, or None if it never is.
    """

    may_miss: NDArray[np.bool_]
    values: tuple[NDArray[np.float32] | None, ...]
    groups: tuple[tuple[tuple[int, float | None], ...], ...] = ()

    def __post_init__(self) -> None:
        features = len(self.may_miss)
        if len(self.values) != features:
            raise QueryError(f"values are given for {len(self.values)} features, may_miss for {features}")
        for feature, values in enumerate(self.values):
            if values is None:
                continue
            if not 0 < len(values) <= MOST_VALUES or not (values[:-1] < values[1:]).all():
                raise QueryError(
                    f"feature {feature} may have {len(values)} values; 1 to {MOST_VALUES} ascending ones are "
                    "possible"
                )
        inside = [feature for group in self.groups for feature, _ in group]
        if len(set(inside)) < len(inside) or any(not 0 <= feature < features for feature in inside):
            raise QueryError("a one-hot group names a feature twice, or one that is not there")
        for feature, hot in (member for group in self.groups for member in group):
            values = self.values[feature]
            if values is None or len(values) > 2 or self.may_miss[feature]:
                raise QueryError(
                    f"feature {feature} of a one-hot group needs one or two values, and never NaN"
                )
            if hot is not None and values[-1] != np.float32(hot):
                raise QueryError(f"feature {feature} of a one-hot group is hot at its largest value only")

    @classmethod
    def of_missing(cls, may_miss: Sequence[bool] | NDArray[np.bool_]) -> Meaning:
        """Return rules that only say which features may be missing."""
        return cls(np.asarray(may_miss, dtype=bool), (None,) * len(may_miss))

    def fault(self, row: NDArray[np.floating]) -> str | None:
        """Return which rule on values and groups a row, (d,), breaks; None if it keeps all."""
        for feature, values in enumerate(self.values):
            if values is not None and not np.isnan(row[feature]) and row[feature] not in values:
                return f"feature {feature} is {row[feature]}, which is none of its values"
        for group in self.groups:
            hot = sum(each is not None and row[feature] == np.float32(each) for feature, each in group)
            if hot != 1:
                return f"{hot} features of a one-hot group are hot"
        return None
