"""Small forests with every awkward trait, and hard ones."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import minmax_scale

from wm.attacks.hardness import Formula, to_forest
from wm.engines import ForgeryQuery
from wm.forest import Forest
from wm.testing import forest_of, forgery_queries, near_misses
from wm.testing import small_forests as forests_for_brute_force


@pytest.fixture(scope="session")
def build_forest():
    """`forest_of`: a forest from nested (feature, threshold, left, right) and class columns at leaves."""
    return forest_of


@pytest.fixture(scope="session")
def small_forests():
    """A strategy for forests small enough for brute force."""
    return forests_for_brute_force()


@pytest.fixture(scope="session")
def awkward_numbers():
    """A strategy for numbers at and beside the thresholds of `small_forests`, within and outside [0, 1]."""
    return near_misses()


@pytest.fixture(scope="session")
def queries():
    """Make a strategy for queries to a forest: ``queries(forest, numbers)``."""
    return forgery_queries


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
