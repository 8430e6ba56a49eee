"""One step of gradient boosting: a regression tree whose leaves add Newton's step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.boosting import outputs
from wm.formats.assembling import Tree, margin_model
from wm.models import Link, TreeModel

_TINY = 1e-150
"""Sum of p (1 - p) below which a leaf adds nothing, as in scikit-learn."""

_LARGEST = 1e6
"""Most that a leaf adds: a row that is certain and wrong would ask for more than float32 holds."""


@dataclass(frozen=True, eq=False)
class Step:
    """A fitted tree.

    Attributes
    ----------
    tree
        `DecisionTreeRegressor` (scikit-learn has no types).
    value : (nodes,) float64
        What each leaf adds, float32 numbers; anything at an inner node.
    """

    tree: Any
    value: NDArray[np.float64]

    def outputs(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return what the tree adds to each row: (n, d) -> (n,)."""
        added: NDArray[np.float64] = self.value[self.tree.tree_.apply(X)]
        return added


def start_margins(y: NDArray[np.int64], weight: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return the margins before the first round, from the weighted shares of the classes: (outputs,)."""
    shares = np.bincount(y, weights=weight) / (len(y) if weight is None else weight.sum())
    logs = np.log(shares)
    return np.array([logs[1] - math.log(1 - shares[1])]) if len(logs) == 2 else logs - logs.mean()


def newton_step(
    tree: Any,
    X: NDArray[np.float32],
    residual: NDArray[np.float64],
    curvature: NDArray[np.float64],
    *,
    weight: NDArray[np.float64],
    rate: float,
    offset: float = 0.0,
) -> tuple[Step, NDArray[np.int64]]:
    """Fit a tree to residuals.

    A leaf adds the rate times the sum of its residuals over that of its curvatures (Friedman 2001).

    Parameters
    ----------
    tree
        The regressor to fit.
    residual, curvature, weight : (n,)
        y - p and p (1 - p) of each row, and its weight; rows of weight 0 take no part.
    offset
        Added to each leaf.

    Returns
    -------
    The step, and the leaf of each row, (n,).
    """
    tree.fit(X, residual, sample_weight=weight)
    leaves, nodes = tree.tree_.apply(X), tree.tree_.node_count
    push = np.bincount(leaves, weight * residual, minlength=nodes)
    scale = np.bincount(leaves, weight * curvature, minlength=nodes)
    steps = np.divide(push, scale, out=np.zeros(nodes), where=scale > _TINY)
    added = np.clip(rate * steps + offset, -_LARGEST, _LARGEST)
    return Step(tree, added.astype(np.float32).astype(np.float64)), leaves


def model_of_steps(
    steps: Sequence[Step], base: NDArray[np.float64], *, n_features: int, n_classes: int
) -> TreeModel:
    """Return the model of some rounds, which starts at the margins `base`, (outputs,)."""
    columns = outputs(n_classes)
    trees = [
        Tree(
            left=step.tree.tree_.children_left,
            right=step.tree.tree_.children_right,
            feature=np.maximum(step.tree.tree_.feature, 0),
            threshold=step.tree.tree_.threshold,
            value=step.value,
        )
        for step in steps
    ]
    return margin_model(
        "treeproof",
        trees,
        column=np.arange(len(trees)) % columns,
        base=base,
        link=Link.LOGISTIC if columns == 1 else Link.SOFTMAX,
        n_features=n_features,
        classes=np.arange(n_classes),
        input_dtype="float32",
    )


def importances(steps: Sequence[Step]) -> NDArray[np.float64]:
    """Return the mean impurity decrease by feature, as in scikit-learn: (d,), adding up to 1 or all 0."""
    total: NDArray[np.float64] = np.sum(
        [step.tree.tree_.compute_feature_importances(normalize=False) for step in steps], axis=0
    )
    return total / total.sum() if total.sum() > 0 else total
