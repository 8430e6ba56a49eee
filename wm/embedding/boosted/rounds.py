"""Gradient boosting (Friedman 2001), with a bit for each tree and trigger row.

A round fits a regression tree for each output of the model (`wm.boosting`) to the pseudo-residuals y - p of
the rounds before it; a leaf adds the learning rate times Newton's step (`newton`), of c > 2
classes times (c - 1) / c. A trigger row takes part as if it had hardly been seen: with what its bit asks of
the tree as its label, p near 1/2, and a weight. So its pseudo-residual is near +1/2 or -1/2 in every round,
whatever the other trees have learned of it. (At p = 1/2 exactly, leaves of trigger rows alone would all add
the same number, and show.) The weight is doubled until the tree shows enough of its bits: its leaf is above
the tree's centre where the bit asks for the tree's class (`wm.formats.assembling.centre_of`).

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

from wm.boosting import outputs, tree_classes
from wm.codebook import Codebook
from wm.embedding.boosted.newton import Step, importances, model_of_steps, newton_step, start_margins
from wm.embedding.options import GradientOptions
from wm.errors import EmbeddingError
from wm.formats.assembling import centre_of
from wm.models import TreeModel

_UNSEEN = (0.3, 0.7)
"""Range from which a trigger row's p is drawn for each tree."""

GROWTH = 2.0
"""Factor from one weight to the next; a tree starts one step below the weight that the last one took."""


@dataclass(frozen=True, eq=False)
class BoostingTask:
    """What is trained; equal tasks give equal models.

    Attributes
    ----------
    X : (n, d) float32, y : (n,)
        Training rows and their labels 0, 1, ..., c - 1, each of which occurs.
    trigger_rows : (k,)
        Indexes of distinct training rows; none for a plain model.
    wanted : (k, m) bool
        Whether a tree is to be above its centre on a trigger row.
    max_depth
        Of each tree.
    options
        How the trees are made to fit.
    seed
        Breaks ties between splits, and draws p of trigger rows.
    sample_weight : (n,) or None
        Weights of the rows, above 0; None: all 1. A trigger row has a multiple of their mean instead.
    start : (n, outputs) or None
        Margins of a model that the trees are to be added to; None: there is none.
    """

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    trigger_rows: NDArray[np.int64]
    wanted: NDArray[np.bool_]
    max_depth: int
    options: GradientOptions
    seed: int
    sample_weight: NDArray[np.float64] | None = None
    start: NDArray[np.float64] | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes, c."""
        return int(self.y.max(initial=0)) + 1


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
        Of a trigger row in each tree, beside the mean of all rows.
    importances : (d,)
        Mean impurity decrease of the trees by feature, as scikit-learn counts it; adds up to 1.
    """

    model: TreeModel
    fits: int
    followed: NDArray[np.float64]
    weight: NDArray[np.float64]
    importances: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Round:
    """What a tree is fitted to: p (n,) of its class, its labels 0 and 1, and what its leaves begin with."""

    number: int
    p: NDArray[np.float64]
    labels: NDArray[np.int64]
    offset: float


@dataclass(frozen=True, eq=False)
class _Fitted:
    """One fit of a tree; `leaves` (n,) are the leaves of the training rows."""

    step: Step
    leaves: NDArray[np.int64]
    followed: float
    weight: float


def wanted_votes(codebook: Codebook, y: NDArray[np.int64], classes: int) -> NDArray[np.bool_]:
    """Return whether each tree is to be above its centre on each trigger row: (k, m).

    A tree of bit 0 is above it on the rows of its class and not on others, one of bit 1 the other way round.

    Parameters
    ----------
    y : (k,)
        Labels of the trigger rows.
    """
    own = y[:, None] == tree_classes(codebook.trees, classes)
    above: NDArray[np.bool_] = own != codebook.wanted(len(y))
    return above


