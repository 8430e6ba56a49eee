"""What is measured of one public model: forgery on it, and brute force against the engine on a small part of it."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass

import numpy as np

from wm import streams
from wm.attacks.forgery import Forger, attacker_signature
from wm.engines import ForgeryQuery, Status
from wm.engines.protocol import ON_GRID
from wm.forest import Forest
from wm.formats.units import Domain
from wm.models import TreeModel
from wm.signature import Signature
from wm.testing import NestedTree, forest_of, forgeable

ROWS, TIMEOUT_S = 10, 5.0
EPS = 0.3
FIRST = 10
"""Trees of the smaller question."""
PART_DEPTH, PART_CELLS, PART_ROWS = 2, 3000, 3


@dataclass(frozen=True)
class Asked:
    """A question: the share of wrong trees, among all of them or the first ones, and the distance."""

    title: str
    wrong: float
    first: int | None
    eps: float


QUESTIONS = (
    Asked(f"a tenth wrong, eps {EPS:g}", 0.1, None, EPS),
    Asked("a tenth wrong, eps 1", 0.1, None, 1.0),
    Asked("half wrong, eps 1", 0.5, None, 1.0),
    Asked(f"half of the first {FIRST} wrong, eps {EPS:g}", 0.5, FIRST, EPS),
    Asked(f"half of the first {FIRST} wrong, eps 1", 0.5, FIRST, 1.0),
)


@dataclass(frozen=True)
class Forged:
    """The outcomes of the queries of one signature, and their seconds."""

    outcomes: Counter[str]
    seconds: float

    def __str__(self) -> str:
        """Return counts and seconds."""
        counts = ", ".join(f"{count} {outcome}" for outcome, count in self.outcomes.most_common())
        return f"{counts} ({self.seconds:.1f} s)"


def domain_of(model: TreeModel) -> Domain:
    """Return a domain for a model whose data are not at hand: a tenth beyond the range of its thresholds."""
    forest, inner = model.forest, ~model.forest.is_leaf
    low, high = np.zeros(forest.n_features), np.ones(forest.n_features)
    for feature in np.unique(forest.feature[inner]).tolist():
        mine = forest.threshold[inner & (forest.feature == feature)]
        room = 0.1 * (mine.max() - mine.min()) + 0.1 * max(1.0, abs(mine).max()) * (mine.max() == mine.min())
        low[feature], high[feature] = mine.min() - room, mine.max() + room
    return Domain(low, high, dtype=forest.input_dtype)


def forged(model: TreeModel, domain: Domain, asked: Asked) -> Forged:
    """Return the outcomes of one random signature on random rows, each with the label that the model gives."""
    forest = domain.unit_forest(model.forest)
    rows = streams.generator(0, streams.Role.ATTACKER_INSTANCES, 0).random((ROWS, forest.n_features))
    labels = np.ones(ROWS, dtype=np.int64)
    if model.classes is not None:
        labels = model.predict(domain.from_unit(rows.astype(np.float32)))
    trees = np.arange(min(asked.first or forest.n_trees, forest.n_trees))
    signature = attacker_signature(0, number=0, length=len(trees), ones_share=asked.wrong, repeat=0)
    padded = Signature.of("".join(map(str, signature.array.tolist())).ljust(forest.n_trees, "0"))
    is_wide = model.forest.input_dtype == "float64"
    on_grid = is_wide and (asked.eps < 1 or domain.slack(model.forest, forest) is None)
    outcomes: Counter[str] = Counter()
    seconds = 0.0
    with Forger(forest.select(trees), timeout_s=TIMEOUT_S) as forger:
        for row, label in zip(rows, labels, strict=True):
            bits, wanted = model.prescribed(padded, label)
            bits = bits[trees]
            found = forger.ask(ForgeryQuery(signature=bits, label=wanted, centre=row, eps=asked.eps))
            if found.witness is not None:
                shown = model.forest.votes(domain.from_unit(found.witness[None]))[0][trees] != wanted
                if not (shown == (bits == 1)).all():
                    raise AssertionError("a witness does not replay on the model in its own units")
            is_impossible = found.status is Status.IMPOSSIBLE
            outcomes[f"impossible {ON_GRID}" if on_grid and is_impossible else found.status.value] += 1
            seconds += found.seconds
    return Forged(outcomes, seconds)


def agreeing(model: TreeModel, domain: Domain) -> tuple[int, int]:
    """Return how many queries on a small part of a model the engine answers as brute force does, of how many."""
    part = small_part(domain.unit_forest(model.forest))
    rows = streams.generator(1, streams.Role.ATTACKER_INSTANCES, 0).random((PART_ROWS, part.n_features))
    asked = [
        ForgeryQuery(signature=bits, label=part.classes[-1], centre=row, eps=EPS)
        for bits in itertools.product((0, 1), repeat=part.n_trees)
        for row in rows
    ]
    with Forger(part, timeout_s=TIMEOUT_S) as forger:
        same = [(forger.ask(query).status is Status.FORGED) == forgeable(part, query) for query in asked]
    return sum(same), len(asked)


def small_part(forest: Forest) -> Forest:
    """Return the first trees, cut at a depth, whose thresholds give few enough cells for brute force."""
    trees: list[NestedTree] = []
    for tree in range(min(forest.n_trees, 6)):
        more = [*trees, _cut(forest, int(forest.offset[tree]), int(forest.offset[tree]), PART_DEPTH)]
        if trees and _cells(_forest(forest, more)) > PART_CELLS:
            break
        trees = more
    return _forest(forest, trees)


def _forest(forest: Forest, trees: list[NestedTree]) -> Forest:
    return forest_of(trees, n_features=forest.n_features, classes=forest.classes.tolist())


def _cells(forest: Forest) -> int:
    inner = ~forest.is_leaf
    pairs = np.unique(np.c_[forest.feature[inner], forest.threshold[inner]], axis=0)
    return int(np.prod(np.unique(pairs[:, 0], return_counts=True)[1] + 1.0))


def _cut(forest: Forest, root: int, node: int, depth: int) -> NestedTree:
    """Return a subtree to a depth; what is below votes as its leftmost leaf."""
    left, right = root + int(forest.left[node]), root + int(forest.right[node])
    if forest.is_leaf[node]:
        return int(forest.node_class[node])
    if not depth:
        return _cut(forest, root, left, 0)
    children = (_cut(forest, root, child, depth - 1) for child in (left, right))
    return (int(forest.feature[node]), float(forest.threshold[node]), *children)  # type: ignore[return-value]
