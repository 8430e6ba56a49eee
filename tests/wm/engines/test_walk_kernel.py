"""The walk down the trees against the leaves' bounds, and what shrinking may take away."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from wm.engines.box_search import Geometry, row_table
from wm.engines.encoding import query_box, wanted_leaves
from wm.engines.search_kernel import build_row
from wm.engines.walk_kernel import shrink


def walked(geometry, wanted, box):
    """Return the box as it was shrunk, wanted leaves that meet it, how many of each tree, which are open."""
    lower, upper = (geometry.cells.of(side) for side in box)
    met = np.empty(len(wanted), dtype=np.int64)
    met_start = np.empty(geometry.forest.n_trees + 1, dtype=np.int64)
    is_open = np.empty(geometry.forest.n_trees, dtype=np.bool_)
    if not shrink(lower, upper, wanted, geometry.cells.nodes, geometry.in_cells, met, met_start, is_open):
        return None
    return (lower, upper), met[: met_start[-1]], np.diff(met_start), is_open


def meet(geometry, lower, upper):
    """Return which leaves meet a box of cells, one bound at a time."""
    bounds, cells = geometry.bounds, geometry.cells
    outside = (cells.lower > upper[bounds.feature]) | (cells.upper < lower[bounds.feature])
    return np.bincount(bounds.leaf[outside], minlength=len(bounds.node)) == 0


def draw_walk(data, small_forests, awkward_numbers, queries):
    forest = data.draw(small_forests)
    query = data.draw(queries(forest, awkward_numbers))
    box = query_box(query.centre, query.eps)
    assume((box[0] <= box[1]).all())
    geometry = Geometry.of(forest)
    return geometry, wanted_leaves(forest, geometry.bounds, query), box


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_walk_meets_the_leaves_that_meet_the_box(small_forests, awkward_numbers, queries, data):
    geometry, wanted, box = draw_walk(data, small_forests, awkward_numbers, queries)
    found = walked(geometry, wanted, box)
    if found is None:
        return
    (lower, upper), met, sizes, is_open = found
    expected = meet(geometry, lower, upper)
    tree = geometry.bounds.tree
    assert set(met) == set(np.flatnonzero(expected & wanted))
    assert len(set(met)) == len(met)
    np.testing.assert_array_equal(tree[met], np.repeat(np.arange(len(sizes)), sizes))
    assert set(np.flatnonzero(is_open)) == set(tree[expected & ~wanted])


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_shrinking_keeps_every_cell_with_a_witness(small_forests, awkward_numbers, queries, data):
    geometry, wanted, box = draw_walk(data, small_forests, awkward_numbers, queries)
    first, last = (geometry.cells.of(side) for side in box)
    ranges = [np.arange(a, b + 1) for a, b in zip(first, last, strict=True)]
    cells = np.stack([axis.ravel() for axis in np.meshgrid(*ranges, indexing="ij")], axis=1)
    wins = [cell for cell in cells if (meet(geometry, cell, cell) & ~wanted).sum() == 0]
    found = walked(geometry, wanted, box)
    if found is None:
        assert not wins
        return
    (lower, upper), *_ = found
    assert all((lower <= cell).all() and (cell <= upper).all() for cell in wins)


def check_rows(geometry, wanted, box, leaves):
    """Hold the rows of some of the leaves that meet the box, or all, against every pair's boxes."""
    found = walked(geometry, wanted, box)
    if found is None:
        return 0
    cell_box, met, *_ = found
    words = (len(met) + 63) // 64
    leaf_at, root, bounds, lower, upper, bit_of, by_key, lists = row_table(
        geometry, met, np.arange(len(met)), words, cell_box
    )
    row = np.empty_like(root)
    start, feature, leaf_lower, leaf_upper = bounds
    for leaf in met[:leaves]:
        build_row(leaf, row, root, bounds, lower, upper, bit_of, by_key, lists)
        own = slice(start[leaf], start[leaf + 1])
        low, up = lower.copy(), upper.copy()
        low[feature[own]] = np.maximum(low[feature[own]], leaf_lower[own])
        up[feature[own]] = np.minimum(up[feature[own]], leaf_upper[own])
        bits = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
        assert set(leaf_at[bits]) == set(met[meet(geometry, low, up)[met]])
    return len(met)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_row_has_the_leaves_that_meet_a_leaf_in_the_box(small_forests, awkward_numbers, queries, data):
    geometry, wanted, box = draw_walk(data, small_forests, awkward_numbers, queries)
    check_rows(geometry, wanted, box, None)


def test_rows_of_long_lists_have_the_leaves_that_meet_a_leaf(realistic_forest):
    geometry = Geometry.of(realistic_forest)
    everything = np.ones(len(geometry.bounds.node), dtype=bool)
    features = realistic_forest.n_features
    generator = np.random.default_rng(5)
    for half in (0.2, 0.4, 2.0):
        centre = generator.uniform(0.3, 0.7, features)
        box = tuple(side.astype(np.float32) for side in (centre - half, centre + half))
        assert check_rows(geometry, everything, box, 60) > 64
