"""Strategies of hypothesis: small forests with awkward traits, and forgery queries to them."""

from __future__ import annotations

import functools
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from wm.engines import ForgeryQuery
from wm.forest import Forest
from wm.testing import CLASSES, EDGE_NUMBERS, NestedTree, forest_of, neighbours


@functools.cache
def edge_numbers() -> SearchStrategy[float]:
    """Return a strategy for numbers at or next to the thresholds of `small_forests`, in and out of [0, 1]."""
    numbers = st.sampled_from(EDGE_NUMBERS) | st.floats(-0.5, 1.5)
    return numbers.flatmap(lambda value: st.sampled_from(list(neighbours(value))))


@functools.cache
def small_forests() -> SearchStrategy[Forest]:
    """Return a strategy for forests that suit `forgeable`: 1-4 trees of depth 0-3, 1-3 features."""

    def nested(
        features: SearchStrategy[int], thresholds: SearchStrategy[float], n_classes: int, depth: int
    ) -> SearchStrategy[NestedTree]:
        leaf: SearchStrategy[NestedTree] = st.integers(0, n_classes - 1)
        if depth == 0:
            return leaf
        below = nested(features, thresholds, n_classes, depth - 1)
        return leaf | st.tuples(features, thresholds, below, below)

    @st.composite
    def forests(draw: Any) -> Forest:
        n_features = draw(st.integers(1, 3))
        classes = draw(st.sampled_from(CLASSES))
        pool = draw(st.lists(edge_numbers(), min_size=1, max_size=4))
        thresholds = st.sampled_from([near for value in pool for near in neighbours(value)])
        tree = nested(st.integers(0, n_features - 1), thresholds, len(classes), 3)
        return forest_of(draw(st.lists(tree, min_size=1, max_size=4)), n_features=n_features, classes=classes)

    return forests()


def forgery_queries(forest: Forest) -> SearchStrategy[ForgeryQuery]:
    """Return a strategy for queries to a forest; half of them ask for votes that some point draws."""
    thresholds = forest.threshold[~forest.is_leaf].tolist()
    number = edge_numbers() | st.sampled_from(thresholds) if thresholds else edge_numbers()
    d, m = forest.n_features, forest.n_trees

    @st.composite
    def queries(draw: Any) -> ForgeryQuery:
        label = draw(st.sampled_from(forest.classes.tolist()))
        if draw(st.booleans()):
            point = draw(st.lists(st.floats(0, 1, width=32), min_size=d, max_size=d))
            signature = (forest.votes([point])[0] != label).astype(int)
        else:
            signature = draw(st.lists(st.integers(0, 1), min_size=m, max_size=m))
        centre = draw(st.lists(number, min_size=d, max_size=d))
        widths = st.sampled_from([0.0, 1e-9, 0.1, 0.25, 0.5, 1.0, 3.0, 1e300]) | st.floats(0, 1)
        edges = [abs(z - threshold) for z in centre for threshold in thresholds]
        eps = draw(widths | st.sampled_from(edges) if edges else widths)
        return ForgeryQuery(signature=signature, label=label, centre=centre, eps=eps)

    return queries()
