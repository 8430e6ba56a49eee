"""Job kind `tune`."""

from __future__ import annotations

from wm.embedding.tuning import choose
from workers.jobs import JobKind, TuneFoldResult, TuneParameters, TuneResult
from workers.runtime.context import Context


def run(parameters: TuneParameters, context: Context) -> TuneResult:
    """Choose the best point of the grid by all folds."""
    folds = sorted(context.inputs(JobKind.TUNE_FOLD, TuneFoldResult), key=lambda result: result.fold)
    found = choose(parameters.n_estimators, parameters.max_depth, [result.accuracies for result in folds])
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
