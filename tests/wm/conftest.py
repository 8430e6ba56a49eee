"""Watermarked forests on breast-cancer, with all that their owner knows."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import minmax_scale

from wm.embedding.common import EmbeddingTask, draw_trigger_rows
from wm.embedding.options import TrainOptions
from wm.embedding.paper import embed_paper
from wm.embedding.training import Caps, adjusted_caps, honest_forest
from wm.forest import Forest
from wm.signature import Signature, random_signature


@dataclass(frozen=True, eq=False)
class BreastCancer:
    """The paper's split: 398 training and 171 test rows, scaled over all of them."""

    X_train: NDArray[np.float32]
    X_test: NDArray[np.float32]
    y_train: NDArray[np.int64]
    y_test: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Owner:
    """A watermarked forest, an honest one of the same kind, signature and trigger rows."""

    watermarked: Forest
    honest: Forest
    signature: Signature
    trigger_rows: NDArray[np.int64]
    data: BreastCancer

    @property
    def trigger_X(self) -> NDArray[np.float32]:  # noqa: N802 - the field's name for a data matrix
        """The trigger set: (k, d)."""
        return self.data.X_train[self.trigger_rows]

    @property
    def trigger_y(self) -> NDArray[np.int64]:
        """Its true labels: (k,)."""
        return self.data.y_train[self.trigger_rows]


@pytest.fixture(scope="session")
def breast_cancer() -> BreastCancer:
    X, y = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(minmax_scale(X), y, test_size=0.3, random_state=2)
    return BreastCancer(X_train.astype(np.float32), X_test.astype(np.float32), y_train, y_test)


@pytest.fixture(scope="session")
def owner(breast_cancer: BreastCancer) -> Owner:
    """A forest watermarked here, in the paper's size: 70 trees, depth 8, 7 trigger rows."""
    X, y = breast_cancer.X_train, breast_cancer.y_train
    honest = honest_forest(X, y, n_trees=70, caps=Caps(8, None), seed=5)
    signature = random_signature(70, 0.5, np.random.default_rng(1))
    rows = draw_trigger_rows(X, 7, np.random.default_rng(2))
    caps = adjusted_caps(honest, 8, "artifact")
    fit = TrainOptions(training="paper", weight_step=30.0)
    task = EmbeddingTask(X, y, signature, rows, caps, seed_right=3, seed_wrong=4, fit=fit)
    return Owner(embed_paper(task).forest, honest, signature, rows, breast_cancer)


@pytest.fixture(scope="session")
def published_owner(released_forests, owner: Owner, breast_cancer: BreastCancer) -> Owner:
    """The authors' released forests with their trigger set, or, without the file, those made here."""
    if not released_forests.published:
        return owner
    rows = np.array(random.Random(2).sample(range(len(breast_cancer.X_train)), 7))  # noqa: S311 - their draw
    forest = released_forests.forest("watermarked")
    first_row = forest.votes(breast_cancer.X_train[rows[:1]])[0]
    signature = Signature.of((first_row != breast_cancer.y_train[rows[0]]).astype(int))
    return Owner(forest, released_forests.forest("standard"), signature, rows, breast_cancer)


@pytest.fixture(scope="session")
def chain_forest() -> Callable[[Sequence[int]], Forest]:
    """Makes a forest with trees of given depths, each a chain: a tree of depth d has d + 1 leaves."""
    return _chain_forest


def _chain_forest(depths: Sequence[int]) -> Forest:
    """A forest of trees that are chains: a tree of depth d has d + 1 leaves."""
    left: list[int] = []
    right: list[int] = []
    feature: list[int] = []
    threshold: list[float] = []
    value: list[list[float]] = []
    sizes: list[int] = []
    for depth in depths:
        for level in range(depth):
            left += [2 * level + 1, -1]
            right += [2 * level + 2, -1]
            feature += [0, -1]
            threshold += [-float(level), 0.0]
            value += [[1.0, 1.0], [float(level % 2), float(1 - level % 2)]]
        left, right, feature = [*left, -1], [*right, -1], [*feature, -1]
        threshold, value = [*threshold, 0.0], [*value, [1.0, 0.0]]
        sizes.append(2 * depth + 1)
    return Forest.from_arrays(
        offset=np.cumsum([0, *sizes]),
        left=left,
        right=right,
        feature=feature,
        threshold=threshold,
        value=value,
        n_features=1,
        classes=[0, 1],
    )
