"""Small forests, queries to them and the right answers, for tests and benchmarks of engines and attacks.

The reference is `forgeable`, which tries all cells that a box meets, in exact arithmetic: slow, simple and
right. The cases include thresholds that are equal in float32, thresholds and boxes outside [0, 1], single
leaves, constant trees and unused features.

>>> import numpy as np
>>> from wm.engines import solver_class
>>> case = random_case(np.random.default_rng(1), n_queries=4)
>>> solver = solver_class("sat")(case.forest)
>>> all((solver.answer(query).witness is not None) == forgeable(case.forest, query) for query in case.queries)
True
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wm.attacks.hardness import random_3cnf, to_forest
from wm.engines import ForgeryQuery
from wm.forest import Forest

NestedTree = int | tuple[int, float, Any, Any]
"""A class column for a leaf; feature, threshold, left and right subtree for an inner node."""

_SINGLE = float(np.float32(0.1))  # 0.1 itself is not a float32 number
_LARGEST = float(np.finfo(np.float32).max)
EDGE_NUMBERS = (0.0, -0.0, 1.0, 0.5, 0.1, _SINGLE, 1e-45, 1e-60, -1e-60, -0.3, 1.7, _LARGEST, 1e300, -1e300)
"""Numbers at or next to which comparisons change."""

CLASSES: tuple[list[Any], ...] = ([0, 1], [-1, 1], ["no", "yes"], [0, 1, 2])


def in_box(point: ArrayLike, centre: ArrayLike, eps: float) -> bool:
    """Return whether a point lies in [0, 1] and at most `eps` from a centre, in exact arithmetic."""
    return all(
        0 <= x <= 1 and abs(Fraction(float(x)) - Fraction(float(z))) <= Fraction(eps)
        for x, z in zip(np.asarray(point), np.asarray(centre), strict=True)
    )


def wanted_votes(forest: Forest, points: ArrayLike, query: ForgeryQuery) -> NDArray[np.bool_]:
    """Return which of some points, (n, d), draw exactly the votes that a query wants: (n,)."""
    is_label = forest.votes(points) == query.label
    found: NDArray[np.bool_] = (is_label == (query.signature == 0)).all(axis=1)
    return found


def forgeable(forest: Forest, query: ForgeryQuery) -> bool:
    """Return whether a query can be forged, by trying one point of every combination of cells.

    Only for small forests: each feature has one more cell than thresholds in the box.
    """
    points = list(itertools.product(*_cells(forest, query.centre, query.eps)))
    return bool(points) and bool(wanted_votes(forest, np.array(points, dtype=np.float32), query).any())


def _cells(forest: Forest, centre: ArrayLike, eps: float) -> Iterator[list[np.float32]]:
    """Yield for each feature the smallest float32 of each cell in the box.

    The thresholds of a feature cut its axis into cells. The smallest float32 of a cell is the first one above
    its lower threshold, or the lower end of the box.
    """
    for feature, z in enumerate(np.asarray(centre)):
        lowest = _smallest_in_box(z, eps)
        if lowest is None:
            yield []
            continue
        points = {lowest}
        for threshold in forest.threshold[forest.feature == feature]:
            if not lowest <= threshold <= 1:
                continue
            above = np.float32(threshold)
            if not float(above) > threshold:
                above = np.nextafter(above, np.float32(2))
            if in_box([above], [z], eps):
                points.add(above)
        yield sorted(points)


def _smallest_in_box(z: float, eps: float) -> np.float32 | None:
    """Return the smallest float32 in [0, 1] at a distance of at most eps from z; None if there is none."""
    bound = max(Fraction(0), Fraction(float(z)) - Fraction(eps))
    if bound > 1:
        return None
    x = np.float32(float(bound))
    while Fraction(float(x)) < bound:
        x = np.nextafter(x, np.float32(2))
    while x > 0 and Fraction(float(np.nextafter(x, np.float32(-1)))) >= bound:
        x = np.nextafter(x, np.float32(-1))
    return x if in_box([x], [z], eps) else None


def forest_of(trees: Sequence[NestedTree], *, n_features: int, classes: Sequence[Any]) -> Forest:
    """Return the forest of nested trees, with nodes numbered depth first as in scikit-learn.

    >>> forest = forest_of([(0, 0.5, 0, (1, 0.25, 1, 0))], n_features=2, classes=[-1, 1])
    >>> forest.votes([[0.75, 0.125]]).tolist()
    [[1]]
    """
    parts: list[list[Any]] = [[] for _ in trees]
    for tree, part in zip(trees, parts, strict=True):
        _flatten(tree, len(classes), part)
    left, right, feature, threshold, value = zip(*itertools.chain(*parts), strict=True)
    return Forest.from_arrays(
        offset=np.cumsum([0, *map(len, parts)]),
        left=left,
        right=right,
        feature=feature,
        threshold=threshold,
        value=np.array(value),
        n_features=n_features,
        classes=classes,
    )


def _flatten(tree: NestedTree, n_classes: int, nodes: list[Any]) -> int:
    """Append a nested tree's nodes in depth-first order; return its index."""
    index = len(nodes)
    if isinstance(tree, int):
        nodes.append((-1, -1, -1, 0.0, np.eye(n_classes)[tree]))
        return index
    feature, threshold, left, right = tree
    nodes.append(None)
    children = _flatten(left, n_classes, nodes), _flatten(right, n_classes, nodes)
    nodes[index] = (*children, feature, threshold, np.full(n_classes, 1 / n_classes))
    return index


