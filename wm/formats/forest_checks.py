"""Checks of a forest's arrays: shapes, ranges, and that the nodes form trees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm.errors import ModelError, WmError

InputDtype = Literal["float32", "float64"]
"""Types to which a model casts numbers before it compares them."""


def check_arrays(
    *,
    offset: ArrayLike,
    left: ArrayLike,
    right: ArrayLike,
    feature: ArrayLike,
    threshold: ArrayLike,
    value: ArrayLike,
    n_features: int,
    classes: ArrayLike,
    missing_left: ArrayLike | None = None,
    input_dtype: str = "float32",
) -> dict[str, NDArray[Any]]:
    """Return private, read-only copies of a forest's arrays in their canonical types.

    Raises
    ------
    ModelError
        Arrays with which a walk down a tree could leave the arrays or never end, or a vote be undefined.
    """
    arrays: dict[str, NDArray[Any]] = {
        "offset": _integers("offset", offset, np.int64),
        "left": _integers("left", left, np.int32),
        "right": _integers("right", right, np.int32),
        "feature": _integers("feature", feature, np.int32),
        "threshold": _floats("threshold", threshold, 1),
        "value": _floats("value", value, 2),
        "classes": _class_values(classes),
    }
    if isinstance(n_features, bool) or not isinstance(n_features, int | np.integer) or n_features < 1:
        raise ModelError(f"n_features is {n_features!r}; a whole number of at least 1 is needed")
    if input_dtype not in get_args(InputDtype):
        raise ModelError(f"input_dtype is {input_dtype!r}; it is {' or '.join(get_args(InputDtype))}")
    if missing_left is not None:
        arrays["missing_left"] = _booleans("missing_left", missing_left)
    nodes = len(arrays["left"])
    for name in ("right", "feature", "threshold", "value", "missing_left"):
        if name in arrays and len(arrays[name]) != nodes:
            raise ModelError(f"{name} has {len(arrays[name])} nodes, left has {nodes}")
    if arrays["value"].shape[1] != len(arrays["classes"]):
        raise ModelError(f"value has {arrays['value'].shape[1]} columns for {len(arrays['classes'])} classes")
    _check_offset(arrays["offset"], nodes)
    _check_nodes(arrays, n_features)
    _check_trees(arrays["offset"], arrays["left"], arrays["right"])
    leaf = arrays["left"] < 0
    arrays["feature"][leaf] = -1
    arrays["threshold"][leaf] = 0.0
    if "missing_left" in arrays:
        arrays["missing_left"][leaf] = False
    for array in arrays.values():
        array.setflags(write=False)
    return arrays


def as_matrix(
    X: ArrayLike,
    n_features: int | None,
    *,
    dtype: InputDtype = "float32",
    missing: bool = False,
    error: type[WmError] = ModelError,
) -> NDArray[Any]:
    """Return instances as trees see them: (n, d) of a type.

    Parameters
    ----------
    n_features
        d; None for any.
    dtype
        The type; by default that of scikit-learn's forests.
    missing
        Whether NaN is allowed, as a missing value.

    Raises
    ------
    `error`
        Another shape, NaN that is not allowed, or a value that is infinite in the type.
    """
    try:
        given = np.asarray(X)
        if given.dtype.kind not in "fiubO":
            raise error(f"instances are not real numbers but {given.dtype}")
        with np.errstate(over="ignore", invalid="ignore"):
            matrix = given.astype(dtype, copy=False)
    except (TypeError, ValueError) as reason:
        raise error(f"instances are not numbers ({reason})") from reason
    if matrix.ndim != 2 or n_features not in (None, matrix.shape[1]):
        raise error(f"instances have shape {matrix.shape}; the forest needs (n, {n_features or 'd'})")
    bad = np.isinf(matrix) if missing else ~np.isfinite(matrix)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise error(f"instance {row}, feature {column}: not a finite {dtype} number")
    return matrix


def finite_thresholds(thresholds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return thresholds with the largest numbers for infinite ones, which no finite instance tells apart."""
    return np.where(np.isinf(thresholds), np.copysign(np.finfo(np.float64).max, thresholds), thresholds)


def tree_levels(
    offset: NDArray[np.int64], left: NDArray[np.int32], right: NDArray[np.int32]
) -> Iterator[NDArray[np.int64]]:
    """Yield the global indexes of all trees' nodes, level by level from the roots.

    Ends after as many levels as there are nodes, even if the children form a cycle.
    """
    base = np.repeat(offset[:-1], np.diff(offset))
    nodes = offset[:-1]
    for _ in range(len(left)):
        yield nodes
        inner = nodes[left[nodes] >= 0]
        if not len(inner):
            return
        nodes = np.concatenate([base[inner] + left[inner], base[inner] + right[inner]])


