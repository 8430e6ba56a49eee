"""Thresholds, boxes and witnesses against their exact definitions."""

from __future__ import annotations

import itertools
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.examples import examples
from tests.strategies import edge_numbers, small_forests
from wm.engines import ForgeryQuery
from wm.engines.encoding import (
    build_problem,
    distance,
    float32_at_least,
    float32_at_most,
    leaf_bounds,
    nearest_witness,
    next_above,
    next_below,
    query_box,
)
from wm.engines.walk_kernel import box_around
from wm.engines.z3_real import round_up
from wm.testing import forest_of

LARGEST = float(np.finfo(np.float32).max)
SMALLEST = float(np.finfo(np.float32).smallest_subnormal)

finite = st.floats(allow_nan=False, allow_infinity=False)
singles = st.floats(allow_nan=False, allow_infinity=False, width=32)
near_singles = singles.flatmap(
    lambda x: st.sampled_from([x, float(np.nextafter(x, -np.inf)), float(np.nextafter(x, np.inf))])
)
doubles = finite | near_singles | st.floats(-2 * SMALLEST, 2 * SMALLEST) | st.floats(LARGEST, 2 * LARGEST)


def exact(value):
    """Return a number as a Fraction, or as an infinite float; both compare exactly."""
    return Fraction(float(value)) if np.isfinite(value) else float(value)


def step(value, direction):
    with np.errstate(over="ignore"):
        return np.nextafter(np.float32(value), np.float32(direction * np.inf))


@given(value=doubles)
@example(value=-0.0)
@example(value=LARGEST)
@example(value=-LARGEST)
@example(value=sys.float_info.max)
@example(value=-sys.float_info.max)
@example(value=sys.float_info.min)
def test_float32_at_most_is_the_largest_float32_not_above(value):
    found = float32_at_most([value])
    assert found.dtype == np.float32
    assert exact(found[0]) <= Fraction(value)
    if found[0] < np.inf:
        assert exact(step(found[0], +1)) > Fraction(value)


@given(value=doubles)
@example(value=0.0)
@example(value=LARGEST)
@example(value=-LARGEST)
@example(value=sys.float_info.max)
@example(value=-sys.float_info.max)
def test_float32_at_least_is_the_smallest_float32_not_below(value):
    found = float32_at_least([value])
    assert found.dtype == np.float32
    assert exact(found[0]) >= Fraction(value)
    if found[0] > -np.inf:
        assert exact(step(found[0], -1)) < Fraction(value)


@given(single=st.floats(0, 1, width=32), tiny=st.sampled_from([0, 1, -1]), power=st.integers(20, 400))
@example(single=0.5, tiny=1, power=400)  # rounds to 1/2 in float64, yet is above it
@example(single=0.5, tiny=-1, power=400)
def test_a_rational_number_of_z3_is_rounded_upwards_exactly(single, tiny, power):
    # Z3 chooses the numbers of its models; such numbers cannot be requested from it.
    value = Fraction(single) + Fraction(tiny, 3**power)
    found = round_up(value)
    assert exact(found) >= value
    assert exact(step(found, -1)) < value


@given(threshold=doubles, x=singles | st.just(0.0))
def test_a_snapped_threshold_changes_no_comparison(threshold, x):
    snapped = float32_at_most([threshold])[0]
    for neighbour in (np.float32(x), snapped, step(snapped, +1), step(snapped, -1)):
        if np.isfinite(neighbour):
            assert (neighbour <= snapped) == (Fraction(float(neighbour)) <= Fraction(threshold))


def test_functions_keep_shapes_and_order():
    values = np.array([[0.1, -0.1, 2.0], [1e300, -1e300, 0.0]])
    assert float32_at_most(values).shape == values.shape
    assert (float32_at_most(values) <= float32_at_least(values)).all()


@given(value=singles)
def test_neighbours_have_nothing_between_them(value):
    x = np.array([value], dtype=np.float32)
    above, below = next_above(x), next_below(x)
    assert below < x < above
    assert next_below(above) == x == next_above(below)


@st.composite
def boxes(draw):
    """Draw centres and distances, many with an end of the box at or next to a float32 number."""
    z = draw(st.floats(-0.5, 1.5) | doubles)
    edge = draw(st.floats(0, 1, width=32) | st.sampled_from([0.0, 1.0]))
    near = st.sampled_from([edge, float(np.nextafter(edge, -1)), float(np.nextafter(edge, 2))])
    widths = st.floats(0, 1) | st.sampled_from([0.0, 1e-300, 1e-17, 0.1, 1e300]) | finite.map(abs)
    return z, draw(widths | st.just(abs(z - draw(near))))


def check_compiled(z, eps, lower, upper):
    """The compiled box is the same."""
    box, cells = np.empty((2, 1), dtype=np.float32), np.empty((2, 1), dtype=np.int32)
    thresholds, start = np.array([0.25, 0.5], dtype=np.float32), np.array([0, 2])
    is_full = box_around(np.array([z]), eps, thresholds, start, box, cells)
    assert np.array_equal(box, [lower, upper])
    assert is_full == (lower[0] <= upper[0])
    assert np.array_equal(cells, np.searchsorted(thresholds, box))