@dataclass(frozen=True)
class ForgeryCase:
    """A forest and some queries to it."""

    forest: Forest
    queries: tuple[ForgeryQuery, ...]
    planted: tuple[NDArray[np.float32] | None, ...]
    """For each query, a point of the domain that draws its votes; None if the votes were drawn otherwise."""

    def traits(self) -> set[str]:
        """Return which special traits the forest and its thresholds have."""
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


def neighbours(value: float) -> Iterator[float]:
    """Yield a number and its neighbours in float64 and float32, where comparisons change."""
    yield value
    for side in (-np.inf, np.inf):
        yield float(np.nextafter(value, side))
        with np.errstate(over="ignore"):
            single = np.nextafter(np.float32(value), np.float32(side))
        if np.isfinite(single):
            yield float(single)


def on_thresholds(forest: Forest, X: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return rows that lie on thresholds and one ulp to either side of them.

    For each test of the forest, rows of X with its feature set to the threshold and to its neighbours, in
    float64 and in float32.
    """
    rows = np.asarray(X, dtype=np.float64)
    inner = np.flatnonzero(~forest.is_leaf)
    sides = np.array([list(_neighbours_of(value)) for value in forest.threshold[inner]])
    found = rows[rng.integers(len(rows), size=(len(inner), sides.shape[1]))]
    found[np.arange(len(inner))[:, None], np.arange(sides.shape[1]), forest.feature[inner][:, None]] = sides
    return found.reshape(-1, rows.shape[1])


def _neighbours_of(value: float) -> Iterator[float]:
    if abs(value) > _LARGEST:  # an infinite threshold
        value = 0.0
    for kind in (np.float64, np.float32):
        yield float(kind(value))
        for side in (-np.inf, np.inf):
            with np.errstate(over="ignore"):
                near = float(np.nextafter(kind(value), kind(side)))
            yield near if np.isfinite(near) else float(kind(value))


def _random_number(rng: np.random.Generator, edge_share: float = 0.3) -> float:
    is_edge = rng.random() < edge_share
    value = float(rng.choice(EDGE_NUMBERS)) if is_edge else rng.uniform(-0.1, 1.1)
    near = list(neighbours(value))
    return near[rng.integers(len(near))]


def random_forest(rng: np.random.Generator) -> Forest:
    """Draw a forest of one of three kinds.

    Awkward: 1-6 trees of depth 0-3 over 1-3 features, some constant. Entangled: 4-16
    trees of depth 2-3 over 2-4 features, most thresholds inside [0, 1]. Formula: Theorem 1's forest of random
    3-SAT with 4-7 variables near its phase transition. In the last two, wanted leaves that are compatible in
    pairs often contradict one another jointly.
    """
    kind = rng.choice(["awkward", "entangled", "formula"], p=[0.4, 0.4, 0.2])
    if kind == "formula":
        variables = int(rng.integers(4, 8))
        formula = random_3cnf(variables, round(variables * rng.uniform(2.5, 6)), rng)
        return to_forest(formula, threshold=rng.choice([0.0, 0.1, 0.5]))
    classes = CLASSES[rng.integers(len(CLASSES))]
    entangled = kind == "entangled"
    n_features = int(rng.integers(2, 5) if entangled else rng.integers(1, 4))
    used = rng.permutation(n_features)[: rng.integers(1, n_features + 1)]
    # Few thresholds, for brute force, some of them neighbours.
    crowded = 1 if entangled else int(rng.integers(1, 5))
    pool = [
        near for _ in range(crowded) for near in neighbours(_random_number(rng, 0.1 if entangled else 0.4))
    ]
    if entangled:
        pool += [_random_number(rng, 0.1) for _ in range(3)]

    def grown(depth: int, constant: int | None) -> NestedTree:
        if depth == 0 or (not entangled and rng.random() < 0.15):
            return int(rng.integers(len(classes))) if constant is None else constant
        threshold = pool[rng.integers(len(pool))]
        left, right = (grown(depth - 1, constant) for _ in range(2))
        return int(rng.choice(used)), threshold, left, right

    trees = []
    for _ in range(rng.integers(4, 17) if entangled else rng.integers(1, 7)):
        constant = int(rng.integers(len(classes))) if not entangled and rng.random() < 0.1 else None
        trees.append(grown(int(rng.integers(2, 4) if entangled else rng.integers(0, 4)), constant))
    return forest_of(trees, n_features=n_features, classes=classes)


def random_query(rng: np.random.Generator, forest: Forest) -> tuple[ForgeryQuery, NDArray[np.float32] | None]:
    """Draw a query to a forest; half of the queries come with a point that draws their votes.

    Of the others, half change one or two of a point's votes: contradictions that only a search finds.
    """
    label = forest.classes[rng.integers(len(forest.classes))]
    thresholds = forest.threshold[~forest.is_leaf]
    planted = rng.random(forest.n_features, dtype=np.float32)
    with np.errstate(over="ignore"):
        edges = np.array([_random_number(rng) for _ in planted], dtype=np.float32)
    at_edge = rng.random(forest.n_features) < 0.3
    planted[at_edge] = edges[at_edge].clip(0, 1)
    signature: NDArray[Any] = (forest.votes(planted[None])[0] != label).astype(int)
    kind = rng.choice(["planted", "changed", "random"], p=[0.5, 0.25, 0.25])
    if kind == "changed":
        changed = rng.integers(forest.n_trees, size=rng.integers(1, 3))
        signature[changed] = 1 - signature[changed]
    if kind == "random":
        unanimous = rng.random() < 0.3  # the query of Theorem 1
        signature = np.zeros(forest.n_trees) if unanimous else rng.integers(0, 2, forest.n_trees)
    if rng.random() < 0.5:
        centre = planted + rng.uniform(-0.3, 0.3, forest.n_features)
    else:
        centre = np.array([_random_number(rng) for _ in range(forest.n_features)])
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


def random_case(rng: np.random.Generator, n_queries: int) -> ForgeryCase:
    """Draw a forest and queries to it in which, as in a campaign, votes and boxes recur."""
    forest = random_forest(rng)
    drawn = [random_query(rng, forest)]
    while len(drawn) < n_queries:
        query, planted = random_query(rng, forest)
        if rng.random() < 0.4:  # the same votes in another box: earlier proofs may carry over
            earlier, planted = drawn[rng.integers(len(drawn))]
            centre = earlier.centre if rng.random() < 0.5 else query.centre
            query = replace(earlier, centre=centre, eps=query.eps)
        drawn.append((query, planted))
    return ForgeryCase(forest, tuple(query for query, _ in drawn), tuple(planted for _, planted in drawn))