def as_array(name: str, values: ArrayLike) -> NDArray[Any]:
    """Return an array of any type; raise `ModelError` for rows of different lengths."""
    try:
        return np.asarray(values)
    except ValueError as reason:
        raise ModelError(f"{name} is not an array: its rows differ in length") from reason


def _integers(name: str, values: ArrayLike, dtype: type[np.signedinteger[Any]]) -> NDArray[Any]:
    array = as_array(name, values)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ModelError(f"{name} must be a one-dimensional array of whole numbers")
    limits = np.iinfo(dtype)
    if len(array) and (array.min() < limits.min or array.max() > limits.max):
        raise ModelError(f"{name} holds a number that does not fit {np.dtype(dtype).name}")
    return array.astype(dtype)


def _floats(name: str, values: ArrayLike, dimensions: int) -> NDArray[np.float64]:
    array = as_array(name, values)
    if array.ndim != dimensions or array.dtype.kind not in "fiu":
        raise ModelError(f"{name} must be a {dimensions}-dimensional array of numbers")
    with np.errstate(all="ignore"):  # values beyond float64 become infinite and are refused later
        return array.astype(np.float64)


def _booleans(name: str, values: ArrayLike) -> NDArray[np.bool_]:
    array = as_array(name, values)
    if array.ndim != 1 or array.dtype.kind != "b":
        raise ModelError(f"{name} must be a one-dimensional array of True and False")
    return array.copy()


def _class_values(classes: ArrayLike) -> NDArray[Any]:
    given = as_array("classes", classes)
    # Checked before the list is made: a hostile array of shape (2**50, 0) holds no byte, its list would.
    if given.ndim != 1 or not len(given) or not given.itemsize:
        raise ModelError("classes must be a one-dimensional array of numbers or strings")
    # Through a list: strings in an object array become a plain string array.
    array = as_array("classes", given.tolist())
    if array.ndim != 1 or array.dtype.kind not in "iufUb":
        raise ModelError("classes must be a one-dimensional array of numbers or strings")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ModelError("classes holds a value that is not finite")
    if len(array) > 1 and not (array[:-1] < array[1:]).all():
        raise ModelError("classes must be distinct and ascending")
    return array


def _check_offset(offset: NDArray[np.int64], nodes: int) -> None:
    if len(offset) < 2:
        raise ModelError("offset has fewer than two entries: the forest has no tree")
    if offset[0] != 0 or offset[-1] != nodes:
        raise ModelError(f"offset runs from {offset[0]} to {offset[-1]}, not from 0 to {nodes}")
    # Compared, not subtracted: differences of huge entries overflow to positive numbers.
    empty = offset[1:] <= offset[:-1]
    if empty.any():
        raise ModelError(f"tree {int(np.argmax(empty))} has no node")


def _check_nodes(arrays: dict[str, NDArray[Any]], n_features: int) -> None:
    left, right, offset = arrays["left"], arrays["right"], arrays["offset"]
    size = np.repeat(np.diff(offset), np.diff(offset))
    leaf = left < 0
    _refuse((left < -1) | (right < -1), offset, "a child index below -1")
    _refuse(leaf != (right < 0), offset, "only one child")
    _refuse(~leaf & ((left >= size) | (right >= size)), offset, "a child index outside its tree")
    feature, threshold = arrays["feature"], arrays["threshold"]
    _refuse(~leaf & ((feature < 0) | (feature >= n_features)), offset, "a feature index out of range")
    _refuse(~leaf & ~np.isfinite(threshold), offset, "a threshold that is not a finite number")
    value = arrays["value"]
    with np.errstate(over="ignore", invalid="ignore"):  # an infinite sum is refused just below
        total = value.sum(axis=1)
    bad = ~np.isfinite(total) | ~(value >= 0).all(axis=1) | ~(total > 0)
    _refuse(bad, offset, "class values that are not finite, or negative, or all zero")


def _refuse(bad: NDArray[np.bool_], offset: NDArray[np.int64], what: str) -> None:
    if bad.any():
        node = int(np.argmax(bad))
        tree = int(np.searchsorted(offset, node, side="right")) - 1
        raise ModelError(f"tree {tree}, node {node - offset[tree]}: {what}")


def _check_trees(offset: NDArray[np.int64], left: NDArray[np.int32], right: NDArray[np.int32]) -> None:
    """Refuse nodes with two parents, roots with one, and nodes that no root reaches (cycles)."""
    base = np.repeat(offset[:-1], np.diff(offset))
    inner = left >= 0
    children = np.concatenate([base[inner] + left[inner], base[inner] + right[inner]])
    parents = np.bincount(children, minlength=len(left))
    expected = np.ones(len(left), dtype=np.int64)
    expected[offset[:-1]] = 0
    _refuse(parents > expected, offset, "more than one parent, or a root with a parent: a cycle")
    reached = np.zeros(len(left), dtype=bool)
    for nodes in tree_levels(offset, left, right):
        reached[nodes] = True
    _refuse(~reached, offset, "no path from the root leads there")
