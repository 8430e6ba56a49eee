"""One query's search: the box cut down, leaves made bits, the kernel run until it knows.

A `BoxSearch` goes on where it stopped, so that a caller may give it a budget of nodes. Boxes with too many
living leaves for the memory are halved and searched one half after the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.engines import search_kernel as kernel
from wm.engines.cells import CellForest
from wm.engines.encoding import LeafBounds
from wm.forest import Forest

ROW_BYTES = 2**28
"""Most memory for compatibility rows; a box with more living leaves than fit is halved first."""

NO_LIMIT = int(np.iinfo(np.int64).max)

CellBox = tuple[NDArray[np.int32], NDArray[np.int32]]


@dataclass(frozen=True, eq=False)
class Geometry:
    """What all searches in one forest share.

    Attributes
    ----------
    tree_start : (m + 1,)
        Leaves of tree t are positions ``tree_start[t]:tree_start[t + 1]`` of `bounds`.
    marks : (B / 64,) uint64
        Scratch of `kernel.sorted_lists`, all zero between calls.
    """

    forest: Forest
    bounds: LeafBounds
    cells: CellForest
    tree_start: NDArray[np.int64]
    marks: NDArray[np.uint64]

    @classmethod
    def of(cls, forest: Forest, bounds: LeafBounds, cells: CellForest) -> Geometry:
        """Prepare a forest."""
        return cls(
            forest=forest,
            bounds=bounds,
            cells=cells,
            tree_start=np.searchsorted(bounds.tree, np.arange(forest.n_trees + 1)),
            marks=np.zeros((len(bounds.leaf) + 63) // 64, dtype=np.uint64),
        )


@dataclass(frozen=True, eq=False)
class Choice:
    """A witness as the kernel finds it: leaves that meet pairwise, within a box of cells."""

    leaves: NDArray[np.int64]
    box: CellBox


class BoxSearch:
    """The search for a point of a box of cells that reaches a wanted leaf in every tree.

    Parameters
    ----------
    geometry
        The forest's.
    wanted : (L,) bool
        Leaves with the wanted vote.
    box
        First and last cell of each feature.
    row_bytes
        See `ROW_BYTES`.

    Attributes
    ----------
    is_over
        Whether the answer is known.
    found
        The choice that answers it; None if there is none, or not yet.
    trivial
        Whether no search was needed: some tree has no wanted leaf left in the box.
    words
        Words of 64 leaves that each node goes through: what a node costs.
    """

    def __init__(
        self, geometry: Geometry, wanted: NDArray[np.bool_], box: CellBox, *, row_bytes: int = ROW_BYTES
    ) -> None:
        self._geometry = geometry
        self._wanted = wanted
        self._row_bytes = row_bytes
        self._boxes: list[CellBox] = [box]
        self._running: _Run | None = None
        self.words = 0
        self.is_over = False
        self.found: Choice | None = None
        self._next_box()
        self.trivial = self.is_over and self.found is None

    def advance(self, max_nodes: int = NO_LIMIT) -> bool:
        """Search at most about `max_nodes` more nodes and return `is_over`."""
        while not self.is_over:
            assert self._running is not None  # noqa: S101 - not over means that one runs
            result = self._running.go(max_nodes)
            if result == kernel.RUNNING:
                return False
            if result == kernel.FOUND:
                self.found, self.is_over = self._running.choice(), True
            else:
                self._next_box()
        return True

    def _next_box(self) -> None:
        """Start on the next box that the free checks do not settle; without one there is no point."""
        self._running = None
        while self._boxes:
            lower, upper = self._boxes.pop()
            started = self._start((lower.copy(), upper.copy()))
            if isinstance(started, Choice):
                self.found, self.is_over = started, True
                return
            if started is not None:
                self._running = started
                return
        self.is_over = True

    def _start(self, box: CellBox) -> _Run | Choice | None:
        geometry = self._geometry
        bounds, cells = geometry.bounds, geometry.cells
        shape = (bounds.start, bounds.feature, cells.lower, cells.upper)
        alive = self._wanted.copy()
        if not kernel.tighten(alive, geometry.tree_start, *shape, *box):
            return None
        # Trees with no unwanted leaf in the box agree to any point of it.
        unwanted = ~self._wanted
        kernel.keep_leaves(unwanted, *shape, *box)
        is_open = np.zeros(geometry.forest.n_trees, dtype=bool)
        is_open[bounds.tree[unwanted]] = True
        alive &= is_open[bounds.tree]
        if not is_open.any():
            return Choice(np.zeros(0, dtype=np.int64), box)
        sizes = np.bincount(bounds.tree[alive], minlength=len(is_open))[is_open]
        words = int(((sizes + 63) // 64).sum())
        if words * 64 * words * 8 > self._row_bytes and self._halve(box):
            return None
        self.words = words
        return _Run(geometry, np.flatnonzero(alive), sizes, box)

    def _halve(self, box: CellBox) -> bool:
        """Put the two halves of a box on the list; False if it is a single cell."""
        lower, upper = box
        feature = int(np.argmax(upper - lower))
        if lower[feature] == upper[feature]:
            return False
        middle = (lower[feature] + upper[feature]) // 2
        first, second = upper.copy(), lower.copy()
        first[feature], second[feature] = middle, middle + 1
        self._boxes += [(second, upper), (lower, first)]
        return True


class _Run:
    """The kernel's arrays for one box."""

    def __init__(
        self, geometry: Geometry, leaves: NDArray[np.int64], sizes: NDArray[np.int64], box: CellBox
    ) -> None:
        bounds, cells = geometry.bounds, geometry.cells
        box_lower, box_upper = box
        word_start = np.concatenate([[0], np.cumsum((sizes + 63) // 64)])
        words, trees = int(word_start[-1]), len(sizes)
        within = np.arange(len(leaves)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        bits = np.repeat(word_start[:-1] * 64, sizes) + within
        bit_of = np.full(len(bounds.node), -1, dtype=np.int64)
        bit_of[leaves] = bits
        self._leaf_at = np.full(words * 64, -1, dtype=np.int64)
        self._leaf_at[bits] = leaves
        root = np.packbits(self._leaf_at >= 0, bitorder="little").view(np.uint64)
        lists = []
        for by_lower, key, limit, rank, order in (
            (True, cells.lower, box_lower, cells.rank_lower, cells.by_lower),
            (False, cells.upper, box_upper, cells.rank_upper, cells.by_upper),
        ):
            found, keys, ends = kernel.sorted_lists(
                leaves,
                bounds.start,
                bounds.feature,
                key,
                limit,
                by_lower,
                rank,
                order,
                bounds.leaf,
                geometry.marks,
            )
            lists.append((found, keys, ends, *kernel.checkpoints(found, ends, bit_of, words)))
        self._box = box
        self._level = np.array([-1])
        self._live = np.zeros((trees + 1, words), dtype=np.uint64)
        self._live[0] = root
        self._arguments = (
            np.zeros((trees + 1, trees), dtype=np.int64),  # living leaves of each tree at each level
            np.zeros((trees + 1, trees), dtype=np.bool_),  # whether a tree's only one was propagated
            np.arange(trees),
            np.empty((trees + 1, int(sizes.max())), dtype=np.int64),  # candidates of each level
            np.zeros(trees + 1, dtype=np.int64),
            np.zeros(trees + 1, dtype=np.int64),
            np.zeros(trees + 1, dtype=np.int64),
            np.ones(trees),
            np.empty((words * 64, words), dtype=np.uint64),  # rows; pages are taken when written
            np.zeros(words * 64, dtype=np.bool_),
            self._leaf_at,
            word_start,
            (root, bounds.start, bounds.feature, cells.lower, cells.upper, *box, bit_of, *lists),
        )

    def go(self, max_nodes: int) -> int:
        return int(kernel.search(max_nodes, self._level, self._live, *self._arguments))

    def choice(self) -> Choice:
        living = np.unpackbits(self._live[self._level[0]].view(np.uint8), bitorder="little").astype(bool)
        return Choice(self._leaf_at[living], self._box)
