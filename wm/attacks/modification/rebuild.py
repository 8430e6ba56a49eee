"""Changed trees from flat arrays: cut nodes into leaves, graft subtrees, join trees to a forest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import ModelError
from wm.forest import Forest
from wm.formats.forest_checks import tree_levels


@dataclass(frozen=True, eq=False)
class TreeArrays:
    """One tree; arrays as in `Forest`, (nodes,), the root first."""

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    value: NDArray[np.float64]


_NAMES = tuple(field.name for field in fields(TreeArrays))


def tree_of(forest: Forest, tree: int) -> TreeArrays:
    """Return one tree's arrays."""
    rows = slice(forest.offset[tree], forest.offset[tree + 1])
    return TreeArrays(*(getattr(forest, name)[rows] for name in _NAMES))


def tree_from_model(model: Any, classes: NDArray[Any], own_classes: NDArray[Any] | None = None) -> TreeArrays:
    """Return the arrays of a fitted scikit-learn tree, its values spread over a forest's classes.

    Parameters
    ----------
    own_classes
        Classes of the scikit-learn forest that the tree is from: its own are positions in these.

    Raises
    ------
    ModelError
        The tree has a class that is not among the forest's.
    """
    part = model.tree_
    found = model.classes_ if own_classes is None else own_classes[model.classes_.astype(np.int64)]
    if not np.isin(found, classes).all():
        raise ModelError("the thief's labels are not among the forest's classes")
    columns = np.searchsorted(classes, found)
    value = np.zeros((part.node_count, len(classes)))
    value[:, columns] = part.value[:, 0, :]
    leaf = part.children_left == -1
    return TreeArrays(
        part.children_left.astype(np.int32),
        part.children_right.astype(np.int32),
        np.where(leaf, -1, part.feature).astype(np.int32),
        np.where(leaf, 0.0, part.threshold),
        value,
    )


def together(trees: Sequence[TreeArrays], like: Forest) -> Forest:
    """Return the forest of some trees, with another's features and classes."""
    return Forest.from_arrays(
        offset=np.cumsum([0, *(len(tree.left) for tree in trees)]),
        **{name: np.concatenate([getattr(tree, name) for tree in trees]) for name in _NAMES},
        n_features=like.n_features,
        classes=like.classes,
    )


def with_arrays(forest: Forest, **changes: Any) -> Forest:
    """Return the same trees with other thresholds, values or classes, as `Forest.from_arrays` takes them."""
    names = ("offset", *_NAMES, "n_features", "classes")
    return Forest.from_arrays(**{name: getattr(forest, name) for name in names} | changes)


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
    trees = []
    for tree in range(forest.n_trees):
        first, last = forest.offset[tree], forest.offset[tree + 1]
        whole = tree_of(forest, tree)
        trees.append(_pruned(whole, at[first:last], value[first:last]))
    return together(trees, forest)


def _kept(tree: TreeArrays, at: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the nodes that are left after cutting, in their old order: an uncut tree does not change."""
    left, right = np.where(at, -1, tree.left), np.where(at, -1, tree.right)
    return np.sort(np.concatenate(list(tree_levels(np.array([0, len(left)]), left, right))))


def _pruned(tree: TreeArrays, at: NDArray[np.bool_], value: NDArray[np.float64]) -> TreeArrays:
    kept = _kept(tree, at)
    number = np.full(len(tree.left) + 1, -1, dtype=np.int32)  # the last entry stands for "no child"
    number[kept] = np.arange(len(kept))
    left, right = np.where(at, -1, tree.left)[kept], np.where(at, -1, tree.right)[kept]
    return TreeArrays(
        number[left],
        number[right],
        np.where(left < 0, -1, tree.feature[kept]).astype(np.int32),
        np.where(left < 0, 0.0, tree.threshold[kept]),
        value[kept],
    )


def grafted(tree: TreeArrays, parts: Mapping[int, TreeArrays]) -> TreeArrays:
    """Return a tree in which each given node, with all below it, is replaced by another tree.

    Parameters
    ----------
    parts
        By node; no node below another one.
    """
    at = np.zeros(len(tree.left), dtype=bool)
    at[list(parts)] = True
    stump = _pruned(tree, at, tree.value)
    place_of = {int(node): place for place, node in enumerate(_kept(tree, at))}
    left, right, feature = stump.left.copy(), stump.right.copy(), stump.feature.copy()
    threshold, value = stump.threshold.copy(), stump.value.copy()
    pieces, size = [], len(left)
    for node, part in parts.items():
        # The part's root replaces the cut node; its other nodes are appended.
        place, moved = place_of[node], _moved(part, size - 1)
        left[place], right[place], feature[place] = moved.left[0], moved.right[0], moved.feature[0]
        threshold[place], value[place] = moved.threshold[0], moved.value[0]
        pieces.append(moved)
        size += len(part.left) - 1
    own = TreeArrays(left, right, feature, threshold, value)
    return TreeArrays(
        *(
            np.concatenate([getattr(own, name), *(getattr(piece, name)[1:] for piece in pieces)])
            for name in _NAMES
        )
    )


def _moved(tree: TreeArrays, by: int) -> TreeArrays:
    """Return a tree whose nodes are numbered from `by` on."""
    left, right = (np.where(side < 0, -1, side + by).astype(np.int32) for side in (tree.left, tree.right))
    return TreeArrays(left, right, tree.feature, tree.threshold, tree.value)
