"""Honest training of the scheme `lineup`: a tree for each seed, of which often only the votes are kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.claims.lineup_settings import TreeSettings
from wm.embedding.lineup.context import TrainingRows

_BATCH = 64
"""Trees that are in memory at once."""


def train_tree(rows: TrainingRows, training: TreeSettings, seed: int) -> Any:
    """Return the `DecisionTreeClassifier` of a seed in [0, 2^31) (scikit-learn has no types).

    With bootstrap, row weights are the counts of n draws by numpy's `RandomState(seed)`, as in scikit-learn's
    random forests.
    """
    from sklearn.tree import DecisionTreeClassifier

    count = len(rows.y)
    weight = None
    if training.bootstrap:
        drawn = np.random.RandomState(seed).randint(0, count, count)
        weight = np.bincount(drawn, minlength=count).astype(np.float64)
    tree = DecisionTreeClassifier(
        max_depth=training.max_depth,
        max_leaf_nodes=training.max_leaf_nodes,
        min_samples_leaf=training.min_samples_leaf,
        max_features=training.max_features,
        random_state=seed,
    )
    return tree.fit(rows.X, rows.y, sample_weight=weight, check_input=False)


def train_trees(
    rows: TrainingRows, training: TreeSettings, seeds: Sequence[int], *, n_jobs: int = 1
) -> Iterator[Any]:
    """Yield the tree of each seed, in order; `n_jobs` threads, as joblib counts them, change no result."""
    from joblib import Parallel, delayed

    with Parallel(n_jobs=n_jobs, require="sharedmem") as parallel:
        for start in range(0, len(seeds), _BATCH):
            some = seeds[start : start + _BATCH]
            yield from parallel(delayed(train_tree)(rows, training, seed) for seed in some)


def tree_votes(tree: Any, X: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Return a tree's votes, 0 and 1, the first class on a tie as in `wm.Forest`: (n, d) -> (n,)."""
    inner = tree.tree_
    votes: NDArray[np.uint8] = inner.value[:, 0, :].argmax(axis=1).astype(np.uint8)[inner.apply(X)]
    return votes


def votes_of_seeds(
    rows: TrainingRows,
    training: TreeSettings,
    seeds: Sequence[int],
    X: NDArray[np.float32],
    *,
    n_jobs: int = 1,
) -> NDArray[np.uint8]:
    """Return the votes of the trees of some seeds on queries: (len(seeds), q); no tree is kept.

    Parameters
    ----------
    X : (q, d) float32, in C order
    """
    found = np.empty((len(seeds), len(X)), dtype=np.uint8)
    for number, tree in enumerate(train_trees(rows, training, seeds, n_jobs=n_jobs)):
        found[number] = tree_votes(tree, X)
    return found
