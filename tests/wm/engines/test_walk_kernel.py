"""The walk down the trees and the compatibility rows, compared with the leaves' bounds."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.examples import examples
from tests.strategies import forgery_queries, small_forests
from wm.engines.box_search import Geometry, row_table
from wm.engines.encoding import query_box, wanted_leaves
from wm.engines.search_kernel import build_row
from wm.engines.walk_kernel import lay_out, shrink


def walked(geometry, wanted, box):
    """Return the shrunk box, the wanted leaves that meet it, where each tree's begin, and the open trees."""
    lower, upper = (geometry.cells.of(side) for side in box)
    met = np.empty(len(wanted), dtype=np.int64)
    met_start = np.empty(geometry.forest.n_trees + 1, dtype=np.int64)
    is_open = np.empty(geometry.forest.n_trees, dtype=np.bool_)
    if not shrink(lower, upper, wanted, geometry.cells.nodes, geometry.in_cells, met, met_start, is_open):
        return None
    return (lower, upper), met[: met_start[-1]], met_start, is_open


def meet(geometry, lower, upper):
    """Return which leaves meet a box of cells, one bound at a time."""
    bounds, cells = geometry.bounds, geometry.cells
    outside = (cells.lower > upper[bounds.feature]) | (cells.upper < lower[bounds.feature])
    return np.bincount(bounds.leaf[outside], minlength=len(bounds.node)) == 0


@examples(300)
@given(data=st.data())
def test_walks_and_rows_of_small_forests(data):
    forest = data.draw(small_forests())
    query = data.draw(forgery_queries(forest))
    box = query_box(query.centre, query.eps)
    assume((box[0] <= box[1]).all())
    geometry = Geometry.of(forest)
    wanted = wanted_leaves(forest, geometry.bounds, query)
    found = walked(geometry, wanted, box)
    check_shrinking(geometry, wanted, box, found)
    if found is not None:
        check_walk(geometry, wanted, found)
        check_rows(geometry, found, None)


def check_walk(geometry, wanted, found):
    """A walk meets the leaves that meet the box."""
    (lower, upper), met, met_start, is_open = found
    sizes, expected = np.diff(met_start), meet(geometry, lower, upper)
    tree = geometry.bounds.tree
    assert set(met) == set(np.flatnonzero(expected & wanted))
    assert len(set(met)) == len(met)
    np.testing.assert_array_equal(tree[met], np.repeat(np.arange(len(sizes)), sizes))
    assert set(np.flatnonzero(is_open)) == set(tree[expected & ~wanted])


def check_shrinking(geometry, wanted, box, found):
    """Shrinking keeps every cell with a witness."""
    first, last = (geometry.cells.of(side) for side in box)
    ranges = [np.arange(a, b + 1) for a, b in zip(first, last, strict=True)]
    cells = np.stack([axis.ravel() for axis in np.meshgrid(*ranges, indexing="ij")], axis=1)
    witnesses = [cell for cell in cells if (meet(geometry, cell, cell) & ~wanted).sum() == 0]
    if found is None:
        assert not witnesses
        return
    (lower, upper), *_ = found
    assert all((lower <= cell).all() and (cell <= upper).all() for cell in witnesses)


def check_bits(geometry, found, laid_out):
    """Each leaf of an open tree has a bit, in whole words of its tree, trees with more leaves first."""
    _, met, met_start, is_open = found
    bit_of, leaf_at, root, planes, sizes, bounds = laid_out
    mine = met[np.repeat(is_open, np.diff(met_start))]
    assert set(np.flatnonzero(bit_of >= 0)) == set(mine)
    np.testing.assert_array_equal(leaf_at[bit_of[mine]], mine)
    np.testing.assert_array_equal(np.unpackbits(root.view(np.uint8), bitorder="little") > 0, leaf_at >= 0)
    np.testing.assert_array_equal(sizes, np.sort(np.diff(met_start)[is_open])[::-1])
    start = geometry.bounds.start
    assert bounds == (start[mine + 1] - start[mine]).sum()
    assert len(root) == planes[-1] == ((sizes + 63) // 64).sum()
    place = np.concatenate([np.arange(planes[k + 1] - planes[k]) for k in range(len(planes) - 1)])
    trees = {(place[bit // 64], geometry.bounds.tree[leaf_at[bit]]) for bit in bit_of[mine]}
    assert len(trees) == len(sizes)


def check_rows(geometry, found, leaves):
    """The row of a leaf has the leaves that meet it in the box; checked for some of the leaves, or all."""
    cell_box, met, met_start, is_open = found
    if not is_open.any():
        return
    laid_out = lay_out(met, met_start, is_open, geometry.bounds.start)
    check_bits(geometry, found, laid_out)
    met = met[laid_out[0][met] >= 0]
    leaf_at, root, bounds, lower, upper, bit_of, by_key, lists = row_table(geometry, laid_out, cell_box)
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


def test_rows_of_long_lists_have_the_leaves_that_meet_a_leaf(realistic_forest):
    geometry = Geometry.of(realistic_forest)
    everything = np.ones(len(geometry.bounds.node), dtype=bool)
    features = realistic_forest.n_features
    generator = np.random.default_rng(5)
    for half in (0.2, 0.4, 2.0):
        centre = generator.uniform(0.3, 0.7, features)
        box = tuple(side.astype(np.float32) for side in (centre - half, centre + half))
        found = walked(geometry, everything, box)
        found[-1][:] = True  # trees without an unwanted leaf have no bits else
        assert len(found[1]) > 64
        check_rows(geometry, found, 60)
