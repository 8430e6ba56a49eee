"""Small forests with every awkward trait, and hard ones."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import minmax_scale

from wm.engines import ForgeryQuery
from wm.forest import Forest
from wm.hardness import Formula, to_forest

_SINGLE = float(np.float32(0.1))  # a float32 number; 0.1 itself is not one
_LARGEST = float(np.finfo(np.float32).max)
_AWKWARD = (0.0, -0.0, 1.0, 0.5, 0.1, _SINGLE, 1e-45, 1e-60, -1e-60, -0.3, 1.7, _LARGEST, 1e300, -1e300)


def _beside(value):
    """Yield a number and its neighbours in float64 and float32, where comparisons turn over."""
    yield value
    for side in (-np.inf, np.inf):
        yield float(np.nextafter(value, side))
        with np.errstate(over="ignore"):
            single = np.nextafter(np.float32(value), np.float32(side))
        if np.isfinite(single):
            yield float(single)


numbers = st.sampled_from(_AWKWARD) | st.floats(-0.5, 1.5)
near_misses = numbers.flatmap(lambda value: st.sampled_from(list(_beside(value))))


def _trees(features, thresholds, n_classes, depth):
    """Trees as nested tuples: (feature, threshold, left, right), or a class column at a leaf."""
    leaf = st.integers(0, n_classes - 1)
    if depth == 0:
        return leaf
    below = _trees(features, thresholds, n_classes, depth - 1)
    return leaf | st.tuples(features, thresholds, below, below)


def _flatten(tree, n_classes, nodes):
    """Append a nested tree's nodes in depth-first order, as scikit-learn numbers them; return its index."""
    index = len(nodes)
    if isinstance(tree, int):
        nodes.append((-1, -1, -1, 0.0, np.eye(n_classes)[tree]))
        return index
    feature, threshold, left, right = tree
    nodes.append(None)
    children = _flatten(left, n_classes, nodes), _flatten(right, n_classes, nodes)
    nodes[index] = (*children, feature, threshold, np.full(n_classes, 1 / n_classes))
    return index


def forest_of(trees, *, n_features, classes):
    """Return the forest of nested trees."""
    nodes, offset = [], [0]
    for tree in trees:
        own = []
        _flatten(tree, len(classes), own)
        nodes += own
        offset.append(len(nodes))
    left, right, feature, threshold, value = zip(*nodes, strict=True)
    return Forest.from_arrays(
        offset=offset,
        left=left,
        right=right,
        feature=feature,
        threshold=threshold,
        value=np.array(value),
        n_features=n_features,
        classes=classes,
    )


@st.composite
def _small_forests(draw):
    """1-4 trees of depth 0-3 over 1-3 features; thresholds collide in float32 and leave [0, 1]."""
    n_features = draw(st.integers(1, 3))
    classes = draw(st.sampled_from([[0, 1], [-1, 1], ["no", "yes"], [0, 1, 2]]))
    pool = draw(st.lists(near_misses, min_size=1, max_size=4))
    thresholds = st.sampled_from([beside for value in pool for beside in _beside(value)])
    features = st.integers(0, n_features - 1)
    tree = _trees(features, thresholds, len(classes), 3)
    trees = draw(st.lists(tree, min_size=1, max_size=4))
    return forest_of(trees, n_features=n_features, classes=classes)


@st.composite
def _queries(draw, forest, number):
    """Any query to a forest: half of them ask for votes that some point of the domain does draw."""
    label = draw(st.sampled_from(forest.classes.tolist()))
    thresholds = forest.threshold[~forest.is_leaf].tolist()
    if thresholds:
        number = number | st.sampled_from(thresholds)
    if draw(st.booleans()):
        point = draw(
            st.lists(st.floats(0, 1, width=32), min_size=forest.n_features, max_size=forest.n_features)
        )
        signature = (forest.votes([point])[0] != label).astype(int)
    else:
        signature = draw(st.lists(st.integers(0, 1), min_size=forest.n_trees, max_size=forest.n_trees))
    centre = draw(st.lists(number, min_size=forest.n_features, max_size=forest.n_features))
    widths = st.sampled_from([0.0, 1e-9, 0.1, 0.25, 0.5, 1.0, 3.0, 1e300]) | st.floats(0, 1)
    edges = [abs(z - threshold) for z in centre for threshold in thresholds]
    eps = draw(widths | st.sampled_from(edges) if edges else widths)
    return ForgeryQuery(signature=signature, label=label, centre=centre, eps=eps)


@pytest.fixture(scope="session")
def build_forest():
    """`forest_of`: a forest from nested (feature, threshold, left, right) and class columns at leaves."""
    return forest_of


@pytest.fixture(scope="session")
def small_forests():
    """A strategy for forests small enough for brute force."""
    return _small_forests()


@pytest.fixture(scope="session")
def awkward_numbers():
    """A strategy for numbers at and beside the thresholds of `small_forests`, within and outside [0, 1]."""
    return near_misses


@pytest.fixture(scope="session")
def queries():
    """Make a strategy for queries to a forest: ``queries(forest, numbers)``."""
    return _queries


@pytest.fixture(scope="session")
def figure_1(build_forest):
    """The paper's worked example, its thresholds 1..7 scaled by 1/10 into the domain [0, 1]."""
    minus, plus = 0, 1
    return build_forest(
        [
            (0, 0.5, (1, 0.3, plus, minus), (2, 0.7, minus, plus)),
            (0, 0.2, (1, 0.4, plus, minus), (2, 0.6, minus, plus)),
        ],
        n_features=3,
        classes=[-1, 1],
    )


@pytest.fixture(scope="session")
def hopelessly_slow():
    """A forest whose query (+1, all bits 0, whole domain) has no answer that resolution finds in an hour.

    The pigeonhole principle: 16 pigeons do not fit into 15 holes; every resolution proof is exponential.
    """
    pigeons, holes = range(16), range(15)

    def sits(pigeon, hole):
        return 1 + pigeon * len(holes) + hole

    clauses = [tuple(sits(pigeon, hole) for hole in holes) for pigeon in pigeons]
    clauses += [
        (-sits(one, hole), -sits(other, hole))
        for hole in holes
        for one, other in itertools.combinations(pigeons, 2)
    ]
    return to_forest(Formula(len(pigeons) * len(holes), tuple(clauses)), threshold=0.5)


@pytest.fixture(scope="session")
def realistic_forest():
    X, y = load_breast_cancer(return_X_y=True)
    model = RandomForestClassifier(n_estimators=16, max_depth=5, bootstrap=False, random_state=3)
    return Forest.from_sklearn(model.fit(minmax_scale(X), y))


@pytest.fixture(scope="session")
def many_queries(realistic_forest):
    """Queries of which some are forged, for votes that some point draws, and some are not."""
    rng = np.random.default_rng(7)
    drawn = []
    for number in range(12):
        point = rng.random(30)
        votes = realistic_forest.votes(point[None])[0]
        drawn.append(
            ForgeryQuery(
                signature=votes != 1 if number % 3 else rng.integers(0, 2, 16),
                label=1,
                centre=(point + rng.uniform(-0.4, 0.4, 30)).clip(0, 1),
                eps=0.5,
            )
        )
    return drawn
