"""Arrays that are no forest are refused with the tree and node at fault."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from wm.errors import ModelError
from wm.forest import Forest
from wm.formats import forest_checks

# Two trees: a lone leaf; a root with a leaf on its left and, on its right, a node with two leaves.
ARRAYS = {
    "offset": [0, 1, 6],
    "left": [-1, 1, -1, 3, -1, -1],
    "right": [-1, 2, -1, 4, -1, -1],
    "feature": [-1, 0, -1, 1, -1, -1],
    "threshold": [0.0, 0.5, 0.0, 0.25, 0.0, 0.0],
    "value": [[1, 0], [1, 1], [0, 1], [1, 1], [1, 0], [0, 1]],
    "n_features": 2,
    "classes": [0, 1],
}


def changed(name, index, value):
    array = np.array(ARRAYS[name])
    if isinstance(value, float):
        array = array.astype(float)
    array[index] = value
    return {name: array}


def children(left, right):
    return {"left": left, "right": right}


def test_the_example_is_a_forest():
    forest = Forest.from_arrays(**ARRAYS)
    assert forest.votes([[0, 0], [1, 0], [1, 1]]).tolist() == [[0, 1], [0, 0], [0, 1]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        # children
        (
            children([-1, 1, -1, 0, -1, -1], ARRAYS["right"]),
            "tree 1, node 0: more than one parent, or a root",
        ),
        (
            children([-1, 0, -1, 3, -1, -1], ARRAYS["right"]),
            "tree 1, node 0: more than one parent, or a root",
        ),
        (children([-1, 1, -1, 2, -1, -1], ARRAYS["right"]), "tree 1, node 2: more than one parent"),
        (children([-1, 1, -1, 3, -1, -1], [-1, 1, -1, 4, -1, -1]), "tree 1, node 1: more than one parent"),
        (children([-1, 1, -1, 1, -1, -1], ARRAYS["right"]), "tree 1, node 1: more than one parent"),
        (children([-1, 1, -1, 3, -1, -1], [-1, 3, -1, 2, -1, -1]), "more than one parent"),
        # A node that is its own child, reached from nowhere else: no parent too many, but no way in.
        (children([-1, 1, -1, 2, -1, -1], [-1, 3, -1, 4, -1, -1]), "tree 1, node 2: no path from the root"),
        (children([-1, -1, -1, 3, -1, -1], [-1, -1, -1, 4, -1, -1]), "no path from the root leads there"),
        (children([-1, 1, -1, 5, -1, -1], ARRAYS["right"]), "tree 1, node 2: a child index outside its tree"),
        (children([-1, 1, -1, 2**31 - 1, -1, -1], ARRAYS["right"]), "a child index outside its tree"),
        (
            children([-1, 1, -1, 2**31, -1, -1], ARRAYS["right"]),
            "left holds a number that does not fit int32",
        ),
        (children([-1, 1, -1, -2, -1, -1], ARRAYS["right"]), "tree 1, node 2: a child index below -1"),
        (children(ARRAYS["left"], [-1, 2, -7, 4, -1, -1]), "tree 1, node 1: a child index below -1"),
        (children([1, 1, -1, 3, -1, -1], ARRAYS["right"]), "tree 0, node 0: only one child"),
        (children(ARRAYS["left"], [-1, 2, -1, -1, -1, -1]), "tree 1, node 2: only one child"),
        # features, thresholds, values
        (changed("feature", 1, 2), "tree 1, node 0: a feature index out of range"),
        (changed("feature", 3, -1), "tree 1, node 2: a feature index out of range"),
        (changed("threshold", 3, float("nan")), "tree 1, node 2: a threshold that is not a finite number"),
        (changed("threshold", 1, float("inf")), "tree 1, node 0: a threshold that is not a finite number"),
        (changed("value", (0, 1), float("nan")), "tree 0, node 0: class values that are not finite"),
        (changed("value", (2, 0), float("inf")), "tree 1, node 1: class values that are not finite"),
        (changed("value", (2, 0), -1.0), "tree 1, node 1: class values that are not finite, or negative"),
        (
            changed("value", 2, 0),
            "tree 1, node 1: class values that are not finite, or negative, or all zero",
        ),
        (changed("value", 2, 1e308), "tree 1, node 1: class values that are not finite"),
        ({"value": [[np.inf, -np.inf]] * 6}, "tree 0, node 0: class values that are not finite"),
        # offsets
        ({"offset": [0]}, "the forest has no tree"),
        ({"offset": []}, "offset must be a one-dimensional array of whole numbers"),
        ({"offset": [1, 6]}, "offset runs from 1 to 6, not from 0 to 6"),
        ({"offset": [0, 1, 5]}, "offset runs from 0 to 5, not from 0 to 6"),
        ({"offset": [0, 1, 1, 6]}, "tree 1 has no node"),
        ({"offset": [0, 7, 6]}, "tree 1 has no node"),
        ({"offset": [0, -1, 6]}, "tree 0 has no node"),
        ({"offset": [0, 2**63 - 1, -2, 6]}, "tree 1 has no node"),
        (
            {"offset": np.array([0, 2**64 - 1], dtype=np.uint64)},
            "offset holds a number that does not fit int64",
        ),
        # shapes and types
        ({"left": [-1, 1, -1]}, "right has 6 nodes, left has 3"),
        ({"threshold": [0.0] * 5}, "threshold has 5 nodes, left has 6"),
        ({"value": [[1, 1]] * 7}, "value has 7 nodes, left has 6"),
        ({"value": [[1, 1, 1]] * 6}, "value has 3 columns for 2 classes"),
        ({"value": [1] * 6}, "value must be a 2-dimensional array of numbers"),
        ({"value": [["1", "2"]] * 6}, "value must be a 2-dimensional array of numbers"),
        ({"threshold": [[0.0]] * 6}, "threshold must be a 1-dimensional array of numbers"),
        ({"threshold": np.zeros(6, dtype=complex)}, "threshold must be a 1-dimensional array of numbers"),
        (
            {"threshold": np.array([0.0] * 6, dtype=object)},
            "threshold must be a 1-dimensional array of numbers",
        ),
        ({"threshold": np.array([0, "1e4000", 0, 1, 0, 0], dtype=np.longdouble)}, "a threshold that is not"),
        ({"left": [[-1]] * 6}, "left must be a one-dimensional array of whole numbers"),
        ({"left": [-1.0] * 6}, "left must be a one-dimensional array of whole numbers"),
        ({"left": 3}, "left must be a one-dimensional array of whole numbers"),
        ({"right": np.array([-1, 2, -1, 4, -1, -1], dtype=object)}, "right must be a one-dimensional array"),
        ({"feature": [[0], [0, 1]]}, "feature .* differ in length"),
        ({"value": [[1, 0], [1]]}, "value .* differ in length"),
        # classes and number of features
        ({"classes": []}, "classes must be a one-dimensional array of numbers or strings"),
        ({"classes": 1}, "classes must be a one-dimensional array of numbers or strings"),
        ({"classes": [[0, 1]]}, "classes must be a one-dimensional array of numbers or strings"),
        ({"classes": [None, 1]}, "classes must be a one-dimensional array of numbers or strings"),
        ({"classes": np.zeros((2**50, 0))}, "classes must be a one-dimensional array of numbers or strings"),
        ({"classes": [[0], [0, 1]]}, "classes .* differ in length"),
        ({"classes": [1, 0]}, "classes must be distinct and ascending"),
        ({"classes": [1, 1]}, "classes must be distinct and ascending"),
        ({"classes": ["b", "a"]}, "classes must be distinct and ascending"),
        ({"classes": [0.0, np.nan]}, "classes holds a value that is not finite"),
        ({"n_features": 0}, "n_features is 0"),
        ({"n_features": -3}, "n_features is -3"),
        ({"n_features": True}, "n_features is True"),
        ({"n_features": 2.5}, r"n_features is 2\.5"),
        ({"n_features": "2"}, "n_features is '2'"),
        ({"n_features": 1}, "tree 1, node 2: a feature index out of range"),
    ],
)
def test_what_is_no_forest_is_refused(change, message):
    with pytest.raises(ModelError, match=message) as caught:
        Forest.from_arrays(**ARRAYS | change)
    assert "\n" not in str(caught.value)


def is_tree(left, right):
    """Whether the nodes form one tree with root 0, found by walking; leaves have -1 twice."""
    seen, waiting = set(), [0]
    while waiting:
        node = waiting.pop()
        if node in seen:
            return False
        seen.add(node)
        if (left[node] < 0) != (right[node] < 0):
            return False
        if left[node] >= 0:
            if max(left[node], right[node]) >= len(left):
                return False
            waiting += [left[node], right[node]]
    return len(seen) == len(left)


@st.composite
def node_lists(draw):
    """Children of 1, 3 or 5 nodes: trees, and graphs one or two edits away from a tree."""
    size = draw(st.sampled_from([1, 3, 5]))
    left, right = [-1] * size, [-1] * size
    free = list(range(1, size))
    growing = [0]
    while free:
        node = growing.pop(draw(st.integers(0, len(growing) - 1)))
        pair = [free.pop(draw(st.integers(0, len(free) - 1))) for _ in range(2)]
        left[node], right[node] = pair
        growing += pair
    for _ in range(draw(st.integers(0, 2))):
        side = draw(st.sampled_from([left, right]))
        side[draw(st.integers(0, size - 1))] = draw(st.integers(-1, size))
    return left, right


@given(node_lists())
def test_exactly_the_trees_are_accepted(nodes):
    left, right = nodes
    size = len(left)
    arrays = {
        "offset": [0, size],
        "left": left,
        "right": right,
        "feature": [0] * size,
        "threshold": [0.0] * size,
        "value": [[1.0]] * size,
        "n_features": 1,
        "classes": [0],
    }
    if not is_tree(left, right):
        with pytest.raises(ModelError):
            Forest.from_arrays(**arrays)
        return
    forest = Forest.from_arrays(**arrays)
    assert forest.is_leaf.tolist() == [child < 0 for child in left]
    assert forest.tree_leaves.tolist() == [(size + 1) // 2]


def test_a_chain_of_many_nodes_is_a_tree():
    inner = np.arange(0, 4000, 2)
    left, right = np.full(4001, -1), np.full(4001, -1)
    left[inner], right[inner] = inner + 1, inner + 2
    forest = Forest.from_arrays(
        offset=[0, 4001],
        left=left,
        right=right,
        feature=np.zeros(4001, dtype=int),
        threshold=np.arange(4001) / 2,
        value=np.stack([np.arange(4001) % 2, np.ones(4001)], axis=1),
        n_features=1,
        classes=[0, 1],
    )
    assert forest.tree_depths.tolist() == [2000]
    assert forest.tree_leaves.tolist() == [2001]
    # Left at the first threshold not below x: node 2x holds threshold x, its leaf is node 2x + 1.
    assert forest.apply([[-1.0], [0.0], [0.5], [1999.0], [5000.0]])[:, 0].tolist() == [1, 1, 3, 3999, 4000]


def follows_every_parent_to_a_root(left, right, sizes):
    """Return, by the definition, whether children within trees of some sizes form trees."""
    start = 0
    for size in sizes:
        found, open_ = [], [0]
        while open_ and len(found) <= size:
            node = open_.pop()
            found.append(node)
            open_ += [side[start + node] for side in (left, right) if side[start + node] >= 0]
        if sorted(found) != list(range(size)):
            return False
        start += size
    return True


@given(st.data())
def test_blocks_of_any_size_tell_trees_from_other_graphs(data):
    sizes = data.draw(st.lists(st.sampled_from([1, 3, 5]), min_size=1, max_size=4))
    left, right = [], []
    for size in sizes:
        # Each node but the root once, in any order; then perhaps a fault.
        order = data.draw(st.permutations(range(1, size)))
        parents = data.draw(st.permutations(range(size)))[: size // 2]
        sides = np.full((2, size), -1)
        sides[:, parents] = np.array(order, dtype=int).reshape(2, -1)
        if parents and data.draw(st.booleans()):
            sides[data.draw(st.integers(0, 1)), parents[0]] = data.draw(st.integers(0, size - 1))
        left += sides[0].tolist()
        right += sides[1].tolist()
    nodes = sum(sizes)
    arrays = {
        "offset": np.cumsum([0, *sizes]),
        "left": left,
        "right": right,
        "feature": [0] * nodes,
        "threshold": [0.5] * nodes,
        "value": [[1, 0]] * nodes,
    }
    expected = follows_every_parent_to_a_root(left, right, sizes)
    for block in (1, 4, 2**17):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(forest_checks, "_BLOCK_NODES", block)
            try:
                Forest.from_arrays(**arrays, n_features=1, classes=[0, 1])
                accepted = True
            except ModelError:
                accepted = False
        assert accepted == expected


def test_arrays_that_are_given_away_are_kept_and_others_copied():
    given_away = {
        name: np.array(ARRAYS[name], dtype=kind) for name, kind in (("left", "i4"), ("value", "f8"))
    }
    kept = Forest.from_arrays(**ARRAYS | given_away, copy=False)
    assert all(np.shares_memory(getattr(kept, name), array) for name, array in given_away.items())
    copied = Forest.from_arrays(**ARRAYS | given_away)
    assert not any(np.shares_memory(getattr(copied, name), array) for name, array in given_away.items())
    locked = np.array([3, 0, -1, 1, -1, -1], dtype=np.int32)  # a feature at a leaf, which is not canonical
    locked.setflags(write=False)
    assert Forest.from_arrays(**ARRAYS | {"feature": locked}, copy=False).feature[0] == -1
    assert locked[0] == 3


@given(hnp.arrays(np.float64, st.tuples(st.just(6), st.integers(2, 4)), elements=st.integers(0, 2)))
def test_a_node_votes_for_the_first_largest_value(value):
    value = value + (value.sum(axis=1, keepdims=True) == 0)  # all 0 is refused
    forest = Forest.from_arrays(**ARRAYS | {"value": value, "classes": range(value.shape[1])})
    assert forest.node_class.tolist() == np.argmax(value, axis=1).tolist()
