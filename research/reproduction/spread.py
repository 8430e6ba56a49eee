"""A few numbers about a sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Spread:
    """A few numbers about a sample."""

    n: int  # size of the sample, at least 1
    mean: float
    sd: float | None  # sample standard deviation (n - 1); None for a single value, which has no spread
    low: float  # quantiles 0.1 and 0.9, interpolated linearly
    high: float
    most: float

    @classmethod
    def of(cls, values: ArrayLike) -> Spread:
        """Summarize a sample (n,)."""
        sample = np.asarray(values, dtype=np.float64)
        sd = float(sample.std(ddof=1)) if len(sample) > 1 else None
        return cls(len(sample), float(sample.mean()), sd, *np.quantile(sample, [0.1, 0.9, 1.0]).tolist())
