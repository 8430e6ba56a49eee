"""A worked example, a hard forest, and a trained one with queries."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import minmax_scale

from tests import pigeonholes
from tests.kernels import load_kernels
from wm.engines import ForgeryQuery
from wm.forest import Forest
from wm.testing import forest_of


@pytest.fixture(scope="session", autouse=True)
def kernels():
    """Whatever is compiled is so before the first test."""
    load_kernels()


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
    """A forest whose query (+1, all bits 0, [0, 1]^d) no resolution solver answers within an hour."""
    return pigeonholes.hopelessly_slow()


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
