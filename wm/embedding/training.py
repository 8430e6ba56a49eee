"""Training of trees and honest forests, and limits on the trees of a watermarked forest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wm.embedding.growing import Fit, Grower, tree_seeds
from wm.embedding.options import Adjust
from wm.forest import Forest

if TYPE_CHECKING:
    from wm.embedding.common import EmbeddingTask


@dataclass(frozen=True)
class Caps:
    """Limits on each tree."""

    max_depth: int | None
    """None: no limit."""
    max_leaf_nodes: int | None
    """At least 2; None: no limit."""
    min_samples_leaf: int | float = 1
    """Smallest number, or share, of training rows in a leaf."""
    max_features: int | float | str | None = "sqrt"
    """Features that a split chooses from, as scikit-learn counts them."""


def fit_trees(
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    *,
    n_trees: int,
    caps: Caps,
    seed: int,
    sample_weight: NDArray[np.float64] | None = None,
    n_jobs: int = 1,
) -> Any:
    """Fit scikit-learn's random forest without bootstrap (Section 2) and return it.

    `n_jobs` threads, as joblib counts them; they change no result.
    """
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(
        n_estimators=n_trees,
        max_depth=caps.max_depth,
        max_leaf_nodes=caps.max_leaf_nodes,
        min_samples_leaf=caps.min_samples_leaf,
        max_features=caps.max_features,
        bootstrap=False,
        random_state=seed,
        n_jobs=n_jobs,
    )
    return model.fit(X, y, sample_weight=sample_weight)


def fit_tree(
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    *,
    caps: Caps,
    seed: int,
    sample_weight: NDArray[np.float64] | None = None,
) -> Any:
    """Fit one tree and return it: the tree of `fit_trees` that has the same `random_state`.

    X is not copied, and most of the time is spent without Python's lock: threads can fit trees on the same X
    in parallel.

    Parameters
    ----------
    X : (n, d) float32, finite
        Not checked again.
    y : (n,)
        0, 1, ..., each present.
    sample_weight : (n,)
        None: 1 each.
    """
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(
        max_depth=caps.max_depth,
        max_leaf_nodes=caps.max_leaf_nodes,
        min_samples_leaf=caps.min_samples_leaf,
        max_features=caps.max_features,
        random_state=seed,
    )
    return tree.fit(X, y, sample_weight=sample_weight, check_input=False)


def fitting(caps: Caps) -> Fit:
    """Return `fit_tree` under some limits."""
    return lambda X, y, seed, weight: fit_tree(X, y, caps=caps, seed=seed, sample_weight=weight)


def trigger_grower(task: EmbeddingTask, seeds: Sequence[int], *, times: int = 1) -> Grower | None:
    """Return a grower of a task's trees, whose heavy rows are the trigger rows; see `Grower.like`."""
    if task.sample_weight is not None:
        return None
    return Grower.like(fitting(task.caps), task.X, task.y, seeds, heavy=task.trigger_rows, times=times)


def forest_of(trees: Sequence[Any]) -> Forest:
    """Return the forest of trees trained on classes 0, 1, ..., which single trees keep as 0.0, 1.0, ...."""
    forest = Forest.from_sklearn(list(trees))
    return forest.changed(classes=np.arange(len(forest.classes)))


def honest_forest(
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    *,
    n_trees: int,
    caps: Caps,
    seed: int,
    sample_weight: NDArray[np.float64] | None = None,
    n_jobs: int = 1,
) -> Forest:
    """Return a forest with no watermark.

    Parameters
    ----------
    X : (n, d)
    y : (n,)
    n_trees
        m.
    caps
        A depth alone for the standard forest, `adjusted_caps` for an honest one under the limits of the
        watermarked one.
    seed
        scikit-learn's `random_state`.
    sample_weight : (n,) or None
        None: 1 each.
    n_jobs
        Threads, as joblib counts them; they change no result.
    """
    if sample_weight is None:
        grower = Grower.like(fitting(caps), X, y, tree_seeds(seed, n_trees))
        if grower is not None:
            return grower.forest(caps.max_depth, np.unique(y), n_jobs)
    return Forest.from_sklearn(
        fit_trees(X, y, n_trees=n_trees, caps=caps, seed=seed, sample_weight=sample_weight, n_jobs=n_jobs)
    )


def adjusted_caps(standard: Forest, max_depth: int | None, adjust: Adjust) -> Caps:
    """Return the paper's `Adjust`: mean minus standard deviation of a standard forest's depths and leaves.

    Both kinds of trees of a watermarked forest get the same limits. They are rounded down, as in the authors'
    code, to at least depth 1 and 2 leaves.

    Parameters
    ----------
    max_depth
        Limit on the standard forest's trees.
    """
    leaves = max(2, int(standard.tree_leaves.mean() - standard.tree_leaves.std()))
    if adjust == "artifact":
        return Caps(max_depth, leaves)
    depth = max(1, int(standard.tree_depths.mean() - standard.tree_depths.std()))
    return Caps(depth, leaves)