@examples(300)
@given(box=boxes())
@example(box=(0.75, 0.25 - 2.0**-55))  # z - eps rounds down to 1/2, which is outside
@example(box=(0.25, 0.25 - 2.0**-55))  # z + eps rounds up to 1/2, which is outside
@example(box=(1.0, 1e-17))
@example(box=(0.5 + 2.0**-30, 2.0**-30 + 2.0**-80))
@example(box=(0.1, 0.0))  # not a float32 number: nothing is within it
@example(box=(sys.float_info.max, sys.float_info.max))
@example(box=(-sys.float_info.max, sys.float_info.max))
@example(box=(2.0, 1.0))
@example(box=(-1.0, 1.0))
def test_query_box_holds_exactly_the_float32_numbers_within_reach(box):
    z, eps = box
    assume(np.isfinite(eps))
    lower, upper = query_box(np.array([z]), eps)
    assert lower.dtype == upper.dtype == np.float32
    check_compiled(z, eps, lower, upper)

    def within(x):
        return 0 <= x <= 1 and abs(Fraction(float(x)) - Fraction(z)) <= Fraction(eps)

    if lower[0] <= upper[0]:
        assert within(lower[0])
        assert within(upper[0])
        assert not within(step(lower[0], -1))
        assert not within(step(upper[0], +1))
    else:
        # The numbers nearest to the empty box are outside it.
        middle = np.float32(min(1.0, max(0.0, z)))
        assert not any(within(x) for x in (step(middle, -1), middle, step(middle, +1), 0.0, 1.0))


def test_query_box_treats_features_separately():
    lower, upper = query_box(np.array([0.5, -0.25, 1.25, 3.0]), 0.5)
    assert lower.tolist() == [0.0, 0.0, 0.75, 2.5]
    assert upper.tolist() == [1.0, 0.25, 1.0, 1.0]


def test_distance_is_the_largest_difference():
    witness = np.array([0.5, 0.25], dtype=np.float32)
    assert distance(witness, np.array([0.25, 0.375])) == 0.25
    assert distance(witness, witness.astype(np.float64)) == 0.0


def bounds_of_leaf(bounds, position):
    rows = slice(bounds.start[position], bounds.start[position + 1])
    assert (bounds.leaf[rows] == position).all()
    return bounds.feature[rows], bounds.lower[rows], bounds.upper[rows]


def contains(bounds, position, point):
    feature, lower, upper = bounds_of_leaf(bounds, position)
    return bool(((lower <= point[feature]) & (point[feature] <= upper)).all())


def draw_points(data, forest, number):
    """Draw points with many features at or next to a threshold."""
    near = [
        float(x)
        for threshold in forest.threshold
        for x in (np.float32(np.clip(threshold, -LARGEST, LARGEST)),)
        for x in (x, step(x, -1), step(x, +1))
        if np.isfinite(x)
    ]
    row = st.lists(
        st.sampled_from(near) | st.floats(-1, 2, width=32),
        min_size=forest.n_features,
        max_size=forest.n_features,
    )
    return np.array(data.draw(st.lists(row, min_size=number, max_size=number)), dtype=np.float32)


@examples(100)
@given(data=st.data())
def test_leaf_bounds_say_which_points_reach_a_leaf(data):
    forest = data.draw(small_forests())
    bounds = leaf_bounds(forest)
    assert set(bounds.node) <= set(np.flatnonzero(forest.is_leaf))
    assert [bounds.position[node] for node in bounds.node] == list(range(len(bounds.node)))
    assert np.array_equal(bounds.tree, forest.node_tree[bounds.node])
    assert np.array_equal(bounds.code, forest.node_class[bounds.node])
    for position in range(len(bounds.node)):
        feature, lower, upper = bounds_of_leaf(bounds, position)
        assert (np.diff(feature) > 0).all()
        assert (lower <= upper).all()
    for point in draw_points(data, forest, 8):
        reached = set(forest.apply(point[None])[0])
        assert reached == {
            node for position, node in enumerate(bounds.node) if contains(bounds, position, point)
        }


@examples(60)
@given(data=st.data())
def test_every_leaf_with_bounds_is_reached_from_its_corners(data):
    forest = data.draw(small_forests())
    bounds = leaf_bounds(forest)
    for position, node in enumerate(bounds.node):
        feature, lower, upper = bounds_of_leaf(bounds, position)
        if (lower == np.inf).any() or (upper == -np.inf).any():
            continue  # beyond all float32 numbers: no instance is there
        for corner in (lower, upper):
            point = np.zeros(forest.n_features, dtype=np.float32)
            point[feature] = np.clip(corner, -LARGEST, LARGEST)
            assert node in forest.apply(point[None])[0]


