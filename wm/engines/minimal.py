"""The smallest eps at which an instance can be forged, exactly.

As eps grows, a query's box takes in new cells only at finitely many distances: those from z to the nearest
float32 point of each cell of each feature. `forged` holds for every larger eps and `impossible` for every
smaller one, so bisection over these distances finds the smallest; it answers every eps of a campaign at once.

The first distance at which no tree lacks a wanted leaf is asked for before: where forging is easy, it mostly
is the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wm.engines.cells import cell_forest
from wm.engines.encoding import float32_at_most, leaf_bounds, next_above, wanted_leaves
from wm.engines.protocol import Engine, ForgeryOutcome, ForgeryQuery, Status
from wm.forest import Forest

_SHARE_OF_FIRST = 0.25
"""Share of the time limit for the first question: without its answer the others can still be asked."""


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


class _Bracket:
    """What is known of one instance: the largest eps proved impossible, and the nearest witness."""

    def __init__(
        self, engine: Engine, query: ForgeryQuery, timeout_s: float, memory_bytes: int | None
    ) -> None:
        self._engine, self._query = engine, query
        self._timeout_s, self._memory_bytes = timeout_s, memory_bytes
        self.last: ForgeryOutcome | None = None
        self.impossible_at = -1.0
        self.nearest: ForgeryOutcome | None = None
        self.forged_at: float | None = None
        self.seconds, self.queries = 0.0, 0

    def ask(self, eps: float, share: float = 1.0) -> bool:
        """Ask at one eps, with a share of the time that is left; return whether that decided it."""
        # Only solving time counts: the first query may wait until the engine has started.
        left = max(1e-3, (self._timeout_s - self.seconds) * share)
        query = replace(self._query, eps=eps)
        self.last = self._engine.solve(query, timeout_s=left, memory_bytes=self._memory_bytes)
        self.seconds, self.queries = self.seconds + self.last.seconds, self.queries + 1
        if self.last.status is Status.IMPOSSIBLE:
            self.impossible_at = max(self.impossible_at, eps)
            return True
        if self.last.witness is None:
            return False
        self.nearest, self.forged_at = self.last, _reach(self.last.witness, query)
        return True


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
        self._hopeless: set[tuple[bytes, object]] = set()
        """Signatures and labels for which some instance was impossible up to its cap."""

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
        known = _Bracket(self._engine, query, timeout_s, memory_bytes)
        pair = query.signature.tobytes(), query.label
        # The order of these questions changes no answer: the engine often has a proof for the whole domain.
        if pair in self._hopeless:
            known.ask(query.eps)
        is_decided = known.impossible_at == query.eps or self._bisect(known, query)
        if known.impossible_at == query.eps:
            self._hopeless.add(pair)
        last = known.nearest if is_decided and known.nearest is not None else known.last
        assert last is not None  # noqa: S101 - at least one query is asked
        return MinimalOutcome(
            status=last.status,
            distance=known.forged_at if last is known.nearest else None,
            impossible_at=known.impossible_at,
            forged_at=known.forged_at,
            witness=None if known.nearest is None else known.nearest.witness,
            seconds=known.seconds,
            queries=known.queries,
            engine=last.engine,
            reason=last.reason,
        )

    def _bisect(self, known: _Bracket, query: ForgeryQuery) -> bool:
        """Ask until the distance is known or proved to be beyond the cap; False if a limit prevents that."""
        lowest = self._first_distance(query)
        if not query.is_constrained and lowest < query.eps:
            known.ask(lowest, _SHARE_OF_FIRST)
        if known.forged_at is None and not known.ask(query.eps):
            return False
        if known.forged_at is None:
            return True
        distances = self.distances(query, known.forged_at)
        # distances[high] is forged, all before `low` are impossible.
        high = len(distances) - 1
        proved = np.searchsorted(distances, known.impossible_at, side="right")
        low = min(max(int(np.searchsorted(distances, lowest)), int(proved)), high)
        while low < high:
            middle = (low + high) // 2
            if not known.ask(float(distances[middle])):
                break
            if known.last is known.nearest:
                high = int(np.searchsorted(distances, known.forged_at))
            else:
                low = middle + 1
        known.impossible_at = float(distances[low - 1]) if low else -1.0
        return low >= high

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
    def _ends(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self._bounds.lower.astype(np.float64), self._bounds.upper.astype(np.float64)

    @cached_property
    def _in_domain(self) -> NDArray[np.bool_]:
        """Leaves that some point of [0, 1]^d reaches."""
        d = self._forest.n_features
        return self._bounds.meets(np.zeros(d, dtype=np.float32), np.ones(d, dtype=np.float32))

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

    def _first_distance(self, query: ForgeryQuery) -> float:
        """Return the first of `distances` at which each tree has a wanted leaf in the box, else the last."""
        if query.is_constrained:  # missing values reach leaves at any distance
            return 0.0
        distances = self.distances(query, query.eps)
        place = int(np.searchsorted(distances, self._lower_bound(query)))
        return float(distances[min(place, len(distances) - 1)])

    def _lower_bound(self, query: ForgeryQuery) -> float:
        """Return an eps below which some tree has no wanted leaf in the box."""
        bounds, (lower, upper) = self._bounds, self._ends
        reachable = wanted_leaves(self._forest, bounds, query) & self._in_domain
        at = query.centre[bounds.feature]
        away = np.maximum(np.maximum(lower - at, at - upper), 0.0)
        distance = np.zeros(len(bounds.node))
        bounded = np.diff(bounds.start) > 0
        if bounded.any():
            distance[bounded] = np.maximum.reduceat(away, bounds.start[:-1][bounded])
        per_tree = np.full(self._forest.n_trees, np.inf)
        np.minimum.at(per_tree, bounds.tree[reachable], distance[reachable])
        # Rounded down a little: this only starts the bisection, which is exact.
        return float(np.max(per_tree, initial=0.0)) * (1 - 1e-12)


def _reach(point: NDArray[np.float32], query: ForgeryQuery) -> float:
    has_value = ~np.isnan(point)
    return float(min_eps(point[has_value], query.centre[has_value]).max(initial=0.0))
