"""Forgery queries small enough for brute force, with every awkward trait: strategies and plain generators.

Thresholds collide in float32 and leave [0, 1], boxes do too; trees may be a single leaf, vote the same
everywhere, or leave features unused. Used by the engines' tests (hypothesis) and
`research/benchmarks/fuzz.py`
(numpy).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from wm.attacks.hardness import random_3cnf, to_forest
from wm.engines import ForgeryQuery
from wm.forest import Forest

_SINGLE = float(np.float32(0.1))  # a float32 number; 0.1 itself is not one
_LARGEST = float(np.finfo(np.float32).max)
_AWKWARD = (0.0, -0.0, 1.0, 0.5, 0.1, _SINGLE, 1e-45, 1e-60, -1e-60, -0.3, 1.7, _LARGEST, 1e300, -1e300)


def beside(value):
    """Yield a number and its neighbours in float64 and float32, where comparisons turn over."""
    yield value
    for side in (-np.inf, np.inf):
        yield float(np.nextafter(value, side))
        with np.errstate(over="ignore"):
            single = np.nextafter(np.float32(value), np.float32(side))
        if np.isfinite(single):
            yield float(single)


numbers = st.sampled_from(_AWKWARD) | st.floats(-0.5, 1.5)
near_misses = numbers.flatmap(lambda value: st.sampled_from(list(beside(value))))


def nested_trees(features, thresholds, n_classes, depth):
    """Trees as nested tuples: (feature, threshold, left, right), or a class column at a leaf."""
    leaf = st.integers(0, n_classes - 1)
    if depth == 0:
        return leaf
    below = nested_trees(features, thresholds, n_classes, depth - 1)
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
def small_forests(draw):
    """1-4 trees of depth 0-3 over 1-3 features; thresholds collide in float32 and leave [0, 1]."""
    n_features = draw(st.integers(1, 3))
    classes = draw(st.sampled_from([[0, 1], [-1, 1], ["no", "yes"], [0, 1, 2]]))
    pool = draw(st.lists(near_misses, min_size=1, max_size=4))
    thresholds = st.sampled_from([near for value in pool for near in beside(value)])
    features = st.integers(0, n_features - 1)
    tree = nested_trees(features, thresholds, len(classes), 3)
    trees = draw(st.lists(tree, min_size=1, max_size=4))
    return forest_of(trees, n_features=n_features, classes=classes)


@st.composite
def queries(draw, forest, number):
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


@dataclass(frozen=True)
class Case:
    """A forest, some queries to it, and which awkward traits it has.

    Attributes
    ----------
    planted
        For each query, a point of the domain that draws its votes; None where none was chosen.
    """

    forest: Forest
    queries: tuple[ForgeryQuery, ...]
    planted: tuple[np.ndarray | None, ...]

    def traits(self) -> set[str]:
        """Return the awkward traits of the forest and its thresholds."""
        forest = self.forest
        inner = ~forest.is_leaf
        votes = forest.value.argmax(axis=1)
        spans = list(zip(forest.offset[:-1], forest.offset[1:], strict=True))
        constant = [np.unique(votes[a:b][forest.is_leaf[a:b]]).size == 1 and b - a > 1 for a, b in spans]
        doubles = {*zip(forest.feature[inner].tolist(), forest.threshold[inner].tolist(), strict=True)}
        with np.errstate(over="ignore"):
            singles = {(feature, float(np.float32(threshold))) for feature, threshold in doubles}
        found = {
            "one-leaf tree": any(b - a == 1 for a, b in spans),
            "constant tree": any(constant),
            "unused feature": np.unique(forest.feature[inner]).size < forest.n_features,
            "thresholds equal in float32 only": len(singles) < len(doubles),
            "threshold outside [0, 1]": any(not 0 <= threshold <= 1 for _, threshold in doubles),
        }
        return {trait for trait, holds in found.items() if holds}


def drawn_number(rng: np.random.Generator, awkward_share: float = 0.3) -> float:
    """Draw a number as `near_misses` does."""
    awkward = rng.random() < awkward_share
    value = float(rng.choice(_AWKWARD)) if awkward else rng.uniform(-0.1, 1.1)
    near = list(beside(value))
    return near[rng.integers(len(near))]


def drawn_forest(rng: np.random.Generator) -> Forest:
    """Draw a forest of one of three kinds.

    As `small_forests`: 1-6 trees of depth 0-3 over 1-3 features, some constant. Entangled: 4-16 trees of
    depth 2-3 over 2-4 features, most thresholds inside [0, 1]. Formula: Theorem 1's forest of random 3-SAT
    with 4-7 variables near its transition. In the latter two wanted leaves contradict one another only
    jointly.
    """
    kind = rng.choice(["awkward", "entangled", "formula"], p=[0.4, 0.4, 0.2])
    if kind == "formula":
        variables = int(rng.integers(4, 8))
        formula = random_3cnf(variables, round(variables * rng.uniform(2.5, 6)), rng)
        return to_forest(formula, threshold=rng.choice([0.0, 0.1, 0.5]))
    kinds: list[list] = [[0, 1], [-1, 1], ["no", "yes"], [0, 1, 2]]
    classes = kinds[rng.integers(len(kinds))]
    entangled = kind == "entangled"
    n_features = int(rng.integers(2, 5) if entangled else rng.integers(1, 4))
    used = rng.permutation(n_features)[: rng.integers(1, n_features + 1)]
    # Few enough thresholds for brute force, some of them neighbours.
    crowded = 1 if entangled else int(rng.integers(1, 5))
    pool = [near for _ in range(crowded) for near in beside(drawn_number(rng, 0.1 if entangled else 0.4))]
    if entangled:
        pool += [drawn_number(rng, 0.1) for _ in range(3)]

    def grown(depth: int, constant: int | None):
        if depth == 0 or (not entangled and rng.random() < 0.15):
            return int(rng.integers(len(classes))) if constant is None else constant
        threshold = pool[rng.integers(len(pool))]
        below = [grown(depth - 1, constant) for _ in range(2)]
        return int(rng.choice(used)), threshold, *below

    trees = []
    for _ in range(rng.integers(4, 17) if entangled else rng.integers(1, 7)):
        constant = int(rng.integers(len(classes))) if not entangled and rng.random() < 0.1 else None
        trees.append(grown(int(rng.integers(2, 4) if entangled else rng.integers(0, 4)), constant))
    return forest_of(trees, n_features=n_features, classes=classes)


def drawn_query(rng: np.random.Generator, forest: Forest) -> tuple[ForgeryQuery, np.ndarray | None]:
    """Draw a query to a forest; half of them ask for votes that a point draws, most of them near that point.

    Of the others, half change one or two of such votes: few contradictions, which only a search finds.
    """
    label = forest.classes[rng.integers(len(forest.classes))]
    thresholds = forest.threshold[~forest.is_leaf]
    planted = rng.random(forest.n_features, dtype=np.float32)
    with np.errstate(over="ignore"):
        edges = np.float32([drawn_number(rng) for _ in planted])
    at_edge = rng.random(forest.n_features) < 0.3
    planted[at_edge] = edges[at_edge].clip(0, 1)
    signature = (forest.votes(planted[None])[0] != label).astype(int)
    kind = rng.choice(["planted", "changed", "random"], p=[0.5, 0.25, 0.25])
    if kind == "changed":
        changed = rng.integers(forest.n_trees, size=rng.integers(1, 3))
        signature[changed] = 1 - signature[changed]
    if kind == "random":
        unanimous = rng.random() < 0.3  # what Theorem 1 asks of a formula's forest
        signature = np.zeros(forest.n_trees) if unanimous else rng.integers(0, 2, forest.n_trees)
    if rng.random() < 0.5:
        centre = planted + rng.uniform(-0.3, 0.3, forest.n_features)
    else:
        centre = np.array([drawn_number(rng) for _ in range(forest.n_features)])
        for feature in range(forest.n_features):
            if len(thresholds) and rng.random() < 0.3:
                centre[feature] = rng.choice(thresholds)
    if rng.random() < 0.7:
        centre = centre.clip(0, 1)
    widths = [0.0, 1e-9, 0.1, 0.25, 0.5, 0.5, 1.0, 1.0, 1.0, 3.0, 1e300, *rng.random(4)]
    if len(thresholds):
        widths += [abs(float(rng.choice(thresholds)) - centre[rng.integers(len(centre))]) for _ in range(3)]
    eps = widths[rng.integers(len(widths))]
    query = ForgeryQuery(signature=signature, label=label, centre=centre, eps=eps)
    return query, planted if kind == "planted" else None


def drawn_case(rng: np.random.Generator, n_queries: int) -> Case:
    """Draw a forest and queries to it, which follow one another as a campaign's do: votes and boxes recur."""
    forest = drawn_forest(rng)
    drawn = [drawn_query(rng, forest)]
    while len(drawn) < n_queries:
        query, planted = drawn_query(rng, forest)
        if rng.random() < 0.4:  # the same votes in another box: what was learned of them may be carried over
            former, its_planted = drawn[rng.integers(len(drawn))]
            query = ForgeryQuery(
                signature=former.signature,
                label=former.label,
                centre=former.centre if rng.random() < 0.5 else query.centre,
                eps=query.eps,
            )
            planted = its_planted
        drawn.append((query, planted))
    return Case(forest, tuple(query for query, _ in drawn), tuple(planted for _, planted in drawn))
