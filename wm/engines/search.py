"""`search`: the k-partite search over bitsets.

The box is first shrunk to the wanted leaves of each tree. The leaves left become bits, and the search chooses
one for each tree; see `box_search` and `search_kernel`.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from wm.engines.box_search import BoxSearch, Choice, Geometry
from wm.engines.encoding import Box, wanted_leaves
from wm.engines.protocol import Answer, ForgeryQuery
from wm.engines.walk_kernel import clip_into
from wm.forest import Forest


class SearchSolver:
    """Answers queries by k-partite search."""

    def __init__(self, forest: Forest) -> None:
        compile_kernel()
        self._geometry = Geometry.of(forest)

    def answer(self, query: ForgeryQuery) -> Answer:
        """Answer one query."""
        return _answer(self._geometry, query)


def _answer(geometry: Geometry, query: ForgeryQuery) -> Answer:
    boxes = geometry.box_of(query)
    if boxes is None:
        return Answer(None, "empty box")
    box, cells = boxes
    search = BoxSearch(geometry, wanted_leaves(geometry.forest, geometry.bounds, query), cells)
    search.advance()
    if search.found is None:
        return Answer(None, "no leaf" if search.trivial else "solver")
    return Answer(witness(geometry, query, box, search.found))


def witness(geometry: Geometry, query: ForgeryQuery, box: Box, choice: Choice) -> NDArray[np.float32]:
    """Return the point nearest to a query's centre within its box and the chosen leaves: (d,)."""
    bounds, cells = geometry.bounds, geometry.cells
    with np.errstate(over="ignore"):
        point = query.centre.astype(np.float32)
    clip_into(
        point,
        box[0].copy(),
        box[1].copy(),
        choice.leaves,
        (bounds.start, bounds.feature, bounds.lower, bounds.upper),
        *choice.box,
        cells.thresholds,
        cells.above,
        cells.threshold_start,
    )
    return point


@functools.cache
def compile_kernel() -> None:
    """Compile the kernels, or load them from the cache, before the first query's clock runs."""
    # Two trees with a choice of two leaves each: without a choice the search kernel would not be called.
    forest = Forest.from_arrays(
        offset=[0, 5, 10],
        left=[1, 2, -1, -1, -1] * 2,
        right=[4, 3, -1, -1, -1] * 2,
        feature=[0, 0, -1, -1, -1] * 2,
        threshold=[0.5, 0.25, 0.0, 0.0, 0.0] * 2,
        value=[[1, 1], [1, 1], [0, 1], [1, 0], [0, 1]] * 2,
        n_features=1,
        classes=[0, 1],
    )
    geometry = Geometry.of(forest)
    for signature in ([0, 0], [0, 1]):
        _answer(geometry, ForgeryQuery(signature=signature, label=1, centre=[0.5], eps=0.5))
