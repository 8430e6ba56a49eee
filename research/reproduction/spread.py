"""A few numbers about a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

LOW, HIGH = 0.1, 0.9
"""Quantiles over signatures that are shown beside the mean."""


@dataclass(frozen=True)
class Spread:
    """A few numbers about a sample.

    Attributes
    ----------
    n
        Size of the sample, at least 1.
    mean, median, least, most, low, high
        `low` and `high` are the quantiles `LOW` and `HIGH`, interpolated linearly.
    sd
        Sample standard deviation (n - 1); None for a single value, which has no spread.
    """

    n: int
    mean: float
    sd: float | None
    median: float
    least: float
    most: float
    low: float
    high: float

    @classmethod
    def of_known(cls, values: pd.Series[Any]) -> Spread | None:
        """Summarize those values that are not missing; None if all are."""
        known = values.dropna()
        return None if known.empty else cls.of(known)

    @classmethod
    def of(cls, values: ArrayLike) -> Spread:
        """Summarize a sample (n,)."""
        sample: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
        low, high = np.quantile(sample, [LOW, HIGH])
        return cls(
            n=len(sample),
            mean=float(sample.mean()),
            sd=float(sample.std(ddof=1)) if len(sample) > 1 else None,
            median=float(np.median(sample)),
            least=float(sample.min()),
            most=float(sample.max()),
            low=float(low),
            high=float(high),
        )
