"""Thresholds, boxes and witnesses, exactly as float32 arithmetic sees them.

scikit-learn compares ``float32(x) <= threshold`` with a float64 threshold. Replacing each threshold by the
largest float32 not above it changes no comparison. Every set of instances used here is then a closed box of
float32 numbers: those that reach a leaf, those near a query's centre, and their intersections.
``lower < x`` for float32 numbers is ``nextafter(lower) <= x``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm.engines.protocol import ForgeryQuery
from wm.forest import Forest

_UP, _DOWN = np.float32(np.inf), np.float32(-np.inf)
Box = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Lower and upper bounds of a closed box, (d,) each; empty if a lower one is above its upper one."""

_LARGEST = np.finfo(np.float32).max


def float32_at_most(values: ArrayLike) -> NDArray[np.float32]:
    """Return, for each float64, the largest float32 that is not above it."""
    exact = np.asarray(values, dtype=np.float64)
    with np.errstate(over="ignore"):
        near = exact.astype(np.float32)
    return np.where(near > exact, next_below(near), near)


def float32_at_least(values: ArrayLike) -> NDArray[np.float32]:
    """Return, for each float64, the smallest float32 that is not below it."""
    return -float32_at_most(-np.asarray(values, dtype=np.float64))


def next_above(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the next larger float32, inf after the largest."""
    with np.errstate(over="ignore"):
        return np.nextafter(values, _UP)


def next_below(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the next smaller float32, -inf before the smallest."""
    with np.errstate(over="ignore"):
        return np.nextafter(values, _DOWN)


def _exact_sum(a: NDArray[np.float64], b: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the rounded sum and its rounding error; together they are exact (Knuth's TwoSum)."""
    # A sum that overflows is far outside [0, 1]; its error, NaN, is not used then.
    with np.errstate(over="ignore", invalid="ignore"):
        total = a + b
        part = total - a
        return total, (a - (total - part)) + (b - part)


def query_box(centre: NDArray[np.float64], eps: float) -> Box:
    """Return the closed box [max(0, z - eps), min(1, z + eps)], rounded inwards to float32.

    It holds exactly the float32 points of [0, 1]^d whose distance from z is at most eps in exact arithmetic.
    """
    total, error = _exact_sum(centre, -eps)
    lower = float32_at_least(total)
    lower = np.where((lower == total) & (error > 0), next_above(lower), lower)
    total, error = _exact_sum(centre, eps)
    upper = float32_at_most(total)
    upper = np.where((upper == total) & (error < 0), next_below(upper), upper)
    return np.maximum(lower, np.float32(0)), np.minimum(upper, np.float32(1))


def distance(witness: NDArray[np.float32], centre: NDArray[np.float64]) -> float:
    """Return the largest distance in any feature that has a value, as float64."""
    away = np.abs(witness.astype(np.float64) - centre)
    return float(np.max(away[~np.isnan(away)], initial=0.0))


@dataclass(frozen=True, eq=False)
class LeafBounds:
    """For each leaf, the closed float32 interval of each feature tested on its path."""

    node: NDArray[np.int64]
    """(L,): global node index of each leaf that some float32 instance can reach."""
    tree: NDArray[np.int64]
    """(L,): its tree."""
    code: NDArray[np.int64]
    """(L,): column of the forest's `classes` that it votes for."""
    start: NDArray[np.int64]
    """(L + 1,): bounds of leaf i are rows ``start[i]:start[i + 1]`` of the rest, by ascending feature."""
    leaf: NDArray[np.int64]
    """(B,): position of the leaf, in 0..L-1."""
    feature: NDArray[np.int64]
    """(B,): the bounded feature."""
    lower: NDArray[np.float32]
    """(B,): lower end of the interval; -inf if the path has none."""
    upper: NDArray[np.float32]
    """(B,): upper end of the interval; inf if the path has none."""

    @cached_property
    def position(self) -> dict[int, int]:
        """Position of each leaf (in 0..L-1) by its global node index."""
        return {int(node): position for position, node in enumerate(self.node)}

    def meets(self, lower: NDArray[np.float32], upper: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Return which leaves some float32 point of a non-empty box reaches: (L,)."""
        outside = (self.lower > upper[self.feature]) | (self.upper < lower[self.feature])
        meets: NDArray[np.bool_] = np.bincount(self.leaf[outside], minlength=len(self.node)) == 0
        return meets


def leaf_bounds(forest: Forest) -> LeafBounds:
    """Return the bounds of every leaf that can be reached.

    The paths of all leaves are followed upwards at once, one level per step.
    """
    left_child, _ = forest.children
    snapped = float32_at_most(forest.threshold)
    leaves = np.flatnonzero(forest.is_leaf)
    position, current = np.arange(len(leaves)), leaves
    conditions: list[tuple[NDArray[Any], ...]] = []
    while True:
        above = forest.parent[current]
        climbs = above != current
        position, current, above = position[climbs], current[climbs], above[climbs]
        is_left = left_child[above] == current
        lower = np.where(is_left, _DOWN, next_above(snapped[above]))
        upper = np.where(is_left, snapped[above], _UP)
        conditions.append((position, forest.feature[above].astype(np.int64), lower, upper))
        if not len(current):
            return _intersect(forest, leaves, *map(np.concatenate, zip(*conditions, strict=True)))
        current = above


def _intersect(
    forest: Forest,
    leaves: NDArray[np.int64],
    leaf: NDArray[np.int64],
    feature: NDArray[np.int64],
    lower: NDArray[np.float32],
    upper: NDArray[np.float32],
) -> LeafBounds:
    """Intersect the conditions of each leaf feature by feature; drop leaves with contradictory conditions."""
    order = np.lexsort((feature, leaf))
    leaf, feature, lower, upper = leaf[order], feature[order], lower[order], upper[order]
    if len(leaf):
        first = np.flatnonzero(np.r_[True, (leaf[1:] != leaf[:-1]) | (feature[1:] != feature[:-1])])
        lower, upper = np.maximum.reduceat(lower, first), np.minimum.reduceat(upper, first)
        leaf, feature = leaf[first], feature[first]
    # Thresholds beyond all float32 numbers: a condition that every number meets is no bound, one that no
    # number meets makes the leaf unreachable.
    lower = np.where(lower <= -_LARGEST, _DOWN, lower)
    upper = np.where(upper >= _LARGEST, _UP, upper)
    closed = (lower > upper) | (lower == _UP) | (upper == _DOWN)
    reachable = np.bincount(leaf[closed], minlength=len(leaves)) == 0
    keep = reachable[leaf]
    leaf = (np.cumsum(reachable) - 1)[leaf[keep]]
    kept = leaves[reachable]
    return LeafBounds(
        node=kept,
        tree=forest.node_tree[kept],
        code=forest.node_class[kept],
        start=np.searchsorted(leaf, np.arange(len(kept) + 1)),
        leaf=leaf,
        feature=feature[keep],
        lower=lower[keep],
        upper=upper[keep],
    )


@dataclass(frozen=True, eq=False)
class Problem:
    """A query in terms of one forest's leaves."""

    lower: NDArray[np.float32]
    upper: NDArray[np.float32]
    """(d,): the query's closed box."""
    wanted: NDArray[np.bool_]
    """(L,): leaves with a wanted vote that meet the box."""
    unwanted: NDArray[np.bool_]
    """(L,): leaves with an unwanted vote that meet the box."""
    trivial_reason: str | None
    """Why no solver is needed: "empty box", or "no leaf" if some tree has no wanted leaf in the box."""


def wanted_leaves(forest: Forest, bounds: LeafBounds, query: ForgeryQuery) -> NDArray[np.bool_]:
    """Return which leaves vote as the query wants, for its label iff the tree's bit is 0: (L,)."""
    label = forest.classes.tolist().index(query.label)
    right: NDArray[np.bool_] = bounds.code == label
    wanted: NDArray[np.bool_] = right == (query.signature[bounds.tree] == 0)
    return wanted


def build_problem(forest: Forest, bounds: LeafBounds, query: ForgeryQuery) -> Problem:
    """Express a query that fits the forest in terms of its leaves."""
    lower, upper = query_box(query.centre, query.eps)
    empty = bool((lower > upper).any())
    meets = np.zeros(len(bounds.node), dtype=bool) if empty else bounds.meets(lower, upper)
    wanted = wanted_leaves(forest, bounds, query)
    has_wanted = np.bincount(bounds.tree[wanted & meets], minlength=forest.n_trees) > 0
    reason = "empty box" if empty else None if has_wanted.all() else "no leaf"
    return Problem(lower, upper, wanted & meets, ~wanted & meets, reason)


def cell_of(forest: Forest, bounds: LeafBounds, point: NDArray[np.float32]) -> Box:
    """Return the closed box of all points that reach the same leaves as a point; infinite without a bound."""
    lower, upper = (np.full(forest.n_features, side, dtype=np.float32) for side in (_DOWN, _UP))
    for node in forest.apply(point[None])[0]:
        position = bounds.position[int(node)]
        rows = slice(bounds.start[position], bounds.start[position + 1])
        features = bounds.feature[rows]
        lower[features] = np.maximum(lower[features], bounds.lower[rows])
        upper[features] = np.minimum(upper[features], bounds.upper[rows])
    return lower, upper


def nearest_witness(
    forest: Forest, bounds: LeafBounds, point: NDArray[np.float32], query: ForgeryQuery
) -> NDArray[np.float32]:
    """Return the float32 point nearest to the query's centre that reaches the same leaves as `point`.

    Parameters
    ----------
    point : (d,) float32
        Any point of the query's box.
    """
    box, cell = query_box(query.centre, query.eps), cell_of(forest, bounds, point)
    with np.errstate(over="ignore"):
        nearest = query.centre.astype(np.float32)
    return np.clip(nearest, np.maximum(box[0], cell[0]), np.minimum(box[1], cell[1]))
