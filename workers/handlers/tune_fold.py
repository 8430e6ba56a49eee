"""Job kind `tune-fold`."""

from __future__ import annotations

from wm.embedding.tuning import fold_accuracies
from workers.handlers.inputs import read_split
from workers.jobs import TuneFoldParameters, TuneFoldResult
from workers.runtime.context import Context


def run(parameters: TuneFoldParameters, context: Context) -> TuneFoldResult:
    """Score every point of the grid on one fold of the training rows."""
    split = read_split(context)
    accuracies = fold_accuracies(
        split.X_train,
        split.y_train,
        n_estimators=parameters.n_estimators,
        max_depth=parameters.max_depth,
        folds=parameters.folds,
        fold=parameters.fold,
        seed=parameters.seed,
    )
    return TuneFoldResult(fold=parameters.fold, accuracies=accuracies)
