"""Grid search over forests: the paper's choice of hyper-parameters (Algorithm 1, line 1)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.embedding.growing import Grower, tree_seeds
from wm.embedding.training import Caps, fit_tree, fitting
from wm.errors import DataError


@dataclass(frozen=True)
class Hyperparameters:
    """Result of a grid search's choice."""

    n_estimators: int
    """Number of trees, 1 or more."""
    max_depth: int | None
    """Limit on every tree's depth, 1 or more; None: no limit."""

    def __post_init__(self) -> None:
        if self.n_estimators < 1:
            raise ValueError(f"n_estimators = {self.n_estimators} is not 1 or more")
        if self.max_depth is not None and self.max_depth < 1:
            raise ValueError(f"max_depth = {self.max_depth} is not 1 or more")


def grid_points(n_estimators: Sequence[int], max_depth: Sequence[int | None]) -> tuple[Hyperparameters, ...]:
    """Return the grid in scikit-learn's order: by depth, then by number of trees.

    Raises
    ------
    ValueError
        The grid is empty, or a number in it is out of range.
    """
    grid = tuple(
        Hyperparameters(n_estimators=trees, max_depth=depth)
        for depth, trees in itertools.product(max_depth, n_estimators)
    )
    if not grid:
        raise ValueError("the grid is empty: give at least one n_estimators and one max_depth")
    return grid


def fold_accuracies(
    X: NDArray[Any],
    y: NDArray[Any],
    *,
    n_estimators: Sequence[int],
    max_depth: Sequence[int | None],
    folds: int,
    fold: int,
    seed: int,
) -> tuple[float, ...]:
    """Return the accuracy of each point of the grid, in the order of `grid_points`, on one fold.

    The result is that of scikit-learn's `GridSearchCV(RandomForestClassifier(bootstrap=False,
    random_state=seed), grid, cv=folds)`, bit for bit, but with fewer fits: with one seed a small forest is
    the first trees of a large one, and a tree that does not reach a limit is the same under every larger one.

    Parameters
    ----------
    X
        Training rows, (n, d).
    y
        Classes, (n,).
    n_estimators, max_depth
        The grid, in order of preference among equals.
    folds
        Number of stratified folds, 2 or more.
    fold
        One of them, counted from 0.
    seed
        The forests' `random_state`.

    Raises
    ------
    DataError
        A class has fewer rows than there are folds.
    ValueError
        The grid is empty, or a number in it is out of range.
    """
    from sklearn.model_selection import StratifiedKFold

    grid = grid_points(n_estimators, max_depth)
    _check_folds(y, folds)
    train, test = list(StratifiedKFold(folds).split(X, y))[fold]
    rows, rows_test = X[train].astype(np.float32), X[test].astype(np.float32)
    depths = sorted(set(max_depth), key=lambda depth: math.inf if depth is None else depth)
    size = max(n_estimators)
    grow = _growing(rows, y[train], rows_test, n_trees=size, seed=seed, depths=depths)
    classes = np.unique(y[train])
    shares = np.empty((size, len(test), len(classes)))
    reached: list[int | None] = [None] * size
    last: int | None = None
    found: dict[Hyperparameters, float] = {}
    for depth in depths:
        for number in range(size):
            # Ascending: a tree that did not reach one limit is the same under every larger one.
            if reached[number] == last:
                reached[number], shares[number] = grow(number, depth)
        last = depth
        # As scikit-learn predicts: added tree by tree, divided, the first of equal classes.
        totals = np.cumsum(shares, axis=0)
        for trees in n_estimators:
            predicted = classes.take(np.argmax(totals[trees - 1] / trees, axis=1))
            found[Hyperparameters(trees, depth)] = float(np.average(predicted == y[test]))
    return tuple(found[point] for point in grid)


def _growing(
    X: NDArray[np.float32],
    y: NDArray[Any],
    X_test: NDArray[np.float32],
    *,
    n_trees: int,
    seed: int,
    depths: Sequence[int | None],
) -> Callable[[int, int | None], tuple[int, NDArray[np.float64]]]:
    """Return what grows a tree, by its number, to a limit: its depth, and its class shares on test rows."""
    seeds, codes = tree_seeds(seed, n_trees), np.unique(y, return_inverse=True)[1]
    grower = Grower.like(fitting(Caps(depths[-1], None)), X, y, seeds, times=len(depths))
    if grower is not None:
        ranked = grower

        def fast(number: int, limit: int | None) -> tuple[int, NDArray[np.float64]]:
            tree = ranked.grow(number, limit)
            return tree.depth, tree.shares(X_test)

        return fast

    def plain(number: int, limit: int | None) -> tuple[int, NDArray[np.float64]]:
        tree = fit_tree(X, codes, caps=Caps(limit, None), seed=seeds[number])
        return tree.get_depth(), tree.predict_proba(X_test, check_input=False)

    return plain


def choose(
    n_estimators: Sequence[int], max_depth: Sequence[int | None], per_fold: Sequence[Sequence[float]]
) -> tuple[Hyperparameters, tuple[tuple[Hyperparameters, float], ...]]:
    """Return the best point of the grid, and every point with its mean accuracy over the folds.

    Parameters
    ----------
    per_fold
        Results of `fold_accuracies`, in the order of the folds.
    """
    grid = grid_points(n_estimators, max_depth)
    # The same operation as in GridSearchCV: a test compares the results bit for bit.
    means = np.average(np.array(per_fold, dtype=np.float64).T, axis=1)
    return grid[int(np.argmax(means))], tuple(zip(grid, means.tolist(), strict=True))


def _check_folds(y: NDArray[Any], folds: int) -> None:
    if folds < 2:
        raise ValueError(f"folds = {folds} is not 2 or more")
    classes, counts = np.unique(y, return_counts=True)
    if counts.min() < folds:
        rarest = classes[np.argmin(counts)]
        raise DataError(f"class {rarest} has {counts.min()} training rows, fewer than the {folds} folds")
