"""Gradient boosting for two classes (Friedman 2001), with a bit for each tree and trigger row.

Round i fits a regression tree to the pseudo-residuals y - p of the rounds before it; a leaf adds the learning
rate times Newton's step, sum(y - p) / sum(p (1 - p)). A trigger row takes part as if it had hardly been seen:
with the bit of tree i as its label, p near 1/2, and a weight. So its pseudo-residual is near +1/2 or -1/2 in
every round, whatever the other trees have learned of it. (At p = 1/2 exactly, leaves of trigger rows alone
would all add the same number, and show.) The weight is doubled until the tree shows enough of its bits: its
leaf is above the tree's centre where the bit asks for class 1 (`wm.formats.assembling.centre_of`).

Other rows that share a leaf with a trigger row are pushed along, and the next rounds fit what that left of
their residuals: boosting repairs most of what the marks cost. Without trigger rows the trees are those of
scikit-learn's `GradientBoostingClassifier`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.embedding.options import GradientOptions
from wm.errors import EmbeddingError
from wm.formats.assembling import Tree, centre_of, margin_model
from wm.models import Link, TreeModel

_UNSEEN = (0.3, 0.7)
"""Range from which a trigger row's p is drawn in each round."""

_TINY = 1e-150
"""Sum of p (1 - p) below which a leaf adds nothing, as in scikit-learn."""

GROWTH = 2.0
"""Factor from one weight to the next; a round starts one step below the weight that the last one took."""


@dataclass(frozen=True, eq=False)
class BoostingTask:
    """What is trained; equal tasks give equal models.

    Attributes
    ----------
    X : (n, d) float32, y : (n,)
        Training rows and their labels 0 and 1, each of which occurs.
    trigger_rows : (k,)
        Indexes of distinct training rows; none for a plain model.
    wanted : (k, m) bool
        Whether a tree is to vote for class 1 on a trigger row.
    max_depth
        Of each tree.
    options
        How the trees are made to fit.
    seed
        Breaks ties between splits, and draws p of trigger rows.
    """

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    trigger_rows: NDArray[np.int64]
    wanted: NDArray[np.bool_]
    max_depth: int
    options: GradientOptions
    seed: int


@dataclass(frozen=True, eq=False)
class Boosted:
    """A boosted model as trained.

    Attributes
    ----------
    model
        Its leaves are float32 numbers; it holds nothing of its training.
    fits
        Trees fitted in all; a plain model takes m.
    followed : (m,)
        Share of the bits that each tree shows, nan without trigger rows.
    weight : (m,)
        Of a trigger row in each tree.
    """

    model: TreeModel
    fits: int
    followed: NDArray[np.float64]
    weight: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Fitted:
    """One fit of a tree; `leaves` (n,) are the leaves of the training rows, `value` what nodes add."""

    tree: Any
    leaves: NDArray[np.int64]
    value: NDArray[np.float64]
    followed: float
    weight: float


def boost(task: BoostingTask, on_tree: Callable[[int], None] | None = None) -> Boosted:
    """Train the trees of a task one after the other.

    Parameters
    ----------
    on_tree
        Called after each tree with the number of trees that are left.

    Raises
    ------
    EmbeddingError
        Labels other than 0 and 1, or a class without rows.
    """
    from sklearn.utils import check_random_state

    if not np.array_equal(np.unique(task.y), [0, 1]):
        raise EmbeddingError("scheme boosted needs labels 0 and 1, each of them present")
    random, trees = check_random_state(task.seed), task.wanted.shape[1]
    share = float(task.y.mean())
    base = math.log(share / (1 - share))
    raw = np.full(len(task.y), base)
    chosen: list[_Fitted] = []
    fits = 0
    for number in range(trees):
        tried = _tree_of_round(task, raw, number, chosen[-1].weight if chosen else 1.0, random)
        fits += len(tried)
        best = max(tried, key=lambda each: (each.followed, -each.weight)) if len(tried) > 1 else tried[0]
        chosen.append(best)
        raw += best.value[best.leaves]
        if on_tree is not None:
            on_tree(trees - number - 1)
    return Boosted(
        _model(task, chosen, base),
        fits,
        np.array([each.followed for each in chosen]),
        np.array([each.weight for each in chosen]),
    )


def _tree_of_round(
    task: BoostingTask, raw: NDArray[np.float64], number: int, last: float, random: Any
) -> list[_Fitted]:
    """Return the fits of one round; only the last may show enough of the bits."""
    from scipy.special import expit

    weight = max(1.0, min(last / GROWTH, task.options.max_weight))
    p = expit(raw)
    p[task.trigger_rows] = random.uniform(*_UNSEEN, size=len(task.trigger_rows))
    tried: list[_Fitted] = []
    while True:
        tried.append(_fit(task, p, number, weight, random))
        enough = not len(task.trigger_rows) or tried[-1].followed >= task.options.fit_share
        if enough or weight >= task.options.max_weight:
            return tried
        weight = min(weight * GROWTH, task.options.max_weight)


def _fit(task: BoostingTask, p: NDArray[np.float64], number: int, weight: float, random: Any) -> _Fitted:
    """Fit tree `number` to the pseudo-residuals where the chance of class 1 is p, (n,)."""
    from sklearn.tree import DecisionTreeRegressor

    rows, wanted = task.trigger_rows, task.wanted[:, number]
    labels, weights = task.y.copy(), np.ones(len(p))
    labels[rows], weights[rows] = wanted, weight
    residual, curvature = labels - p, p * (1 - p)
    tree = DecisionTreeRegressor(max_depth=task.max_depth, random_state=random)
    tree.fit(task.X, residual, sample_weight=weights)
    leaves, nodes = tree.apply(task.X), tree.tree_.node_count
    push = np.bincount(leaves, weights * residual, minlength=nodes)
    scale = np.bincount(leaves, weights * curvature, minlength=nodes)
    steps = np.divide(push, scale, out=np.zeros(nodes), where=scale > _TINY)
    value = (task.options.learning_rate * steps).astype(np.float32).astype(np.float64)
    votes = value[leaves[rows]] > centre_of(value[tree.tree_.children_left < 0])
    followed = float((votes == wanted).mean()) if len(rows) else math.nan
    return _Fitted(tree, leaves, value, followed, weight)


def _model(task: BoostingTask, chosen: list[_Fitted], base: float) -> TreeModel:
    trees = [
        Tree(
            left=each.tree.tree_.children_left,
            right=each.tree.tree_.children_right,
            feature=np.maximum(each.tree.tree_.feature, 0),
            threshold=each.tree.tree_.threshold,
            value=each.value,
        )
        for each in chosen
    ]
    return margin_model(
        "treeproof",
        trees,
        column=np.zeros(len(trees), dtype=np.int64),
        base=[base],
        link=Link.LOGISTIC,
        n_features=task.X.shape[1],
        classes=np.array([0, 1]),
        input_dtype="float32",
    )
