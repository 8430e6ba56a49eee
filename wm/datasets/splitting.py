"""Splits of a data set into training and test rows, scaled to [0, 1]."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from wm.datasets.model import Dataset, encode_json, with_medians
from wm.datasets.wording import reason
from wm.errors import DataError
from wm.formats.npz import content_hash, pack, unpack

Scaling = Literal["train", "paper", "none"]
"""Scaling of features to [0, 1]; see `split`."""

AnyScaling = Literal["train", "paper", "none", "raw"]
"""The same, or the features' own units."""

_SCHEMA = 1
_ARRAYS: dict[str, tuple[type[np.generic], int]] = {
    "X_train": (np.float32, 2),
    "X_test": (np.float32, 2),
    "y_train": (np.int64, 1),
    "y_test": (np.int64, 1),
    "train_rows": (np.int64, 1),
    "test_rows": (np.int64, 1),
}


def _checked_scaling(name: str) -> AnyScaling:
    if name not in get_args(AnyScaling):
        raise DataError(f"unknown scaling {name!r}: known are {', '.join(get_args(AnyScaling))}")
    return cast(AnyScaling, name)


def _class_names(names: Any) -> tuple[str, ...]:
    found = tuple(map(str, names))
    if len(found) < 2:
        raise ValueError(f"{len(found)} class names")
    return found


_FACTS: dict[str, Callable[[Any], Any]] = {
    "class_names": _class_names,
    "feature_names": lambda names: tuple(map(str, names)),
    "scaling": _checked_scaling,
    "seed": int,
    "test_share": float,
    "dataset_sha256": str,
    "constant_features": int,
}
"""The fields of a split that are not arrays, with their readers from JSON."""


@dataclass(frozen=True, eq=False)
class Split:
    """Training and test rows as scikit-learn's trees see them; the arrays cannot be written to."""

    X_train: NDArray[np.float32]
    X_test: NDArray[np.float32]
    """Scaled features, float32, (n, d) each."""
    y_train: NDArray[np.int64]
    y_test: NDArray[np.int64]
    """Classes, 0, 1, ...."""
    train_rows: NDArray[np.int64]
    test_rows: NDArray[np.int64]
    """Each row's index in the data set."""
    class_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    """As in the data set."""
    scaling: AnyScaling
    seed: int
    """The `random_state` of the split; without effect if the source reserves its own test rows."""
    test_share: float
    """Requested share of test rows, or the share that the source reserves."""
    dataset_sha256: str
    """The data set's hash."""
    constant_features: int
    """Number of features with a single value in the rows that scaling was fitted on."""

    def __post_init__(self) -> None:
        for array in self._arrays().values():
            array.setflags(write=False)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {name: getattr(self, name) for name in _ARRAYS}

    def _packed(self) -> dict[str, NDArray[Any]]:
        facts = {"schema": _SCHEMA} | {name: getattr(self, name) for name in _FACTS}
        return {**self._arrays(), "facts": encode_json(facts)}

    @cached_property
    def sha256(self) -> str:
        """SHA-256 (hex) of all arrays and other fields."""
        return content_hash(self._packed())

    def to_bytes(self) -> bytes:
        """Return the split as an uncompressed npz; equal splits give equal bytes."""
        return pack(self._packed())

    @classmethod
    def from_bytes(cls, data: bytes) -> Split:
        """Return the split that `to_bytes` wrote; raise `DataError` for other bytes."""
        # Nothing is compressed, so the members cannot be larger than the bytes themselves.
        packed = unpack(data, error=DataError, what="split", max_bytes=len(data))
        if missing := sorted({*_ARRAYS, "facts"} - packed.keys()):
            raise DataError(f"split: array {missing[0]!r} is missing")
        values: dict[str, Any] = {name: _checked(packed[name], name, *_ARRAYS[name]) for name in _ARRAYS}
        try:
            facts = json.loads(packed["facts"].tobytes())
            if facts["schema"] != _SCHEMA:
                raise DataError(f"split: schema {facts['schema']} is not {_SCHEMA}: made by another version")
            values |= {name: read(facts[name]) for name, read in _FACTS.items()}
            result = cls(**values)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"split: unreadable facts ({type(error).__name__}: {reason(error)})") from error
        result._check_shapes()
        return result

    def _check_shapes(self) -> None:
        for rows, labels, indexes in (
            (self.X_train, self.y_train, self.train_rows),
            (self.X_test, self.y_test, self.test_rows),
        ):
            if rows.shape != (len(labels), len(self.feature_names)) or len(indexes) != len(labels):
                raise DataError("split: rows, labels and names differ in number")


def _checked(array: NDArray[Any], name: str, dtype: type[np.generic], ndim: int) -> NDArray[Any]:
    if array.dtype != dtype or array.ndim != ndim:
        raise DataError(f"split: array {name!r} is {array.dtype} of shape {array.shape}")
    return array


