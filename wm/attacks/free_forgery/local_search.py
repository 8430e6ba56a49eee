"""Local search for a forgery: no solver, no proof, but quick where forgeries are common.

From a centre z, each move takes a tree that votes against the wanted signature, and clips the point into one
of its near wanted leaves: the one after which the fewest votes are wrong. The move is kept if no more votes
are wrong than before, or else with a chance that falls over time (simulated annealing).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.engines.encoding import LeafBounds, build_problem, leaf_bounds
from wm.engines.protocol import ForgeryQuery
from wm.forest import Forest

_STEPS = 400
"""Largest number of moves from one start."""

_RESTARTS = 2
"""Starts from the centre."""

_WARMTH = 2.0
"""Temperature at the start, in wrong votes; it falls to a hundredth of that."""

_LEAVES = 8
"""Nearest leaves tried in one move."""

_Box = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Lower and upper bounds, (d,) each."""


class LocalSearcher:
    """Searches on one forest; keeps what is common to all queries."""

    def __init__(self, forest: Forest) -> None:
        self._forest = forest
        self._bounds = leaf_bounds(forest)
        self._first_leaf = np.searchsorted(self._bounds.tree, np.arange(forest.n_trees + 1))

    def search(self, query: ForgeryQuery, rng: np.random.Generator) -> NDArray[np.float32] | None:
        """Search the query's box for an instance with the wanted votes: (d,).

        None says nothing about whether there is one.

        Raises
        ------
        QueryError
            The query does not fit the forest.
        """
        query.check(self._forest)
        problem = build_problem(self._forest, self._bounds, query)
        if problem.trivial_reason:
            return None
        box = problem.lower, problem.upper
        board = _Board(self._forest, self._bounds, self._first_leaf, query, problem.wanted)
        start = np.clip(query.centre.astype(np.float32), *box)
        tries = (_anneal(board, box, start, rng) for _ in range(_RESTARTS))
        return next((point for point in tries if point is not None), None)


@dataclass(frozen=True, eq=False)
class _Board:
    """One query's forest and leaves, with the leaves that are wanted."""

    forest: Forest
    bounds: LeafBounds
    first_leaf: NDArray[np.int64]
    query: ForgeryQuery
    wanted: NDArray[np.bool_]

    def wrong(self, points: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Return which trees vote against the wanted signature: (p, d) -> (p, m)."""
        errs = self.forest.votes(points) != self.query.label
        wrong: NDArray[np.bool_] = errs != (self.query.signature == 1)
        return wrong

    def clipped(
        self, point: NDArray[np.float32], tree: int, box: _Box, rng: np.random.Generator
    ) -> NDArray[np.float32]:
        """Return the point moved into each of a tree's nearest wanted leaves: (p, d), p at most `_LEAVES`."""
        first, last = self.first_leaf[tree], self.first_leaf[tree + 1]
        leaves = np.flatnonzero(self.wanted[first:last]) + first
        rows = slice(self.bounds.start[first], self.bounds.start[last])
        here = point[self.bounds.feature[rows]]
        gap = np.maximum(self.bounds.lower[rows] - here, 0) + np.maximum(here - self.bounds.upper[rows], 0)
        ways = np.bincount(self.bounds.leaf[rows] - first, gap, minlength=last - first)[leaves - first]
        # A random factor now and then lets a leaf in that is not among the nearest.
        near = leaves[np.argsort(ways * rng.uniform(1.0, 1.5, size=len(ways)))[:_LEAVES]]
        moved = np.repeat(point[None], len(near), axis=0)
        for target, leaf in zip(moved, near, strict=True):
            own = slice(self.bounds.start[leaf], self.bounds.start[leaf + 1])
            features = self.bounds.feature[own]
            lower = np.maximum(self.bounds.lower[own], box[0][features])
            upper = np.minimum(self.bounds.upper[own], box[1][features])
            target[features] = np.clip(target[features], lower, upper)
        return moved


def _anneal(
    board: _Board, box: _Box, start: NDArray[np.float32], rng: np.random.Generator
) -> NDArray[np.float32] | None:
    """Return a point with the wanted votes, None if no move reaches one."""
    point, wrong = start, board.wrong(start[None])[0]
    for step in range(_STEPS):
        if not wrong.any():
            return point
        tree = int(rng.choice(np.flatnonzero(wrong)))
        moves = board.clipped(point, tree, box, rng)
        after = board.wrong(moves)
        chosen = int(np.argmin(after.sum(axis=1) + rng.random(len(moves)) / 2))  # ties at random
        worse = int(after[chosen].sum()) - int(wrong.sum())
        heat = _WARMTH * 0.01 ** (step / _STEPS)
        if worse <= 0 or rng.random() < np.exp(-worse / heat):
            point, wrong = moves[chosen], after[chosen]
    return None if wrong.any() else point
