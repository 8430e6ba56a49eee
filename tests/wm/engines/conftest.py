"""A worked example, a hard forest, and a trained one with queries."""

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
from wm.testing import forest_of


@pytest.fixture(scope="session")
def figure_1():
    """The paper's worked example, its thresholds 1..7 scaled by 1/10 into the domain [0, 1]."""
    minus, plus = 0, 1
    return forest_of(
        [
            (0, 0.5, (1, 0.3, plus, minus), (2, 0.7, minus, plus)),
            (0, 0.2, (1, 0.4, plus, minus), (2, 0.6, minus, plus)),
        ],
        n_features=3,
        classes=[-1, 1],
    )


@pytest.fixture(scope="session")
def hopelessly_slow():
    """A forest whose query (+1, all bits 0, [0, 1]^d) no resolution solver answers within an hour.

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
    """Some queries that can be forged, for votes that some point draws, and some that cannot."""
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
