"""Checks of a forest's arrays: shapes, ranges, and that the nodes form trees."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm.errors import ModelError, WmError

InputDtype = Literal["float32", "float64"]
"""Types to which a model casts numbers before it compares them."""

_BLOCK_NODES = 2**17
"""Nodes that are checked together, so that what a check computes of them stays in the processor's cache."""


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
    copy: bool = True,
) -> dict[str, NDArray[Any]]:
    """Return private, read-only copies of a forest's arrays in their canonical types.

    Parameters
    ----------
    copy
        False takes arrays that nobody else has as they are, where their types and numbers are canonical.

    Raises
    ------
    ModelError
        Arrays with which a walk down a tree could leave the arrays or never end, or a vote be undefined.
    """
    arrays: dict[str, NDArray[Any]] = {
        "offset": _integers("offset", offset, np.int64, copy),
        "left": _integers("left", left, np.int32, copy),
        "right": _integers("right", right, np.int32, copy),
        "feature": _integers("feature", feature, np.int32, copy),
        "threshold": _floats("threshold", threshold, 1, copy),
        "value": _floats("value", value, 2, copy),
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
    for trees in _blocks(arrays["offset"]):
        _check_nodes(arrays, trees, n_features)
        _check_children(arrays, trees)
    leaf = arrays["left"] < 0
    for name, unused in (("feature", -1), ("threshold", 0.0), ("missing_left", False)):
        if name in arrays and (used := leaf & (arrays[name] != unused)).any():
            if not arrays[name].flags.writeable:
                arrays[name] = arrays[name].copy()
            arrays[name][used] = unused
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


def _integers(name: str, values: ArrayLike, dtype: type[np.signedinteger[Any]], copy: bool) -> NDArray[Any]:
    array = as_array(name, values)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ModelError(f"{name} must be a one-dimensional array of whole numbers")
    limits = np.iinfo(dtype)
    if len(array) and (array.min() < limits.min or array.max() > limits.max):
        raise ModelError(f"{name} holds a number that does not fit {np.dtype(dtype).name}")
    return array.astype(dtype, order="C", copy=copy)


def _floats(name: str, values: ArrayLike, dimensions: int, copy: bool) -> NDArray[np.float64]:
    array = as_array(name, values)
    if array.ndim != dimensions or array.dtype.kind not in "fiu":
        raise ModelError(f"{name} must be a {dimensions}-dimensional array of numbers")
    with np.errstate(all="ignore"):  # values beyond float64 become infinite and are refused later
        return array.astype(np.float64, order="C", copy=copy)


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


def _blocks(offset: NDArray[np.int64]) -> Iterator[slice]:
    """Yield the trees in runs of about `_BLOCK_NODES` nodes, or of one tree that has more."""
    first, trees = 0, len(offset) - 1
    while first < trees:
        last = int(np.searchsorted(offset, offset[first] + _BLOCK_NODES, side="right")) - 1
        last = max(first + 1, last)
        yield slice(first, last)
        first = last


def _check_nodes(arrays: dict[str, NDArray[Any]], trees: slice, n_features: int) -> None:
    """Refuse nodes of some trees by their own numbers."""
    offset = arrays["offset"]
    nodes = slice(offset[trees.start], offset[trees.stop])
    left, right = arrays["left"][nodes], arrays["right"][nodes]
    lengths = np.diff(offset[trees.start : trees.stop + 1])
    size = np.repeat(lengths, lengths)
    leaf = left < 0
    faults = [
        ((left < -1) | (right < -1), "a child index below -1"),
        (leaf != (right < 0), "only one child"),
        (~leaf & ((left >= size) | (right >= size)), "a child index outside its tree"),
    ]
    feature, threshold = arrays["feature"][nodes], arrays["threshold"][nodes]
    faults += [
        (~leaf & ((feature < 0) | (feature >= n_features)), "a feature index out of range"),
        (~leaf & ~np.isfinite(threshold), "a threshold that is not a finite number"),
    ]
    columns = arrays["value"][nodes].T
    with np.errstate(over="ignore", invalid="ignore"):  # an infinite sum is refused just below
        total = reduce(np.add, columns)
    bad = ~np.isfinite(total) | ~reduce(np.logical_and, columns >= 0) | ~(total > 0)
    faults.append((bad, "class values that are not finite, or negative, or all zero"))
    for found, what in faults:
        _refuse(found, offset, nodes.start, what)


def _check_children(arrays: dict[str, NDArray[Any]], trees: slice) -> None:
    """Refuse nodes with two parents, roots with one, and nodes that no root reaches (cycles)."""
    start, stop = arrays["offset"][trees.start], arrays["offset"][trees.stop]
    left, right = arrays["left"][start:stop], arrays["right"][start:stop]
    offset = arrays["offset"][trees.start : trees.stop + 1] - start
    base = np.repeat(offset[:-1], np.diff(offset))
    inner = np.flatnonzero(left >= 0)
    children = np.concatenate([base[inner] + left[inner], base[inner] + right[inner]])
    parents = np.bincount(children, minlength=len(left))
    expected = np.ones(len(left), dtype=np.int64)
    expected[offset[:-1]] = 0
    twice = "more than one parent, or a root with a parent: a cycle"
    _refuse(parents > expected, arrays["offset"], start, twice)
    if (parents == expected).all() and (children > np.concatenate([inner, inner])).all():
        return  # each node but a root has a parent that comes before it: so a root is above every node
    reached = np.zeros(len(left), dtype=bool)
    for nodes in tree_levels(offset, left, right):
        reached[nodes] = True
    _refuse(~reached, arrays["offset"], start, "no path from the root leads there")


def _refuse(bad: NDArray[np.bool_], offset: NDArray[np.int64], start: int, what: str) -> None:
    """Raise `ModelError` for the first bad node; the nodes are numbered from `start`."""
    if bad.any():
        node = start + int(np.argmax(bad))
        tree = int(np.searchsorted(offset, node, side="right")) - 1
        raise ModelError(f"tree {tree}, node {node - offset[tree]}: {what}")
