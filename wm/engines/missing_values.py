"""Leaves and queries where values may be missing: intervals with, perhaps, a missing value beside them."""

from __future__ import annotations

import bisect
import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from wm.engines.encoding import float32_at_most, query_box
from wm.engines.meaning import Meaning
from wm.engines.protocol import ForgeryQuery
from wm.forest import Forest

LOWEST, HIGHEST = -np.inf, np.inf


@functools.lru_cache(maxsize=2**16)
def above(number: float) -> float:
    """Return the next larger float32."""
    with np.errstate(over="ignore"):
        return float(np.nextafter(np.float32(number), np.float32(np.inf)))


@functools.lru_cache(maxsize=2**16)
def below(number: float) -> float:
    """Return the next smaller float32."""
    with np.errstate(over="ignore"):
        return float(np.nextafter(np.float32(number), np.float32(-np.inf)))


@dataclass(frozen=True)
class _Condition:
    """What a leaf's path demands of one feature: float32 numbers from `lower` to `upper`, perhaps none."""

    lower: float
    upper: float
    missing: bool
    """Whether it may be missing instead."""

    def narrowed(self, *, lower: float, upper: float, missing: bool) -> _Condition:
        """Return the condition of one test more."""
        return _Condition(max(self.lower, lower), min(self.upper, upper), self.missing and missing)


_ANY = _Condition(LOWEST, HIGHEST, missing=True)


@dataclass(frozen=True, eq=False)
class Leaf:
    """A leaf with its vote and its path's conditions by feature."""

    node: int
    tree: int
    code: int
    conditions: dict[int, _Condition]


def leaves(forest: Forest) -> Iterator[Leaf]:
    """Yield every leaf that some row, with or without missing values, reaches."""
    snapped = float32_at_most(forest.threshold).tolist()
    left, right = forest.children
    for tree, root in enumerate(forest.offset[:-1].tolist()):
        to_do: list[tuple[int, dict[int, _Condition]]] = [(root, {})]
        while to_do:
            node, path = to_do.pop()
            if forest.is_leaf[node]:
                yield Leaf(node, tree, int(forest.node_class[node]), path)
                continue
            feature = int(forest.feature[node])
            so_far = path.get(feature, _ANY)
            goes_left = forest.missing_left is not None and bool(forest.missing_left[node])
            goes_right = forest.missing_left is not None and not goes_left
            sides = (
                (int(left[node]), so_far.narrowed(lower=LOWEST, upper=snapped[node], missing=goes_left)),
                (
                    int(right[node]),
                    so_far.narrowed(lower=above(snapped[node]), upper=HIGHEST, missing=goes_right),
                ),
            )
            for child, condition in sides:
                if condition.lower <= condition.upper or condition.missing:
                    to_do.append((child, path | {feature: condition}))


class Space:
    """The rows that a query allows, feature by feature."""

    def __init__(self, query: ForgeryQuery, meaning: Meaning) -> None:
        self.centre = query.centre
        lower, upper = query_box(query.centre, query.eps)
        self.lower: list[float] = lower.tolist()
        self.upper: list[float] = upper.tolist()
        self.values = [
            None if values is None else values[(values >= low) & (values <= high)].tolist()
            for values, low, high in zip(meaning.values, lower, upper, strict=True)
        ]
        some = np.array([values is None or len(values) > 0 for values in self.values])
        self.there = ~np.isnan(self.centre) & (lower <= upper) & some
        """(d,): which features may have a value."""
        self.missing = np.isnan(self.centre) | meaning.may_miss
        """(d,): which features may be missing; those of the centre stay so."""

    def _within(self, feature: int, lower: float, upper: float) -> list[float]:
        """Return the ends of an interval in the box, or all permitted values there; perhaps nothing."""
        low, high = max(self.lower[feature], lower), min(self.upper[feature], upper)
        values = self.values[feature]
        if values is None:
            return [low, high] if low <= high else []
        within: list[float] = values[bisect.bisect_left(values, low) : bisect.bisect_right(values, high)]
        return within

    def holds(self, feature: int, lower: float, upper: float) -> bool:
        """Return whether a feature may have a value in a closed interval."""
        return bool(self.there[feature]) and len(self._within(feature, lower, upper)) > 0

    def nearest(self, feature: int, lower: float, upper: float) -> float:
        """Return the value in a closed interval that is nearest to the centre; there must be one."""
        found = self._within(feature, lower, upper)
        centre = float(self.centre[feature])
        if self.values[feature] is None:
            with np.errstate(over="ignore"):
                return min(max(float(np.float32(centre)), found[0]), found[1])
        return min(found, key=lambda value: abs(value - centre))

    def meets(self, leaf: Leaf) -> bool:
        """Return whether some row reaches a leaf."""
        return all(
            (each.missing and self.missing[feature]) or self.holds(feature, each.lower, each.upper)
            for feature, each in leaf.conditions.items()
        )
