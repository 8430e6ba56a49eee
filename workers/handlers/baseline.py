"""Job kind `baseline`."""

from __future__ import annotations

from wm.embedding.training import adjusted_caps, fit_trees, honest_forest, standard_caps
from wm.embedding.tuning import Hyperparameters
from wm.forest import Forest
from wm.formats.sklearn_metadata import from_model
from workers.handlers.inputs import read_split
from workers.jobs import BaselineParameters, BaselineResult, JobKind, TuneResult
from workers.runtime.context import Context


def run(parameters: BaselineParameters, context: Context) -> BaselineResult:
    """Train the honest forests that the watermarked one is compared with."""
    split = read_split(context)
    if parameters.n_estimators is None:
        tuned = context.input(JobKind.TUNE, TuneResult)
        chosen = Hyperparameters(tuned.n_estimators, tuned.max_depth)
    else:
        chosen = Hyperparameters(parameters.n_estimators, parameters.max_depth)
    with context.timed("standard"):
        trained = fit_trees(
            split.X_train,
            split.y_train,
            n_trees=chosen.n_estimators,
            caps=standard_caps(chosen),
            seed=parameters.standard_seed,
        )
    standard = Forest.from_sklearn(trained)
    caps = adjusted_caps(standard, chosen, parameters.adjust)
    with context.timed("capped"):
        capped = honest_forest(
            split.X_train,
            split.y_train,
            n_trees=chosen.n_estimators,
            caps=caps,
            seed=parameters.capped_seed,
        )
    return BaselineResult(
        standard=context.keep(standard.to_bytes()),
        standard_record=context.keep(from_model(trained).to_bytes()),
        capped=context.keep(capped.to_bytes()),
        n_estimators=chosen.n_estimators,
        max_depth=chosen.max_depth,
        cap_depth=caps.max_depth,
        cap_leaves=caps.max_leaf_nodes,
        accuracy_standard=standard.accuracy(split.X_test, split.y_test),
        accuracy_standard_mean_rule=standard.accuracy_of_mean(split.X_test, split.y_test),
        accuracy_capped=capped.accuracy(split.X_test, split.y_test),
    )
