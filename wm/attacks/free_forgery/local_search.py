"""Local search for a forgery: no solver, no proof, but quick where forgeries are common.

From a centre z, one tree after another that votes against the wanted signature is put right by clipping the
point into a near one of its wanted leaves, the one that leaves the fewest votes wrong; that may still put
other trees wrong, and is kept if not more votes are wrong than before, or else with a chance that falls as
the search cools (simulated annealing).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.engines.encoding import LeafBounds, build_problem, distance, leaf_bounds
from wm.engines.protocol import ForgeryQuery
from wm.errors import ModelError
from wm.forest import Forest


@dataclass(frozen=True)
class SearchPlan:
    """How long and how warm.

    Attributes
    ----------
    steps
        Most moves from one start; at least 1.
    restarts
        Starts from the centre; at least 1.
    warmth
        Temperature at the start, in wrong votes, above 0; it falls to a hundredth of that.
    leaves
        Nearest leaves tried in one move; at least 1.
    """

    steps: int = 400
    restarts: int = 2
    warmth: float = 2.0
    leaves: int = 8


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What a search came to.

    Attributes
    ----------
    witness : (d,) float32, or None
        An instance with all wanted votes; None says nothing about whether there is one.
    distance
        Its largest distance from the centre in any feature; None without one.
    wrong_votes
        Fewest wrong votes seen; 0 with a witness, m where the box or a tree leaves nothing to try.
    steps
        Moves tried.
    """

    witness: NDArray[np.float32] | None
    distance: float | None
    wrong_votes: int
    steps: int


class LocalSearcher:
    """Searches on one forest; keeps what is common to all queries."""

    def __init__(self, forest: Forest) -> None:
        self._forest = forest
        self._bounds = leaf_bounds(forest)
        self._first_leaf = np.searchsorted(self._bounds.tree, np.arange(forest.n_trees + 1))

    def search(
        self, query: ForgeryQuery, rng: np.random.Generator, plan: SearchPlan | None = None
    ) -> SearchResult:
        """Look for an instance with the wanted votes in the query's box.

        Raises
        ------
        ModelError
            An impossible plan.
        QueryError
            The query does not fit the forest.
        """
        plan = plan or SearchPlan()
        if plan.steps < 1 or plan.restarts < 1 or not plan.warmth > 0 or plan.leaves < 1:
            raise ModelError(f"an impossible search plan: {plan}")
        query.check(self._forest)
        problem = build_problem(self._forest, self._bounds, query)
        if problem.trivial_reason:
            return SearchResult(None, None, self._forest.n_trees, 0)
        start = np.clip(query.centre.astype(np.float32), problem.lower, problem.upper)
        fewest, tried = self._forest.n_trees, 0
        for _ in range(plan.restarts):
            point, wrong, steps = _anneal(
                _Board(self._forest, self._bounds, self._first_leaf, query, problem.wanted),
                (problem.lower, problem.upper),
                start,
                rng,
                plan,
            )
            tried += steps
            fewest = min(fewest, wrong)
            if wrong == 0:
                return SearchResult(point, distance(point, query.centre), 0, tried)
        return SearchResult(None, None, fewest, tried)


@dataclass(frozen=True, eq=False)
class _Board:
    """One query's forest, leaves, and which of these are wanted."""

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
        self,
        point: NDArray[np.float32],
        tree: int,
        box: tuple[NDArray[np.float32], NDArray[np.float32]],
        rng: np.random.Generator,
        most: int,
    ) -> NDArray[np.float32]:
        """Return the point moved into each of a tree's nearest wanted leaves: (p, d), p at most `most`."""
        first, last = self.first_leaf[tree], self.first_leaf[tree + 1]
        leaves = np.flatnonzero(self.wanted[first:last]) + first
        rows = slice(self.bounds.start[first], self.bounds.start[last])
        here = point[self.bounds.feature[rows]]
        gap = np.maximum(self.bounds.lower[rows] - here, 0) + np.maximum(here - self.bounds.upper[rows], 0)
        ways = np.bincount(self.bounds.leaf[rows] - first, gap, minlength=last - first)[leaves - first]
        # A random factor lets others than the very nearest come in now and then.
        near = leaves[np.argsort(ways * rng.uniform(1.0, 1.5, size=len(ways)))[:most]]
        moved = np.repeat(point[None], len(near), axis=0)
        for target, leaf in zip(moved, near, strict=True):
            own = slice(self.bounds.start[leaf], self.bounds.start[leaf + 1])
            features = self.bounds.feature[own]
            lower = np.maximum(self.bounds.lower[own], box[0][features])
            upper = np.minimum(self.bounds.upper[own], box[1][features])
            target[features] = np.clip(target[features], lower, upper)
        return moved


def _anneal(
    board: _Board,
    box: tuple[NDArray[np.float32], NDArray[np.float32]],
    start: NDArray[np.float32],
    rng: np.random.Generator,
    plan: SearchPlan,
) -> tuple[NDArray[np.float32], int, int]:
    """Return the best point found, its wrong votes, and the moves tried."""
    point, wrong = start, board.wrong(start[None])[0]
    best, fewest = point, int(wrong.sum())
    for step in range(plan.steps):
        if fewest == 0:
            return best, 0, step
        tree = int(rng.choice(np.flatnonzero(wrong)))
        moves = board.clipped(point, tree, box, rng, plan.leaves)
        after = board.wrong(moves)
        chosen = int(np.argmin(after.sum(axis=1) + rng.random(len(moves)) / 2))  # ties at random
        worse = int(after[chosen].sum()) - int(wrong.sum())
        heat = plan.warmth * 0.01 ** (step / plan.steps)
        if worse <= 0 or rng.random() < np.exp(-worse / heat):
            point, wrong = moves[chosen], after[chosen]
            if int(wrong.sum()) < fewest:
                best, fewest = point, int(wrong.sum())
    return best, fewest, plan.steps
