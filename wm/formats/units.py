"""Move a forest to other units, exactly: the same votes on every row of the new units.

Libraries compare float32 or float64 values with thresholds. If a monotone function turns new values into old
ones, the largest new value that still goes left is found by bisection over all numbers of its type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm.errors import DataError
from wm.forest import Forest
from wm.formats.forest_checks import InputDtype

Convert = Callable[[NDArray[np.int32], NDArray[np.floating[Any]]], NDArray[np.floating[Any]]]
"""Features (n,) and new values (n,) to old values (n,); never decreasing in the value."""

_LARGEST = np.finfo(np.float32).max
_COARSE = 1e-4
"""Part of a feature's range that rounding may move a value at most."""


def in_units(forest: Forest, convert: Convert, *, dtype: InputDtype = "float32") -> Forest:
    """Return the forest that takes new values: its votes on x are those of `forest` on ``convert(x)``.

    Exact for all finite values of `dtype` from -3.4e38 to 3.4e38, the range of float32, except the smallest
    one.

    Parameters
    ----------
    dtype
        Type in which the new forest compares.
    """
    inner = ~forest.is_leaf
    feature, limit = forest.feature[inner], forest.threshold[inner]
    largest = int(_LARGEST.astype(dtype).view(_BITS[dtype]))
    low = np.full(len(feature), -largest, dtype=np.int64)
    high = np.full(len(feature), largest, dtype=np.int64)
    while (low < high).any():
        middle = (low >> 1) + (high >> 1) + (((low & 1) + (high & 1) + 1) >> 1)  # their sum may overflow
        with np.errstate(over="ignore"):
            old = convert(feature, _float_of(middle, dtype)).astype(forest.input_dtype)
        goes_left = old <= limit
        low, high = np.where(goes_left, middle, low), np.where(goes_left, high, middle - 1)
    threshold = forest.threshold.copy()
    threshold[inner] = _float_of(low, dtype)
    return replace(forest, threshold=threshold, input_dtype=dtype)


_BITS: dict[InputDtype, type[np.signedinteger[Any]]] = {"float32": np.int32, "float64": np.int64}


def _float_of(place: NDArray[np.int64], dtype: InputDtype) -> NDArray[np.floating[Any]]:
    """Return the numbers at places of their ascending order; 0 is at place 0."""
    bits = np.abs(place).astype(_BITS[dtype]).view(dtype)
    signed: NDArray[np.floating[Any]] = np.where(place < 0, -bits, bits).astype(dtype)
    return signed


@dataclass(frozen=True, eq=False)
class Domain:
    """The interval of each feature, and the unit interval that stands for it.

    Attributes
    ----------
    low, high : (d,) float64
        Ends; equal for a feature that does not vary.
    whole : (d,) bool, or None
        Features whose values are whole numbers; None for none.
    dtype
        Type of the values, in which the model compares them.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    whole: NDArray[np.bool_] | None = None
    dtype: InputDtype = "float32"

    @classmethod
    def of(cls, X: ArrayLike, dtype: InputDtype = "float32") -> Self:
        """Return the smallest domain of rows, (n, d), of finite numbers.

        Raises
        ------
        DataError
            No rows, or a number that is not finite.
        """
        rows = np.asarray(X, dtype=np.float64)
        if not rows.size or not np.isfinite(rows).all():
            raise DataError("a domain needs rows of finite numbers")
        return cls(rows.min(axis=0), rows.max(axis=0), dtype=dtype)

    def to_unit(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return rows, (n, d), as shares of the intervals; 0 for a feature that does not vary.

        A missing value (NaN) stays one.
        """
        rows, span = np.asarray(X, dtype=np.float64), self.high - self.low
        shares: NDArray[np.float64] = np.divide(
            rows - self.low, span, where=span > 0, out=np.zeros(rows.shape)
        )
        shares[np.isnan(rows)] = np.nan
        return shares

    def from_unit(self, U: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
        """Return rows, (n, d), of float32 shares, in the type of the values."""
        return self._value(np.arange(len(self.low), dtype=np.int32), U)

    def holds(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Return which rows, (n, d), lie in the domain, whatever values they lack (NaN): (n,)."""
        rows = np.asarray(X, dtype=np.float64)
        inside: NDArray[np.bool_] = np.logical_and.reduce(~(rows < self.low) & ~(rows > self.high), axis=1)
        return inside

    def unit_forest(self, forest: Forest) -> Forest:
        """Return the forest of float32 shares: its votes on U are those of `forest` on ``from_unit(U)``."""
        return in_units(forest, self._value)

    def slack(self, forest: Forest, unit: Forest) -> float | None:
        """Return how much wider boxes of shares must be so that they miss no float64 value that matters.

        Thresholds of `forest` cut a feature's float64 values into sets. If each has a value that a float32
        share stands for, every set that meets a box of values also meets the box of shares that is wider by
        this much: what is impossible there is impossible for all float64 values of the narrower box.

        Parameters
        ----------
        unit
            Its `unit_forest`.

        Returns
        -------
        float or None
            A share of a feature's range; None if a set has no such value, or shares are too coarse for the
            range.
        """
        inner = ~forest.is_leaf
        feature, threshold, share = forest.feature[inner], forest.threshold[inner], unit.threshold[inner]
        cuts = (threshold >= self.low[feature]) & (threshold < self.high[feature])
        if self.whole is not None:
            cuts &= ~self.whole[feature]  # every whole number has its share
        order = np.flatnonzero(cuts)[np.lexsort((threshold[cuts], feature[cuts]))]
        feature, threshold, share = feature[order], threshold[order], share[order]
        follows = (feature[1:] == feature[:-1]) & (threshold[1:] > threshold[:-1])
        if (follows & (share[1:] <= share[:-1])).any():
            return None
        size = np.maximum(abs(self.low), abs(self.high))[feature]
        # The distance between shares, and what rounding of a value can move its share, with room to spare.
        rounding = np.max(size / (self.high - self.low)[feature], initial=0.0) * 2.0**-49
        return float(rounding + 2.0**-23) if rounding < _COARSE else None

    def _value(
        self, feature: NDArray[np.integer], share: NDArray[np.floating[Any]]
    ) -> NDArray[np.floating[Any]]:
        low, high = self.low[feature], self.high[feature]
        with np.errstate(over="ignore"):
            value = low + share.astype(np.float64) * (high - low)
            value = np.where(share >= 1, high, np.minimum(value, high))  # the end itself, whatever rounding
            if self.whole is not None:
                value = np.where(self.whole[feature], np.rint(value), value)
            typed: NDArray[np.floating[Any]] = value.astype(self.dtype)
        return typed
