"""Changed trees from flat arrays: other classes, forests joined, nodes cut into leaves, subtrees grafted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import ModelError
from wm.forest import NODE_ARRAYS, Forest


def student(trained: Forest, classes: NDArray[Any]) -> Forest:
    """Return a forest that was trained on a thief's rows, its values spread over the stolen forest's classes.

    Raises
    ------
    ModelError
        It has a class that is not among these.
    """
    if not np.isin(trained.classes, classes).all():
        raise ModelError("the thief's labels are not among the forest's classes")
    value = np.zeros((len(trained.value), len(classes)))
    value[:, np.searchsorted(classes, trained.classes)] = trained.value
    return trained.changed(value=value, classes=classes)


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
    value = np.where(at[:, None], np.eye(len(forest.classes))[code], forest.value)
    left, right = (np.where(at | forest.is_leaf, -1, side) for side in forest.children)
    return _reachable(forest, forest.node_tree, {"left": left, "right": right, "value": value})


def grafted(forest: Forest, parts: Mapping[int, Forest]) -> Forest:
    """Return a forest in which each given node, with all below it, is replaced by another tree.

    Parameters
    ----------
    parts
        A forest of one tree for each node, named by its global index; no node below another one.
    """
    whole, nodes = joined([forest, *parts.values()]), list(parts)
    arrays = {name: getattr(whole, name).copy() for name in NODE_ARRAYS}
    arrays["left"], arrays["right"] = (np.where(whole.is_leaf, -1, side) for side in whole.children)
    # A part's root replaces its node; in its own place nothing leads to it, as to the nodes replaced.
    for array in arrays.values():
        array[nodes] = array[whole.offset[forest.n_trees : -1]]
    tree = np.concatenate([np.arange(forest.n_trees), forest.node_tree[nodes]])
    return _reachable(forest, tree[whole.node_tree], arrays)


def _reachable(forest: Forest, tree: NDArray[np.int64], arrays: dict[str, NDArray[Any]]) -> Forest:
    """Return a forest with other nodes, without those that no root reaches; the others keep their order.

    Parameters
    ----------
    tree : (nodes,)
        Tree of each node; the first nodes are the forest's own.
    arrays
        Those that change; children by global index, -1 at leaves.
    """
    arrays = {name: getattr(forest, name) for name in NODE_ARRAYS} | arrays
    left, right = arrays["left"], arrays["right"]
    reached, nodes = np.zeros(len(tree), dtype=bool), forest.offset[:-1]
    while len(nodes):
        reached[nodes] = True
        inner = nodes[left[nodes] >= 0]
        nodes = np.concatenate([left[inner], right[inner]])
    kept = np.flatnonzero(reached)
    kept = kept[np.argsort(tree[kept], kind="stable")]
    offset = np.searchsorted(tree[kept], np.arange(forest.n_trees + 1))
    number = np.full(len(tree) + 1, -1)  # the last entry stands for "no child"
    number[kept] = np.arange(len(kept)) - offset[tree[kept]]
    arrays |= {"left": number[left], "right": number[right]}
    return forest.changed(offset=offset, **{name: array[kept] for name, array in arrays.items()})
