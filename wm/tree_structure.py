"""The structure of flat trees: which node is whose child, how deep it lies; computed once, read-only."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.formats.forest_checks import tree_levels


class TreeStructure:
    """What follows from the arrays `offset`, `left` and `right` of m trees (see `wm.forest.Forest`)."""

    offset: NDArray[np.int64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]

    @property
    def n_trees(self) -> int:
        """Number of trees, m."""
        return len(self.offset) - 1

    @cached_property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Which nodes are leaves: (nodes,)."""
        return read_only(self.left < 0)

    @cached_property
    def node_tree(self) -> NDArray[np.int64]:
        """Tree of each node: (nodes,)."""
        return read_only(np.repeat(np.arange(self.n_trees), np.diff(self.offset)))

    @cached_property
    def node_depth(self) -> NDArray[np.int64]:
        """Edges between each node and its root: (nodes,)."""
        depth = np.zeros(len(self.left), dtype=np.int64)
        for level, nodes in enumerate(tree_levels(self.offset, self.left, self.right)):
            depth[nodes] = level
        return read_only(depth)

    @cached_property
    def tree_depths(self) -> NDArray[np.int64]:
        """Depth of each tree, 0 for a single leaf: (m,)."""
        return read_only(np.maximum.reduceat(self.node_depth, self.offset[:-1]))

    @cached_property
    def tree_leaves(self) -> NDArray[np.int64]:
        """Number of leaves of each tree: (m,)."""
        return read_only(np.add.reduceat(self.is_leaf.astype(np.int64), self.offset[:-1]))

    @cached_property
    def child(self) -> NDArray[np.int64]:
        """Global indexes of each node's left and right child in turn, a leaf's its own: (2 nodes,)."""
        base, own = self.offset[self.node_tree], np.arange(len(self.left))
        found = np.empty((len(own), 2), dtype=np.int64)
        for side, child in enumerate((self.left, self.right)):
            found[:, side] = np.where(self.is_leaf, own, base + child)
        return read_only(found.ravel())

    @property
    def children(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Global indexes of the left and the right children, a leaf's its own: each (nodes,)."""
        return self.child[0::2], self.child[1::2]

    @cached_property
    def parent(self) -> NDArray[np.int64]:
        """Global index of each node's parent, of a root itself: (nodes,)."""
        inner, parent = np.flatnonzero(~self.is_leaf), np.arange(len(self.left))
        for side in self.children:
            parent[side[inner]] = inner
        return read_only(parent)

    @cached_property
    def inner_levels(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
        """The inner nodes with their left and right children, level by level from the roots; all global."""
        left, right = self.children
        levels = tree_levels(self.offset, self.left, self.right)
        inner = (nodes[~self.is_leaf[nodes]] for nodes in levels)
        return [(nodes, left[nodes], right[nodes]) for nodes in inner]


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Lock a cached array, so that no caller can change it."""
    array.setflags(write=False)
    return array