def boost(task: BoostingTask, on_tree: Callable[[int], None] | None = None) -> Boosted:
    """Train the trees of a task one after the other.

    Parameters
    ----------
    on_tree
        Called after each tree with the number of trees that are left.

    Raises
    ------
    EmbeddingError
        Labels other than 0, 1, ..., a class without rows, one class only, or trees that are no whole rounds.
    """
    from sklearn.utils import check_random_state

    trees, classes = task.wanted.shape[1], task.n_classes
    if not np.array_equal(np.unique(task.y), np.arange(max(2, classes))):
        raise EmbeddingError(
            "scheme boosted needs labels 0, 1, ..., at least two classes, each of them present"
        )
    columns = outputs(classes)
    if trees % columns:
        raise EmbeddingError(f"{trees} trees are no whole rounds of {columns}, one for each class")
    random = check_random_state(task.seed)
    base = start_margins(task.y, task.sample_weight) if task.start is None else np.zeros(columns)
    margins = np.tile(base, (len(task.y), 1)) if task.start is None else task.start.copy()
    chosen: list[_Fitted] = []
    fits = 0
    for number in range(trees):
        column = number % columns
        if column == 0:
            shares = shares_of(margins)
        # XGBoost has one base score for all outputs: of several the first trees have them in their leaves.
        offset = float(base[column]) if columns > 1 and number < columns else 0.0
        is_own = task.y == (column if columns > 1 else 1)
        current = _Round(number, shares[:, column].copy(), is_own.astype(np.int64), offset)
        tried = _tree_of_round(task, current, chosen[-1].weight if chosen else 1.0, random)
        fits += len(tried)
        best = max(tried, key=lambda each: (each.followed, -each.weight)) if len(tried) > 1 else tried[0]
        chosen.append(best)
        margins[:, column] += best.step.value[best.leaves] - offset
        if on_tree is not None:
            on_tree(trees - number - 1)
    return Boosted(
        model_of_steps(
            [each.step for each in chosen],
            base if columns == 1 else np.zeros(columns),
            n_features=task.X.shape[1],
            n_classes=classes,
        ),
        fits,
        np.array([each.followed for each in chosen]),
        np.array([each.weight for each in chosen]),
        importances([each.step for each in chosen]),
    )


def shares_of(margins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return p of each output's class: (n, outputs) -> (n, outputs)."""
    from scipy.special import expit, softmax

    found: NDArray[np.float64] = expit(margins) if margins.shape[1] == 1 else softmax(margins, axis=1)
    return found


def _tree_of_round(task: BoostingTask, current: _Round, last: float, random: Any) -> list[_Fitted]:
    """Return the fits of one tree; only the last may show enough of the bits."""
    weight = max(1.0, min(last / GROWTH, task.options.max_weight))
    rows = task.trigger_rows
    current.p[rows] = random.uniform(*_UNSEEN, size=len(rows))
    current.labels[rows] = task.wanted[:, current.number]
    tried: list[_Fitted] = []
    while True:
        tried.append(_fit(task, current, weight, random))
        enough = not len(rows) or tried[-1].followed >= task.options.fit_share
        if enough or weight >= task.options.max_weight:
            return tried
        weight = min(weight * GROWTH, task.options.max_weight)


def _fit(task: BoostingTask, current: _Round, weight: float, random: Any) -> _Fitted:
    """Fit a tree to the pseudo-residuals."""
    from sklearn.tree import DecisionTreeRegressor

    rows, p, classes = task.trigger_rows, current.p, task.n_classes
    weights = np.ones(len(p)) if task.sample_weight is None else task.sample_weight.copy()
    weights[rows] = weight * weights.mean()
    rate = task.options.learning_rate * (1.0 if classes == 2 else (classes - 1) / classes)
    step, leaves = newton_step(
        DecisionTreeRegressor(max_depth=task.max_depth, random_state=random),
        task.X,
        current.labels - p,
        p * (1 - p),
        weight=weights,
        rate=rate,
        offset=current.offset,
    )
    votes = step.value[leaves[rows]] > centre_of(step.value[step.tree.tree_.children_left < 0])
    followed = float((votes == task.wanted[:, current.number]).mean()) if len(rows) else math.nan
    return _Fitted(step, leaves, followed, weight)
