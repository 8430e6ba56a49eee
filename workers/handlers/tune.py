"""Job kind `tune`."""

from __future__ import annotations

from wm.tuning import grid_search
from workers.context import Context
from workers.handlers.inputs import read_split
from workers.jobs import TuneParameters, TuneResult


def run(parameters: TuneParameters, context: Context) -> TuneResult:
    """Search the grid on the training rows."""
    split = read_split(context)
    found = grid_search(
        split.X_train,
        split.y_train,
        n_estimators=parameters.n_estimators,
        max_depth=parameters.max_depth,
        folds=parameters.folds,
        seed=parameters.seed,
    )
    grid = tuple(
        (score.hyperparameters.n_estimators, score.hyperparameters.max_depth, score.mean_accuracy)
        for score in found.scores
    )
    return TuneResult(
        n_estimators=found.best.n_estimators,
        max_depth=found.best.max_depth,
        mean_accuracy=max(accuracy for _, _, accuracy in grid),
        grid=grid,
    )
