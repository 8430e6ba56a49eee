"""What the adaptation of a suspect needs to know of the rows that it is asked."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from wm.datasets.preparation import MinMax, Preparation


class Header(Protocol):
    """What a claim says of its rows."""

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes 0, 1, ...."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the d features."""

    @property
    def domain(self) -> tuple[tuple[float, float], ...]:
        """Range of each feature."""

    @property
    def preparation(self) -> MinMax | Preparation | None:
        """How raw rows become model input."""


class Rows(Protocol):
    """Rows that a suspect is asked: a `Sample`, or the queries of a line-up."""

    @property
    def header(self) -> Header:
        """Of the claim."""

    @property
    def X(self) -> NDArray[np.float32]:  # noqa: N802 - the field's name for a data matrix
        """(n, d): as model input."""

    @property
    def y(self) -> NDArray[np.int64]:
        """(n,): labels 0, 1, ...; another number where no class is known."""

    @property
    def reference(self) -> NDArray[np.float32]:
        """(r, d): rows of the kind that a copy was trained on: its thresholds lie between their values."""
