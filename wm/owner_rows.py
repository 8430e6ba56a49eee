"""Training rows as callers in Python give them: an owner's to embed with, and the same to a judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm.claims.document import MAX_CLASSES
from wm.datasets.applying import frame_input, frame_rows
from wm.datasets.labels import coded
from wm.datasets.preparation import MinMax, Preparation, claimed
from wm.datasets.preparing import Categorical
from wm.errors import DataError
from wm.formats.forest_checks import as_matrix
from wm.interface import Interface, claimed_interface


@dataclass(frozen=True, eq=False)
class OwnerRows:
    """Rows of two classes or more.

    Attributes
    ----------
    X : (n, d) float32, y : (n,)
        As model input, and 0, 1, ....
    class_names
        Of 0, 1, ....
    feature_names
        d names.
    preparation
        How raw rows became model input; None for arrays.
    """

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    class_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    preparation: Preparation | None = None

    @property
    def domain(self) -> tuple[tuple[float, float], ...]:
        """Range of each feature."""
        return tuple(zip(self.X.min(axis=0).tolist(), self.X.max(axis=0).tolist(), strict=True))

    @classmethod
    def of(
        cls,
        X: Any,
        y: ArrayLike,
        *,
        feature_names: Sequence[str] | None = None,
        categorical: Categorical = "refuse",
        missing: Literal["refuse", "median"] = "refuse",
    ) -> OwnerRows:
        """Read an array or a pandas frame.

        Parameters
        ----------
        feature_names
            None: the frame's, or x0, x1, ...
        categorical, missing
            As in `wm.datasets.applying.frame_input`.

        Raises
        ------
        DataError
            Unusable rows, or labels of another number of classes.
        """
        given, preparation = frame_input(X, categorical=categorical, missing=missing)
        rows, labels = _matrix(given, y)
        classes, codes = coded(labels, error=DataError)
        if not 2 <= len(classes) <= MAX_CLASSES:
            raise DataError(f"the labels are of {len(classes)} classes: 2 to {MAX_CLASSES} are needed")
        if feature_names is None:
            some = (f"x{index}" for index in range(rows.shape[1]))
            feature_names = tuple(some) if preparation is None else preparation.feature_names
        names = tuple(map(str, classes))
        return cls(rows, codes, names, tuple(map(str, feature_names)), preparation)

    @property
    def claimed(self) -> MinMax | Preparation | None:
        """What a claim holds of the preparation."""
        return None if self.preparation is None else claimed(self.preparation)

    @property
    def interface(self) -> Interface:
        """The interface of a model of these rows."""
        return claimed_interface(self.class_names, self.feature_names, self.preparation)


def rows_of_claim(
    X: Any, y: ArrayLike, class_names: tuple[str, ...], preparation: MinMax | Preparation | None
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return rows as model input and codes of their labels, for a claim that is there already.

    Parameters
    ----------
    X
        Model input, or a frame of raw rows if the claim's preparation is of such.
    y : (n,)
        The class names. Where class 0 is "not" class 1, every other label is class 0.

    Raises
    ------
    DataError
        Unusable rows, or a label that is no class of the claim.
    """
    if isinstance(preparation, Preparation) and hasattr(X, "columns"):
        given: Any = frame_rows(preparation, X)
    else:
        given, _ = frame_input(X, categorical="refuse", missing="refuse")
    rows, labels = _matrix(given, y)
    negative, positive = class_names
    texts = labels.astype(str)
    known = np.isin(texts, class_names) | (negative == f"not {positive}")
    if not known.all():
        raise DataError(
            f"{str(texts[np.argmin(known)])!r} is no class of the claim: these are {negative!r} and "
            f"{positive!r}"
        )
    return rows, (texts == positive).astype(np.int64)


def _matrix(X: Any, y: ArrayLike) -> tuple[NDArray[np.float32], NDArray[Any]]:
    rows, labels = as_matrix(X, None, error=DataError), np.asarray(y)
    if labels.shape != (len(rows),):
        raise DataError(f"rows have shape {rows.shape}, labels {labels.shape}: (n, d) and (n,) are needed")
    return rows, labels