def split(
    dataset: Dataset,
    *,
    test_share: float = 0.3,
    seed: int,
    scaling: AnyScaling = "train",
    rows: int | None = None,
) -> Split:
    """Split a data set into training and test rows, and scale it.

    The split is scikit-learn's `train_test_split`, not stratified, as in the paper's notebooks; if the source
    reserves rows for testing (ijcnn1), these are the test rows and `test_share` has no effect. A feature with
    a single value in the rows that scaling is fitted on becomes 0 everywhere and is counted. A value that is
    NaN becomes the median of the training rows.

    Parameters
    ----------
    test_share
        Share of rows for testing, in (0, 1).
    seed
        The `random_state` of the split, in [0, 2^32).
    scaling
        "train": min-max fitted on the training rows; test values may leave [0, 1]. "paper": min-max over all
        rows, which leaks test rows as the paper does; if the source reserves its test rows, the paper too
        fits on the training rows. "none": values are not changed and must lie in [0, 1]. "raw": values are
        not changed.
    rows
        Most rows to use, drawn by `seed` from all, training and test rows together; None: all.

    Raises
    ------
    DataError
        Too few rows, training rows without one of the classes, or a value that does not fit the scaling.
    """
    checked_scaling = _checked_scaling(scaling)
    train_rows, test_rows = _cut(dataset, test_share, seed, rows)
    for code, name in enumerate(dataset.class_names):
        if not np.any(dataset.y[train_rows] == code):
            raise DataError(
                f"{dataset.name}: class {name!r} is not among the {len(train_rows)} training rows: "
                "choose another seed or a smaller test_share, or leave rows of rare classes out"
            )
    sha256, dataset = dataset.sha256, with_medians(dataset, train_rows)
    reserved = dataset.test_mask is not None
    fitted_on_all = checked_scaling == "paper" and not reserved
    used = np.concatenate([train_rows, test_rows]) if rows is not None else slice(None)
    fitted = dataset.X[used if fitted_on_all else train_rows]
    constant = _ranges(dataset, fitted) == 0
    match checked_scaling:
        case "raw":
            scaled = _as_float32(dataset)
        case "none":
            scaled = _in_unit_interval(dataset)
        case _:
            scaled = _scaled(dataset, fitted, constant)
    return Split(
        X_train=scaled[train_rows],
        X_test=scaled[test_rows],
        y_train=dataset.y[train_rows],
        y_test=dataset.y[test_rows],
        train_rows=train_rows,
        test_rows=test_rows,
        class_names=dataset.class_names,
        feature_names=dataset.feature_names,
        scaling=checked_scaling,
        seed=seed,
        test_share=float(len(test_rows) / (len(test_rows) + len(train_rows)))
        if reserved
        else float(test_share),
        dataset_sha256=sha256,
        constant_features=int(constant.sum()),
    )


def split_sizes(dataset: Dataset, *, test_share: float, rows: int | None = None) -> tuple[int, int]:
    """Return the numbers of training and test rows that `split` gives, without splitting."""
    train_rows, test_rows = _cut(dataset, test_share, 0, rows)
    return len(train_rows), len(test_rows)


def _some(members: NDArray[np.int64], share: float, seed: int) -> NDArray[np.int64]:
    """Return a random share of some rows, ascending."""
    count = max(1, round(share * len(members)))
    return np.sort(np.random.default_rng([seed, count]).choice(members, size=count, replace=False))


def _cut(
    dataset: Dataset, test_share: float, seed: int, rows: int | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    from sklearn.model_selection import train_test_split

    if not 0 <= seed < 2**32:
        raise DataError(f"{dataset.name}: seed = {seed} is not in [0, 2^32)")
    share = 1.0 if rows is None else min(1.0, rows / len(dataset.y))
    if dataset.test_mask is not None:
        train, test = np.flatnonzero(~dataset.test_mask), np.flatnonzero(dataset.test_mask)
        return (train, test) if share == 1 else (_some(train, share, seed), _some(test, share, seed))
    if not 0 < test_share < 1:
        raise DataError(f"{dataset.name}: test_share = {test_share} is not between 0 and 1")
    used = np.arange(len(dataset.y), dtype=np.int64)
    if share < 1:
        used = _some(used, share, seed)
    try:
        train, test = train_test_split(used, test_size=test_share, random_state=seed)
    except ValueError as error:
        raise DataError(
            f"{dataset.name}: {len(used)} rows are too few to split: test_share = {test_share} leaves "
            "none to train on or none to test"
        ) from error
    return train, test


def _ranges(dataset: Dataset, fitted: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        ranges: NDArray[np.float64] = np.ptp(fitted, axis=0)
    if not np.isfinite(ranges).all():
        column = dataset.feature_names[int(np.argmin(np.isfinite(ranges)))]
        raise DataError(f"{dataset.name}: column {column!r}: its values span more than a float64 can hold")
    return ranges


def _scaled(
    dataset: Dataset, fitted: NDArray[np.float64], constant: NDArray[np.bool_]
) -> NDArray[np.float32]:
    from sklearn.preprocessing import MinMaxScaler

    # A test value far outside the training range may overflow, which is checked below.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        scaled = MinMaxScaler().fit(fitted).transform(dataset.X)
        scaled[:, constant] = 0.0
        result: NDArray[np.float32] = scaled.astype(np.float32)
    finite = np.isfinite(result)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise DataError(
            f"{dataset.name}: row {row + 1}, column {dataset.feature_names[column]!r}: "
            f"{dataset.X[row, column]} is too far from the training rows' values to be scaled"
        )
    return result


def _as_float32(dataset: Dataset) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        rows: NDArray[np.float32] = dataset.X.astype(np.float32)
    if not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0]
        raise DataError(
            f"{dataset.name}: row {row + 1}, column {dataset.feature_names[column]!r}: "
            f"{dataset.X[row, column]} is more than a float32 can hold"
        )
    return rows


def _in_unit_interval(dataset: Dataset) -> NDArray[np.float32]:
    outside = (dataset.X < 0) | (dataset.X > 1)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        raise DataError(
            f"{dataset.name}: row {row + 1}, column {dataset.feature_names[column]!r}: "
            f'{dataset.X[row, column]} is outside [0, 1], which scaling = "none" requires'
        )
    return dataset.X.astype(np.float32)
