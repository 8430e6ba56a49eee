"""Thresholds of other libraries, which hold them in float32."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def float32_below(threshold: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the largest float32 not above each threshold: every float32 number compares with it alike."""
    with np.errstate(over="ignore"):  # beyond the largest float32 are -inf and the largest itself
        rounded: NDArray[np.float32] = threshold.astype(np.float32)
        below = np.nextafter(rounded, np.float32(-np.inf))
    return np.where(rounded > threshold, below, rounded).astype(np.float32)
