"""The search for one query: shrink the box, number its leaves as bits, run the kernel.

A `BoxSearch` continues where it stopped, so that callers can limit the number of choices. A box with too many
leaves for the memory is halved, and its halves are searched one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.engines import search_kernel as kernel
from wm.engines import walk_kernel
from wm.engines.cells import CellForest, cell_forest
from wm.engines.encoding import Box, LeafBounds, leaf_bounds
from wm.engines.protocol import ForgeryQuery
from wm.forest import Forest

ROW_BYTES = 2**28
"""Limit on the memory for compatibility rows; a box whose leaves need more is halved."""

NO_LIMIT = int(np.iinfo(np.int64).max)

CellBox = tuple[NDArray[np.int32], NDArray[np.int32]]


@dataclass(frozen=True, eq=False)
class Geometry:
    """Data that all searches in one forest share."""

    forest: Forest
    bounds: LeafBounds
    cells: CellForest
    in_cells: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]
    """First bound of each leaf, and feature, first and last cell of each bound."""

    @classmethod
    def of(cls, forest: Forest) -> Geometry:
        """Prepare a forest."""
        bounds = leaf_bounds(forest)
        cells = cell_forest(forest, bounds)
        return cls(forest, bounds, cells, (bounds.start, bounds.feature, cells.lower, cells.upper))

    def box_of(self, query: ForgeryQuery) -> tuple[Box, CellBox] | None:
        """Return a query's closed box, and the same in cells; None if it is empty."""
        box = np.empty((2, self.forest.n_features), dtype=np.float32)
        cells = np.empty(box.shape, dtype=np.int32)
        known = self.cells.thresholds, self.cells.threshold_start
        # A copy is writable: code compiled for an array that is not would be another one.
        if not walk_kernel.box_around(query.centre.copy(), float(query.eps), *known, box, cells):
            return None
        return (box[0], box[1]), (cells[0], cells[1])


@dataclass(frozen=True, eq=False)
class Choice:
    """A witness as the kernel finds it: leaves that meet pairwise in a box of cells."""

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
        """Words of 64 leaves that each choice reads: its cost."""
        self.is_over = False
        """Whether the answer is known."""
        self.found: Choice | None = None
        """The witness; None if there is none, or not yet."""
        self._next_box()
        self.trivial = self.is_over and self.found is None
        """Whether no search was needed: some tree has no wanted leaf left in the box."""

    def advance(self, max_choices: int = NO_LIMIT) -> bool:
        """Continue for about `max_choices` choices of a leaf at most and return `is_over`."""
        while not self.is_over:
            assert self._running is not None  # noqa: S101 - always set until the search is over
            result = self._running.advance(max_choices)
            if result == kernel.RUNNING:
                return False
            if result == kernel.FOUND:
                self.found, self.is_over = self._running.choice(), True
            else:
                self._next_box()
        return True

    @property
    def progress(self) -> float:
        """Share of the search that is done, if the subtrees of a level are alike; 0 for a halved box."""
        return 0.0 if self._running is None or self._boxes else self._running.progress()

    def _next_box(self) -> None:
        """Start on the next box that shrinking does not settle; without one there is no witness."""
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
        trees = geometry.forest.n_trees
        met, met_start = np.empty(len(self._wanted), dtype=np.int64), np.empty(trees + 1, dtype=np.int64)
        is_open = np.empty(trees, dtype=np.bool_)
        if not walk_kernel.shrink(
            *box, self._wanted, geometry.cells.nodes, geometry.in_cells, met, met_start, is_open
        ):
            return None
        # A tree without an unwanted leaf in the box has the wanted vote at every point of it.
        if not is_open.any():
            return Choice(np.zeros(0, dtype=np.int64), box)
        sizes = np.diff(met_start)[is_open]
        words = int(((sizes + 63) >> 6).sum())
        if int(sizes.sum()) * words * 8 > self._row_bytes and self._halve(box):
            return None
        self.words = words
        return _Run(geometry, walk_kernel.lay_out(met, met_start, is_open, geometry.bounds.start), box)

    def _halve(self, box: CellBox) -> bool:
        """Add the two halves of a box to those to search; False if it is a single cell."""
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
    """The kernel's state for one box."""

    def __init__(self, geometry: Geometry, laid_out: tuple[Any, ...], box: CellBox) -> None:
        _, self._leaf_at, root, planes, sizes, _ = laid_out
        trees, words = len(sizes), len(root)
        live = np.empty((trees + 1, words), dtype=np.uint64)
        n_live = np.empty((trees + 1, trees), dtype=np.int64)
        live[0], n_live[0] = root, sizes
        self._box = box
        self._choice = np.empty(trees, dtype=np.int64)
        self._arguments = (
            np.array([-1]),
            live,
            n_live,
            (np.empty((trees + 1, int(sizes[0])), dtype=np.int64), *np.empty((3, trees + 1), dtype=np.int64)),
            np.arange(trees),
            np.ones(trees),
            self._choice,
            planes,
            np.empty((int(sizes.sum()), words), dtype=np.uint64),  # takes memory only when written
            np.full(words * 64, -1, dtype=np.int32),
            np.zeros(1, dtype=np.int64),
            row_table(geometry, laid_out, box),
        )

    def advance(self, max_choices: int) -> int:
        return int(kernel.search(max_choices, *self._arguments))

    def progress(self) -> float:
        """Return the share of the tree of choices that lies before the current one."""
        (level, *_), (_, number, place, _) = self._arguments[0], self._arguments[3]
        done, share = 0.0, 1.0
        for count, tried in zip(number[: level + 1].tolist(), place[: level + 1].tolist(), strict=True):
            share /= max(1, count)
            done += share * max(0, tried - 1)
        return done

    def choice(self) -> Choice:
        return Choice(self._leaf_at[self._choice], self._box)


def row_table(geometry: Geometry, laid_out: tuple[Any, ...], box: CellBox) -> tuple[Any, ...]:
    """Return the data from which the kernel builds compatibility rows.

    It is the leaf of each bit (-1 without one) and the arguments of `kernel.build_row` after `row`. The last
    of these holds two sorted lists for each feature, which the kernel writes when it first needs them: bit
    and key of each entry, list after list; the begin (-1: not written) and end of the list of each side and
    feature; the bits of its first STEP, 2 STEP, ... entries, and where those begin; the number of entries and
    of rows of bits in use.

    Parameters
    ----------
    laid_out
        What `walk_kernel.lay_out` returns.
    """
    bit_of, leaf_at, root, _, _, bounds = laid_out
    features, entries = geometry.forest.n_features, 2 * bounds
    lists = (
        np.empty(entries, dtype=np.int32),  # takes memory only when written
        np.empty(entries, dtype=np.int32),
        np.full((2, features), -1, dtype=np.int64),
        np.empty((2, features), dtype=np.int64),
        np.empty((entries // kernel.STEP, len(root)), dtype=np.uint64),
        np.empty((2, features), dtype=np.int64),
        np.zeros(2, dtype=np.int64),
    )
    return leaf_at, root, geometry.in_cells, *box, bit_of, geometry.cells.by_key, lists