@pytest.mark.parametrize("threshold", [1e300, -1e300, LARGEST, -LARGEST])
def test_thresholds_beyond_float32_are_handled(threshold):
    forest = forest_of([(0, threshold, 0, 1)], n_features=1, classes=[0, 1])
    bounds = leaf_bounds(forest)
    box = np.zeros(1, dtype=np.float32), np.ones(1, dtype=np.float32)
    reached = forest.apply([[0.5]])[0]
    assert bounds.node[bounds.meets(*box)].tolist() == reached.tolist()


def test_contradicting_paths_have_no_leaf():
    # x0 <= .2 and then x0 > .7; the two thresholds of the second tree are one number in float32.
    single = float(np.float32(0.3))
    collides = float(np.nextafter(single, 1))
    forest = forest_of(
        [(0, 0.2, (0, 0.7, 0, 1), 1), (0, single, 0, (0, collides, 1, 0))], n_features=1, classes=[0, 1]
    )
    bounds = leaf_bounds(forest)
    assert len(bounds.node) == 4
    assert np.bincount(bounds.tree).tolist() == [2, 2]


@examples(60)
@given(data=st.data())
def test_a_problem_has_the_leaves_that_the_box_meets(data):
    forest = data.draw(small_forests())
    bounds = leaf_bounds(forest)
    query = draw_query(data, forest, edge_numbers())
    problem = build_problem(forest, bounds, query)
    is_empty = bool((problem.lower > problem.upper).any())
    assert (problem.trivial_reason == "empty box") == is_empty
    if is_empty:
        assert not problem.wanted.any()
        assert not problem.unwanted.any()
        return
    meets = problem.wanted | problem.unwanted
    for position, node in enumerate(bounds.node):
        feature, lower, upper = bounds_of_leaf(bounds, position)
        low, high = problem.lower.copy(), problem.upper.copy()
        low[feature], high[feature] = np.maximum(low[feature], lower), np.minimum(high[feature], upper)
        assert meets[position] == bool((low <= high).all())
        says_label = forest.classes[forest.node_class[node]] == query.label
        wanted = says_label == (query.signature[forest.node_tree[node]] == 0)
        assert problem.wanted[position] == (meets[position] and wanted)
        assert problem.unwanted[position] == (meets[position] and not wanted)
    trees = set(range(forest.n_trees))
    assert (problem.trivial_reason == "no leaf") == (set(bounds.tree[problem.wanted]) != trees)


def draw_query(data, forest, number):
    centre = data.draw(st.lists(number, min_size=forest.n_features, max_size=forest.n_features))
    eps = data.draw(st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0]) | st.floats(0, 1))
    bits = data.draw(st.lists(st.integers(0, 1), min_size=forest.n_trees, max_size=forest.n_trees))
    label = data.draw(st.sampled_from(forest.classes.tolist()))
    return ForgeryQuery(signature=bits, label=label, centre=centre, eps=eps)


@examples(100)
@given(data=st.data())
def test_the_nearest_witness_is_the_nearest_of_its_cell(data):
    forest = data.draw(small_forests())
    query = draw_query(data, forest, edge_numbers())
    lower, upper = query_box(query.centre, query.eps)
    assume((lower <= upper).all())
    bounds = leaf_bounds(forest)
    ends = zip(lower.tolist(), upper.tolist(), strict=True)
    point = np.array([data.draw(st.floats(*pair, width=32)) for pair in ends], dtype=np.float32)
    before = lower.copy(), upper.copy(), point.copy()
    witness = nearest_witness(forest, bounds, point, query)
    assert np.array_equal(point, before[2])
    assert witness.dtype == np.float32
    assert ((lower <= witness) & (witness <= upper)).all()
    leaves = forest.apply(point[None])
    assert np.array_equal(forest.apply(witness[None]), leaves)

    # In every feature one float32 step towards the centre is no nearer, or leaves the box or a leaf.
    for feature, direction in itertools.product(range(forest.n_features), (-1, 1)):
        other = witness.copy()
        other[feature] = step(other[feature], direction)
        z = Fraction(float(query.centre[feature]))
        nearer = abs(Fraction(float(other[feature])) - z) < abs(Fraction(float(witness[feature])) - z)
        if nearer and lower[feature] <= other[feature] <= upper[feature]:
            assert not np.array_equal(forest.apply(other[None]), leaves)


def test_the_nearest_witness_of_a_cell_that_holds_the_centre_is_the_centre(figure_1):
    centre = np.array([0.4, 0.25, 0.5], dtype=np.float32)
    query = ForgeryQuery(signature=[0, 1], label=1, centre=centre, eps=0.2)
    far = np.array([0.5, 0.3 - 1e-6, 0.55], dtype=np.float32)
    assert np.array_equal(figure_1.apply(far[None]), figure_1.apply(centre[None]))
    assert np.array_equal(nearest_witness(figure_1, leaf_bounds(figure_1), far, query), centre)
