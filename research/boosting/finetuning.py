"""In-place fine-tuning of boosted models, after Chung, Lao and Zhao, arXiv 2511.09822 (AAAI 2026).

Of the paper its abstract and summaries were at hand, its code was not. They say: a finished model is
fine-tuned in place, its existing trees change and none is added; chosen rows get flipped labels; there are
four ways to choose them, named wrong prediction flip, outlier flip, cluster centre flip and confidence flip;
little accuracy is lost, and further fine-tuning does not remove the marks. What follows is our reading:

- A *flip* is the class that the finished model does not predict for the row. On wrongly predicted rows it is
  thereby the right one.
- *Wrong prediction*: the rows whose true class the model finds least probable. *Outlier*: the most isolated
  rows by an isolation forest. *Cluster centre*: the rows nearest to the centres of k-means. *Confidence*: the
  rows whose two classes the model finds nearest to equally probable.
- *In place*: tree after tree, where a marked row is, the last split above its leaf is chosen anew, and every
  leaf's value is Newton's step for the training rows with the flipped labels, after the changed trees before
  it. Marked rows weigh 1, 2, 4, ... `MAX_WEIGHT` until all of them are flipped.

The owner of a claim cannot choose: here a draw takes k of N such rows, so that the others are controls, and
the hypergeometric test of `wm.verification.randomization` applies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from wm.formats.assembling import Tree, trees_of, with_trees
from wm.models import TreeModel

MAX_WEIGHT = 64.0
"""Most weight of a marked row, as of a trigger row in scheme `boosted`."""

_TINY = 1e-150

Rows = NDArray[np.float32]
Labels = NDArray[np.int64]
Places = NDArray[np.int64]


def _wrong(model: TreeModel, X: Rows, y: Labels, count: int, seed: int) -> Places:
    share = model.predict_proba(X)[np.arange(len(y)), y]
    return np.argsort(share, kind="stable")[:count]


def _outlier(model: TreeModel, X: Rows, y: Labels, count: int, seed: int) -> Places:
    from sklearn.ensemble import IsolationForest

    score = IsolationForest(random_state=seed).fit(X).score_samples(X)
    return np.argsort(score, kind="stable")[:count]


def _centre(model: TreeModel, X: Rows, y: Labels, count: int, seed: int) -> Places:
    from sklearn.cluster import KMeans

    clusters = KMeans(n_clusters=count, n_init=1, random_state=seed).fit(X)
    distance = clusters.transform(X)
    found: list[int] = []
    for cluster in range(count):  # each row once, if it is the nearest to several centres
        order = np.argsort(distance[:, cluster], kind="stable")
        found.append(next(int(row) for row in order if int(row) not in found))
    return np.array(found)


def _confidence(model: TreeModel, X: Rows, y: Labels, count: int, seed: int) -> Places:
    return np.argsort(np.abs(model.predict_proba(X)[:, 1] - 0.5), kind="stable")[:count]


SELECTIONS: dict[str, Callable[[TreeModel, Rows, Labels, int, int], Places]] = {
    "wrong prediction": _wrong,
    "outlier": _outlier,
    "cluster centre": _centre,
    "confidence": _confidence,
}
"""By name: model, training rows, labels, number of rows and seed to indexes of distinct rows."""


@dataclass(frozen=True, eq=False)
class FineTuned:
    """A model fine-tuned in place.

    Attributes
    ----------
    model
        As many trees as before, none of them deeper.
    flipped
        Share of the marked rows whose prediction is the flipped one.
    weight
        Of a marked row.
    """

    model: TreeModel
    flipped: float
    weight: float


def fine_tune(model: TreeModel, X: Rows, y: Labels, marked: Places, *, rate: float) -> FineTuned:
    """Return the model of two classes 0 and 1 fine-tuned in place.

    Parameters
    ----------
    X : (n, d), y : (n,)
        The training rows.
    marked : (k,)
        Rows whose prediction is to be flipped.
    rate
        The learning rate of the model.
    """
    target = 1 - model.predict(X[marked]).astype(np.int64)
    labels = y.copy()
    labels[marked] = target
    weight, best = 1.0, None
    while weight <= MAX_WEIGHT:
        weights = np.ones(len(y))
        weights[marked] = weight
        changed = _one_pass(model, X, labels, weights, marked, rate)
        flipped = float((changed.predict(X[marked]) == target).mean())
        if best is None or flipped > best.flipped:
            best = FineTuned(changed, flipped, weight)
        if flipped == 1.0:
            break
        weight *= 2
    assert best is not None  # noqa: S101 - at least one weight was tried
    return best


def _one_pass(
    model: TreeModel,
    X: Rows,
    labels: Labels,
    weights: NDArray[np.float64],
    marked: Places,
    rate: float,
) -> TreeModel:
    margins = model.margins
    assert margins is not None  # noqa: S101 - a boosted model
    leaves, raw, trees = model.forest.apply(X), np.full(len(labels), margins.base[0]), []
    for number, tree in enumerate(trees_of(model)):
        p = expit(raw)
        residual, curvature = weights * (labels - p), weights * p * (1 - p)
        local = leaves[:, number] - model.forest.offset[number]
        changed, local = _split_again(tree, X, labels - p, weights, local, marked)
        size = len(changed.left)
        push = np.bincount(local, residual, minlength=size)
        scale = np.bincount(local, curvature, minlength=size)
        step = rate * np.divide(push, scale, out=np.zeros(size), where=scale > _TINY)
        value = np.where(scale > _TINY, step, changed.value).astype(np.float32).astype(np.float64)
        raw += value[local]
        trees.append(replace(changed, value=value))
    return with_trees(model, trees, margins.column)


def _split_again(
    tree: Tree,
    X: Rows,
    residual: NDArray[np.float64],
    weights: NDArray[np.float64],
    local: Places,
    marked: Places,
) -> tuple[Tree, Places]:
    """Return the tree with other last splits above the leaves of marked rows, and the leaf of each row."""
    from sklearn.tree import DecisionTreeRegressor

    left, right = np.asarray(tree.left, dtype=np.int64), np.asarray(tree.right, dtype=np.int64)
    feature, threshold, found = tree.feature.copy(), tree.threshold.copy(), local.copy()
    inner = np.flatnonzero(left >= 0)
    parent = np.full(len(left), -1)
    parent[left[inner]] = parent[right[inner]] = inner
    for node in np.unique(parent[local[marked]]):
        if node < 0 or left[left[node]] >= 0 or left[right[node]] >= 0:
            continue  # a tree of one leaf, or a split above others
        rows = np.flatnonzero((local == left[node]) | (local == right[node]))
        stump = DecisionTreeRegressor(max_depth=1, random_state=0)
        stump.fit(X[rows], residual[rows], sample_weight=weights[rows])
        if stump.tree_.node_count < 3:
            continue
        feature[node], threshold[node] = stump.tree_.feature[0], stump.tree_.threshold[0]
        goes_left = X[rows, feature[node]] <= threshold[node]
        found[rows] = np.where(goes_left, left[node], right[node])
    return replace(tree, feature=feature, threshold=threshold), found
