"""Grid search over forests: the paper's choice of hyper-parameters (Algorithm 1, line 1)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.errors import DataError


@dataclass(frozen=True)
class Hyperparameters:
    """Result of a grid search's choice.

    Attributes
    ----------
    n_estimators
        Number of trees, 1 or more.
    max_depth
        Limit on every tree's depth, 1 or more; None: no limit.
    """

    n_estimators: int
    max_depth: int | None

    def __post_init__(self) -> None:
        if self.n_estimators < 1:
            raise ValueError(f"n_estimators = {self.n_estimators} is not 1 or more")
        if self.max_depth is not None and self.max_depth < 1:
            raise ValueError(f"max_depth = {self.max_depth} is not 1 or more")


@dataclass(frozen=True)
class GridScore:
    """Accuracy of one point of the grid over the folds: mean and (population) standard deviation."""

    hyperparameters: Hyperparameters
    mean_accuracy: float
    std_accuracy: float


@dataclass(frozen=True)
class TuningResult:
    """The best point of a grid, and the score of every point in the order of scikit-learn's grid."""

    best: Hyperparameters
    scores: tuple[GridScore, ...]


def grid_search(
    X: NDArray[Any],
    y: NDArray[Any],
    *,
    n_estimators: Sequence[int],
    max_depth: Sequence[int | None],
    folds: int = 3,
    seed: int,
    n_jobs: int = 1,
) -> TuningResult:
    """Choose number and depth of trees by cross-validated accuracy.

    The result is that of scikit-learn's `GridSearchCV(RandomForestClassifier(bootstrap=False,
    random_state=seed), grid, cv=folds)`, bit for bit and with the same order of ties (the first in the order
    depth, then number of trees), but with fewer fits: with one seed a small forest is the first trees of a
    large one, and a tree that does not reach a limit is the same under every larger one.

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
    seed
        The forests' `random_state`.
    n_jobs
        Threads that train one forest.

    Raises
    ------
    DataError
        If a class has fewer rows than there are folds.
    ValueError
        If the grid is empty, or a number in it is out of range.
    """
    per_fold = [
        fold_accuracies(
            X,
            y,
            n_estimators=n_estimators,
            max_depth=max_depth,
            folds=folds,
            fold=fold,
            seed=seed,
            n_jobs=n_jobs,
        )
        for fold in range(folds)
    ]
    return choose(n_estimators, max_depth, per_fold)


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
    n_jobs: int = 1,
) -> tuple[float, ...]:
    """Return the accuracy of each point of the grid, in the order of `grid_points`, on one fold.

    Parameters and errors as in `grid_search`; `fold` counts from 0.
    """
    from sklearn.model_selection import StratifiedKFold

    grid = grid_points(n_estimators, max_depth)
    _check_folds(y, folds)
    # Ascending: a tree that does not reach one limit is not fitted again for larger ones.
    depths = sorted(set(max_depth), key=lambda depth: math.inf if depth is None else depth)
    train, test = list(StratifiedKFold(folds).split(X, y))[fold]
    by_depth = _fold_accuracies(
        X[train], y[train], X[test], y[test], depths, sorted(set(n_estimators)), seed, n_jobs
    )
    found = {point: accuracy for of_depth in by_depth for point, accuracy in of_depth.items()}
    return tuple(found[point] for point in grid)


def choose(
    n_estimators: Sequence[int], max_depth: Sequence[int | None], per_fold: Sequence[Sequence[float]]
) -> TuningResult:
    """Return the best point of the grid by its mean accuracy over the folds.

    Parameters
    ----------
    per_fold
        Results of `fold_accuracies`, in the order of the folds.
    """
    grid = grid_points(n_estimators, max_depth)
    accuracies = np.array(per_fold, dtype=np.float64).T
    # The same operations as in GridSearchCV: a test compares the results bit for bit.
    means = np.average(accuracies, axis=1)
    deviations = np.sqrt(np.average((accuracies - means[:, np.newaxis]) ** 2, axis=1))
    scores = tuple(
        GridScore(point, float(mean), float(deviation))
        for point, mean, deviation in zip(grid, means, deviations, strict=True)
    )
    return TuningResult(best=grid[int(np.argmax(means))], scores=scores)


def _check_folds(y: NDArray[Any], folds: int) -> None:
    if folds < 2:
        raise ValueError(f"folds = {folds} is not 2 or more")
    classes, counts = np.unique(y, return_counts=True)
    if counts.min() < folds:
        rarest = classes[np.argmin(counts)]
        raise DataError(f"class {rarest} has {counts.min()} training rows, fewer than the {folds} folds")


def _fold_accuracies(
    X_train: NDArray[Any],
    y_train: NDArray[Any],
    X_test: NDArray[Any],
    y_test: NDArray[Any],
    depths: Sequence[int | None],
    sizes: Sequence[int],
    seed: int,
    n_jobs: int,
) -> Iterator[dict[Hyperparameters, float]]:
    """Yield, for each depth (ascending), the accuracy of each size (ascending) on one fold's test rows."""
    from joblib import Parallel, delayed
    from sklearn.ensemble import RandomForestClassifier

    rows_train, rows_test = X_train.astype(np.float32), X_test.astype(np.float32)
    model = RandomForestClassifier(
        n_estimators=sizes[-1], max_depth=depths[0], bootstrap=False, random_state=seed, n_jobs=n_jobs
    ).fit(rows_train, y_train)
    codes = np.searchsorted(model.classes_, y_train)
    trees = list(model.estimators_)
    shares = [tree.predict_proba(rows_test, check_input=False) for tree in trees]
    limit = depths[0]
    for depth in depths:
        # A tree that did not reach a limit is the same under every larger one.
        cut = [number for number, tree in enumerate(trees) if depth != limit and tree.get_depth() == limit]
        grown = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(_grow)(trees[number], depth, rows_train, codes) for number in cut
        )
        for number, tree in zip(cut, grown, strict=True):
            trees[number], shares[number] = tree, tree.predict_proba(rows_test, check_input=False)
        limit = depth
        by_size = _prefix_accuracies(shares, model.classes_, y_test, sizes)
        yield {Hyperparameters(size, depth): accuracy for size, accuracy in by_size.items()}


def _grow(tree: Any, depth: int | None, rows: NDArray[np.float32], codes: NDArray[np.int64]) -> Any:
    """Fit a tree of a forest with another limit on its depth."""
    from sklearn.base import clone

    return clone(tree).set_params(max_depth=depth).fit(rows, codes)


def _prefix_accuracies(
    shares: Sequence[NDArray[np.float64]], classes: NDArray[Any], y: NDArray[Any], sizes: Sequence[int]
) -> dict[int, float]:
    """Return the accuracy of the first trees of a forest, for each number of them (ascending).

    As scikit-learn predicts: leaf probabilities summed tree by tree, divided; the first of equal classes
    wins.

    Parameters
    ----------
    shares
        Of each tree, the class shares of the leaves that the rows reach: (n, classes).
    """
    total = np.zeros((len(y), len(classes)), dtype=np.float64)
    accuracies: dict[int, float] = {}
    for number, of_tree in enumerate(shares, start=1):
        total += of_tree
        if number in sizes:
            predicted = classes.take(np.argmax(total / number, axis=1))
            accuracies[number] = float(np.average(predicted == y))
    return accuracies
