"""The least eps at which an instance can be forged, exactly.

As eps grows, a query's box takes in new cells only at finitely many distances: those from z to the nearest
float32 point of each cell of each feature. `forged` holds for every larger eps and `impossible` for every
smaller one, so bisection over these distances finds the least; it answers every eps of a campaign at once.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wm.engines.cells import CellForest, cell_forest
from wm.engines.encoding import LeafBounds, leaf_bounds, next_above, query_box, wanted_leaves
from wm.engines.protocol import Engine, ForgeryOutcome, ForgeryQuery, Status
from wm.forest import Forest


@dataclass(frozen=True, eq=False)
class MinimalOutcome:
    """How near to its centre an instance can be forged.

    Attributes
    ----------
    status
        ``forged``: `distance` is the exact least one. ``impossible``: there is none up to the cap. Otherwise
        a limit struck, or the engine failed, and only the bracket is known.
    distance
        Least eps at which a forgery exists, as the smallest float64 whose box holds it; None if not known.
    impossible_at
        Largest eps proved impossible (0 or more; -1 if not even eps 0 was), see `forged_at`.
    forged_at
        Smallest eps at which a witness is known, None without one.
    witness
        (d,) float32, the nearest one known.
    seconds, queries
        What it took.
    engine, reason
        As in `ForgeryOutcome`.
    """

    status: Status
    distance: float | None
    impossible_at: float
    forged_at: float | None
    witness: NDArray[np.float32] | None
    seconds: float
    queries: int
    engine: str
    reason: str


def least_eps(points: NDArray[np.float32], centre: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the smallest float64 eps for which each point is within eps of its centre, exactly."""
    wide = points.astype(np.float64)
    near, far = np.minimum(wide, centre), np.maximum(wide, centre)
    total = far - near
    # TwoSum of far and -near: what rounding took away.
    part = total - far
    error = (far - (total - part)) + (-near - part)
    return np.where(error > 0, np.nextafter(total, np.inf), total)


class MinimalSearch:
    """Finds least distances for queries about one forest.

    Parameters
    ----------
    forest
        The engine's forest.
    engine
        Answers the queries; its limits hold for each instance as a whole.
    """

    def __init__(self, forest: Forest, engine: Engine) -> None:
        self._forest = forest
        self._engine = engine
        self._bounds: LeafBounds = leaf_bounds(forest)
        self._cells: CellForest = cell_forest(forest, self._bounds)

    def find(
        self, query: ForgeryQuery, *, timeout_s: float, memory_bytes: int | None = None
    ) -> MinimalOutcome:
        """Return the least eps, at most `query.eps`, at which the query can be forged.

        Parameters
        ----------
        query
            Its `eps` is the cap.
        timeout_s
            Limit on the whole search in seconds; each of its queries gets what is left.
        """
        started = time.perf_counter()
        queries = 0

        def ask(eps: float) -> ForgeryOutcome:
            nonlocal queries
            queries += 1
            left = max(1e-3, timeout_s - (time.perf_counter() - started))
            at = ForgeryQuery(signature=query.signature, label=query.label, centre=query.centre, eps=eps)
            return self._engine.solve(at, timeout_s=left, memory_bytes=memory_bytes)

        def ended(
            outcome: ForgeryOutcome, impossible_at: float, best: ForgeryOutcome | None
        ) -> MinimalOutcome:
            forged_at = None if best is None or best.witness is None else self._reach(best.witness, query)
            return MinimalOutcome(
                status=outcome.status,
                distance=forged_at if outcome.status is Status.FORGED else None,
                impossible_at=impossible_at,
                forged_at=forged_at,
                witness=None if best is None else best.witness,
                seconds=time.perf_counter() - started,
                queries=queries,
                engine=outcome.engine,
                reason=outcome.reason,
            )

        best = ask(query.eps)
        if best.status is not Status.FORGED:
            at = query.eps if best.status is Status.IMPOSSIBLE else -1.0
            return ended(best, at, None)
        assert best.witness is not None  # noqa: S101 - forged outcomes have one
        distances = self.distances(query, self._reach(best.witness, query))
        # distances[high] is forged, all before `low` are impossible.
        low, high = int(np.searchsorted(distances, self._lower_bound(query))), len(distances) - 1
        while low < high:
            middle = (low + high) // 2
            outcome = ask(float(distances[middle]))
            if outcome.status is Status.FORGED:
                assert outcome.witness is not None  # noqa: S101 - forged outcomes have one
                best = outcome
                high = int(np.searchsorted(distances, self._reach(outcome.witness, query)))
            elif outcome.status is Status.IMPOSSIBLE:
                low = middle + 1
            else:
                return ended(outcome, float(distances[low - 1]) if low else -1.0, best)
        return ended(best, float(distances[low - 1]) if low else -1.0, best)

    def distances(self, query: ForgeryQuery, cap: float) -> NDArray[np.float64]:
        """Return all eps up to `cap` at which the query's box takes in a new cell, ascending.

        The first is the least at which it is not empty at all.
        """
        cells, centre = self._cells, query.centre
        feature = np.repeat(np.arange(len(centre)), np.diff(cells.threshold_start))
        above = next_above(cells.thresholds)
        # From below the centre the end of a cell is nearest, from above the beginning of the next one.
        edge = np.where(cells.thresholds < centre[feature], cells.thresholds, above)
        inside = (edge >= 0) & (edge <= 1)
        found = least_eps(edge[inside], centre[feature][inside])
        first = self._reach(np.clip(centre, 0.0, 1.0).astype(np.float32), query)
        return np.unique(np.concatenate([[first], found[(found > first) & (found < cap)], [max(cap, first)]]))

    def _reach(self, point: NDArray[np.float32], query: ForgeryQuery) -> float:
        return float(least_eps(point, query.centre).max(initial=0.0))

    def _lower_bound(self, query: ForgeryQuery) -> float:
        """Return an eps below which some tree has no wanted leaf in the box."""
        bounds, centre = self._bounds, query.centre
        lower, upper = query_box(centre, max(2.0, 2.0 * float(np.abs(centre).max(initial=0.0))))
        reachable = wanted_leaves(self._forest, bounds, query) & bounds.meets(lower, upper)
        at = centre[bounds.feature]
        nearest = np.clip(at, bounds.lower.astype(np.float64), bounds.upper.astype(np.float64))
        distance = np.zeros(len(bounds.node))
        bounded = np.diff(bounds.start) > 0
        if bounded.any():
            distance[bounded] = np.maximum.reduceat(np.abs(nearest - at), bounds.start[:-1][bounded])
        per_tree = np.full(self._forest.n_trees, np.inf)
        np.minimum.at(per_tree, bounds.tree[reachable], distance[reachable])
        # Rounded down a little: only a start for the bisection, which is exact.
        return float(np.max(per_tree, initial=0.0)) * (1 - 1e-12)
