"""Move a forest to other units, exactly: the same votes on every float32 row of the new units.

scikit-learn compares float32 values with thresholds. If a monotone function turns new values into old ones,
the largest new value that still goes left is found by bisection over all float32 numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm.errors import DataError
from wm.forest import Forest

Convert = Callable[[NDArray[np.int32], NDArray[np.float32]], NDArray[np.float32]]
"""Features (n,) and new values (n,) to old values (n,); never decreasing in the value."""

_LARGEST = int(np.float32(np.finfo(np.float32).max).view(np.int32))


def in_units(forest: Forest, convert: Convert) -> Forest:
    """Return the forest that takes new values: its votes on x are those of `forest` on ``convert(x)``.

    Exact for all finite float32 values except the smallest one, -3.4e38.
    """
    inner = ~forest.is_leaf
    feature, limit = forest.feature[inner], forest.threshold[inner]
    low = np.full(len(feature), -_LARGEST, dtype=np.int64)
    high = np.full(len(feature), _LARGEST, dtype=np.int64)
    while (low < high).any():
        middle = (low + high + 1) // 2
        goes_left = convert(feature, _float_of(middle)) <= limit
        low, high = np.where(goes_left, middle, low), np.where(goes_left, high, middle - 1)
    threshold = forest.threshold.copy()
    threshold[inner] = _float_of(low)
    return replace(forest, threshold=threshold)


def _float_of(place: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the float32 numbers at places of their ascending order; 0 is at place 0."""
    bits = np.abs(place).astype(np.int32).view(np.float32)
    return np.where(place < 0, -bits, bits).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Domain:
    """The interval of each feature, and the unit interval that stands for it.

    Attributes
    ----------
    low, high : (d,) float64
        Ends; equal for a feature that does not vary.
    whole : (d,) bool, or None
        Features whose values are whole numbers; None for none.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    whole: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, X: ArrayLike) -> Self:
        """Return the smallest domain of rows, (n, d), of finite numbers.

        Raises
        ------
        DataError
            No rows, or a number that is not finite.
        """
        rows = np.asarray(X, dtype=np.float64)
        if not rows.size or not np.isfinite(rows).all():
            raise DataError("a domain needs rows of finite numbers")
        return cls(rows.min(axis=0), rows.max(axis=0))

    def to_unit(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return rows, (n, d), as shares of the intervals; 0 for a feature that does not vary."""
        span = self.high - self.low
        shares: NDArray[np.float64] = np.divide(
            np.asarray(X, dtype=np.float64) - self.low, span, where=span > 0, out=np.zeros(np.shape(X))
        )
        return shares

    def from_unit(self, U: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return float32 rows, (n, d), of shares."""
        return self._value(np.arange(len(self.low)), U)

    def holds(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Return which rows, (n, d), lie in the domain: (n,)."""
        rows = np.asarray(X, dtype=np.float64)
        inside: NDArray[np.bool_] = np.logical_and.reduce((rows >= self.low) & (rows <= self.high), axis=1)
        return inside

    def unit_forest(self, forest: Forest) -> Forest:
        """Return the forest that takes shares: its votes on U are those of `forest` on ``from_unit(U)``."""
        return in_units(forest, self._value)

    def _value(self, feature: NDArray[np.integer], share: NDArray[np.float32]) -> NDArray[np.float32]:
        low, span = self.low[feature], (self.high - self.low)[feature]
        with np.errstate(over="ignore"):
            value: NDArray[np.float64] = low + share.astype(np.float64) * span
            if self.whole is not None:
                value = np.where(self.whole[feature], np.rint(value), value)
            return value.astype(np.float32)
