"""Changed trees from flat arrays: other classes, forests joined, nodes cut into leaves, subtrees grafted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import ModelError
from wm.forest import NODE_ARRAYS, Forest
from wm.formats.forest_checks import tree_levels


def with_classes(student: Forest, classes: NDArray[Any]) -> Forest:
    """Return a thief's forest, its values spread over the stolen one's classes.

    Raises
    ------
    ModelError
        It has a class that is not among these.
    """
    if not np.isin(student.classes, classes).all():
        raise ModelError("the thief's labels are not among the forest's classes")
    value = np.zeros((len(student.left), len(classes)))
    value[:, np.searchsorted(classes, student.classes)] = student.value
    return student.changed(value=value, classes=classes)


def joined(forests: Sequence[Forest]) -> Forest:
    """Return the forest of all trees of some forests with the same features and classes."""
    sizes = np.concatenate([np.diff(forest.offset) for forest in forests])
    nodes = {name: np.concatenate([getattr(forest, name) for forest in forests]) for name in NODE_ARRAYS}
    return forests[0].changed(offset=np.cumsum([0, *sizes]), **nodes)


def cut(forest: Forest, at: NDArray[np.bool_], code: NDArray[np.int64]) -> Forest:
    """Make nodes leaves, and remove the nodes below them.

    Parameters
    ----------
    at : (nodes,) bool
        Nodes to be cut; leaves among them get the class too.
    code : (nodes,)
        Column of `classes` that a cut node votes for.
    """
    left, right = (np.where(at, -1, side) for side in (forest.left, forest.right))
    value = np.where(at[:, None], np.eye(len(forest.classes))[code], forest.value)
    return _reachable(forest, forest.offset, {"left": left, "right": right, "value": value})


def grafted(tree: Forest, parts: Mapping[int, Forest]) -> Forest:
    """Return a forest of one tree in which each given node, with all below it, is replaced by another tree.

    Parameters
    ----------
    parts
        By node; no node below another one.
    """
    whole = joined([tree, *parts.values()])
    arrays = {name: getattr(whole, name).copy() for name in NODE_ARRAYS}
    arrays["left"], arrays["right"] = (np.where(whole.is_leaf, -1, side) for side in whole.children)
    # A part's root replaces its node; in its own place nothing leads to it, as to the nodes replaced.
    for array in arrays.values():
        array[list(parts)] = array[whole.offset[1:-1]]
    return _reachable(whole, np.array([0, len(whole.left)]), arrays)


def _reachable(like: Forest, offset: NDArray[np.int64], arrays: dict[str, NDArray[Any]]) -> Forest:
    """Return a forest with other arrays, without nodes that no root reaches; the others keep their order."""
    arrays = {name: getattr(like, name) for name in NODE_ARRAYS} | arrays
    kept = np.sort(np.concatenate(list(tree_levels(offset, arrays["left"], arrays["right"]))))
    tree = np.repeat(np.arange(len(offset) - 1), np.diff(offset))
    new_offset = np.searchsorted(kept, offset)
    number = np.zeros(len(tree), dtype=np.int64)
    number[kept] = np.arange(len(kept)) - new_offset[tree[kept]]
    for side in ("left", "right"):
        child = arrays[side]
        arrays[side] = np.where(child < 0, -1, number[offset[tree] + np.maximum(child, 0)])
    return like.changed(offset=new_offset, **{name: array[kept] for name, array in arrays.items()})
