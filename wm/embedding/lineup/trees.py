"""Honest training of the scheme `lineup`: a tree for each seed, of which often only the votes are kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.claims.lineup_settings import TreeSettings
from wm.embedding.growing import Grower, bootstrap_counts
from wm.embedding.lineup.context import TrainingRows
from wm.embedding.training import Caps, fit_tree, fitting, forest_of
from wm.forest import Forest

_BATCH = 64
"""Trees that are in memory at once."""


def train_tree(rows: TrainingRows, training: TreeSettings, seed: int) -> Any:
    """Return the `DecisionTreeClassifier` of a seed in [0, 2^31) (scikit-learn has no types).

    With bootstrap, row weights are the counts of n draws by numpy's `RandomState(seed)`, as in scikit-learn's
    random forests.
    """
    weight = bootstrap_counts(seed, len(rows.y)).astype(np.float64) if training.bootstrap else None
    return fit_tree(rows.X, rows.y, caps=_caps(training), seed=seed, sample_weight=weight)


def _caps(training: TreeSettings) -> Caps:
    return Caps(**training.model_dump(exclude={"bootstrap"}))


def train_trees(
    rows: TrainingRows, training: TreeSettings, seeds: Sequence[int], *, n_jobs: int = 1
) -> Iterator[Any]:
    """Yield the tree of each seed, in order; `n_jobs` threads, as joblib counts them, change no result."""
    from joblib import Parallel, delayed

    with Parallel(n_jobs=n_jobs, require="sharedmem") as parallel:
        for start in range(0, len(seeds), _BATCH):
            some = seeds[start : start + _BATCH]
            yield from parallel(delayed(train_tree)(rows, training, seed) for seed in some)


def forest_of_seeds(
    rows: TrainingRows, training: TreeSettings, seeds: Sequence[int], *, n_jobs: int = 1
) -> Forest:
    """Return the forest of the trees of some seeds; `n_jobs` threads change no result."""
    grower = _grower(rows, training, seeds)
    if grower is None:
        return forest_of(list(train_trees(rows, training, seeds, n_jobs=n_jobs)))
    return grower.forest(training.max_depth, np.arange(2), n_jobs)


def _grower(rows: TrainingRows, training: TreeSettings, seeds: Sequence[int]) -> Grower | None:
    fit = fitting(_caps(training))
    return Grower.like(fit, rows.X, rows.y, seeds, bootstrap=training.bootstrap)


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
    from joblib import Parallel, delayed

    grower = _grower(rows, training, seeds)
    found = np.empty((len(seeds), len(X)), dtype=np.uint8)

    def vote(number: int) -> None:
        if grower is None:
            found[number] = tree_votes(train_tree(rows, training, seeds[number]), X)
        else:
            found[number] = grower.grow(number, training.max_depth).votes(X)

    Parallel(n_jobs=n_jobs, require="sharedmem")(delayed(vote)(number) for number in range(len(seeds)))
    return found
