"""The smallest eps at which an instance can be forged, exactly.

As eps grows, a query's box takes in new cells only at finitely many distances: those from z to the nearest
float32 point of each cell of each feature. `forged` holds for every larger eps and `impossible` for every
smaller one, so bisection over these distances finds the smallest; it answers every eps of a campaign at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wm.engines.cells import cell_forest
from wm.engines.encoding import float32_at_most, leaf_bounds, next_above, query_box, wanted_leaves
from wm.engines.protocol import Engine, ForgeryOutcome, ForgeryQuery, Status
from wm.forest import Forest


@dataclass(frozen=True, eq=False)
class MinimalOutcome:
    """How near to its centre an instance can be forged."""

    status: Status
    """``forged``: `distance` is exact. ``impossible``: there is none up to the cap. Otherwise a limit was
    reached or the engine failed, and only `impossible_at` and `forged_at` are known."""
    distance: float | None
    """Smallest float64 eps whose box holds a forgery; None if not known."""
    impossible_at: float
    """Largest eps proved impossible; -1 if none was."""
    forged_at: float | None
    """Smallest eps at which a witness is known; None without one."""
    witness: NDArray[np.float32] | None
    """(d,): the nearest one known."""
    seconds: float
    """Solving time of all queries."""
    queries: int
    engine: str
    reason: str


def min_eps(points: NDArray[np.float32], centre: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the smallest float64 eps for which each point is within eps of its centre, exactly."""
    wide = points.astype(np.float64)
    near, far = np.minimum(wide, centre), np.maximum(wide, centre)
    total = far - near
    # TwoSum of far and -near: the rounding error.
    part = total - far
    error = (far - (total - part)) + (-near - part)
    return np.where(error > 0, np.nextafter(total, np.inf), total)


class MinimalSearch:
    """Finds minimal distances for queries about one forest.

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
        self._bounds = leaf_bounds(forest)
        self._cells = cell_forest(forest, self._bounds)

    def find(
        self, query: ForgeryQuery, *, timeout_s: float, memory_bytes: int | None = None
    ) -> MinimalOutcome:
        """Return the smallest eps, at most `query.eps`, at which the query can be forged.

        Parameters
        ----------
        query
            Its `eps` is the cap.
        timeout_s
            Limit on the solving time of the whole search in seconds; each query gets what is left.
        """
        queries, seconds = 0, 0.0

        def solve(eps: float) -> ForgeryOutcome:
            # Only solving time counts: the first query may wait until the engine has started.
            nonlocal queries, seconds
            left = max(1e-3, timeout_s - seconds)
            outcome = self._engine.solve(replace(query, eps=eps), timeout_s=left, memory_bytes=memory_bytes)
            queries, seconds = queries + 1, seconds + outcome.seconds
            return outcome

        best, last, impossible_at = None, solve(query.eps), -1.0
        if last.status is Status.IMPOSSIBLE:
            impossible_at = query.eps
        elif last.witness is not None:
            best = last
            distances = self.distances(query, _reach(last.witness, query))
            # distances[high] is forged, all before `low` are impossible.
            low, high = int(np.searchsorted(distances, self._lower_bound(query))), len(distances) - 1
            while low < high:
                middle = (low + high) // 2
                last = solve(float(distances[middle]))
                if last.witness is not None:
                    best = last
                    high = int(np.searchsorted(distances, _reach(last.witness, query)))
                elif last.status is Status.IMPOSSIBLE:
                    low = middle + 1
                else:
                    break
            else:
                last = best
            impossible_at = float(distances[low - 1]) if low else -1.0
        witness = None if best is None else best.witness
        forged_at = None if witness is None else _reach(witness, query)
        return MinimalOutcome(
            status=last.status,
            distance=forged_at if last.status is Status.FORGED else None,
            impossible_at=impossible_at,
            forged_at=forged_at,
            witness=witness,
            seconds=seconds,
            queries=queries,
            engine=last.engine,
            reason=last.reason,
        )

    def distances(self, query: ForgeryQuery, cap: float) -> NDArray[np.float64]:
        """Return all eps up to `cap` at which the query's box takes in a new cell, ascending.

        The first is the smallest at which the box is not empty; 0 if more than a box limits the query.
        """
        if query.is_constrained:
            return self._constrained_distances(query, cap)
        cells, centre = self._cells, query.centre
        feature = np.repeat(np.arange(len(centre)), np.diff(cells.threshold_start))
        above = next_above(cells.thresholds)
        # From below the centre the end of a cell is nearest, from above the beginning of the next one.
        edge = np.where(cells.thresholds < centre[feature], cells.thresholds, above)
        inside = (edge >= 0) & (edge <= 1)
        found = min_eps(edge[inside], centre[feature][inside])
        first = _reach(np.clip(centre, 0.0, 1.0).astype(np.float32), query)
        return np.unique(np.concatenate([[first], found[(found > first) & (found < cap)], [max(cap, first)]]))

    @cached_property
    def _thresholds(self) -> list[NDArray[np.float32]]:
        """All thresholds of each feature: of leaves, too, that only missing values reach."""
        forest = self._forest
        snapped = float32_at_most(forest.threshold)
        return [np.unique(snapped[forest.feature == feature]) for feature in range(forest.n_features)]

    def _constrained_distances(self, query: ForgeryQuery, cap: float) -> NDArray[np.float64]:
        """Return the same where values may be missing or are permitted ones only: a few eps more."""
        found = [np.zeros(1), np.full(1, cap)]
        for feature, z in enumerate(query.centre.tolist()):
            values = None if query.meaning is None else query.meaning.values[feature]
            if values is None:
                ends = self._thresholds[feature]
                own = np.float32(np.clip(z, 0.0, 1.0))
                values = np.concatenate([ends, next_above(ends), [own]], dtype=np.float32)
            if not np.isnan(z):
                inside = values[(values >= 0) & (values <= 1)]
                found.append(min_eps(inside, np.full(len(inside), z)))
        every = np.unique(np.concatenate(found))
        return every[every <= cap]

    def _lower_bound(self, query: ForgeryQuery) -> float:
        """Return an eps below which some tree has no wanted leaf in the box."""
        if query.is_constrained:  # missing values reach leaves at any distance
            return 0.0
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
        # Rounded down a little: this only starts the bisection, which is exact.
        return float(np.max(per_tree, initial=0.0)) * (1 - 1e-12)


def _reach(point: NDArray[np.float32], query: ForgeryQuery) -> float:
    has_value = ~np.isnan(point)
    return float(min_eps(point[has_value], query.centre[has_value]).max(initial=0.0))
