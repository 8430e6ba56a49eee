"""Trainings `paper` and `artifact`: Algorithm 1's `TrainWithTrigger`.

All trees of a kind are trained as one forest. Until all of them fit, the weight of every trigger row is
raised and the whole forest is trained again.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from wm.embedding.common import EmbeddingTask, FittedTree, OnRound, TreeKind
from wm.embedding.growing import tree_seeds
from wm.embedding.training import fit_trees, forest_of, trigger_grower
from wm.errors import EmbeddingError

_TIMES = 4
"""Rounds to expect at least."""


def train_together(
    task: EmbeddingTask,
    labels: Mapping[TreeKind, NDArray[np.int64]],
    on_round: OnRound | None,
    *,
    first_weight: float,
    default_step: float,
) -> list[FittedTree]:
    """Train each kind of trees together; see `wm.embedding.paper.Train`.

    Parameters
    ----------
    first_weight
        Of a trigger row in the first round.
    default_step
        Added in each round where the task has no `weight_step`.

    Raises
    ------
    EmbeddingError
        A tree does not fit after the allowed number of rounds.
    """
    step = default_step if task.fit.weight_step is None else task.fit.weight_step
    fitted = {kind: iter(_train(task, kind, labels[kind], first_weight, step, on_round)) for kind in labels}
    return [next(fitted["wrong" if bit else "right"]) for bit in task.signature.array]


def _train(
    task: EmbeddingTask,
    kind: TreeKind,
    y: NDArray[np.int64],
    first_weight: float,
    step: float,
    on_round: OnRound | None,
) -> list[FittedTree]:
    """Return the trees of a kind, which all fit the trigger rows' labels in y."""
    n_trees = len(task.trees_of(kind))
    if n_trees == 0:
        return []
    trigger = task.trigger_rows
    seed = task.seed_right if kind == "right" else task.seed_wrong
    seeds = tree_seeds(seed, n_trees)
    grower = trigger_grower(task, seeds, times=_TIMES)
    grower = grower and grower.relabelled(y)
    weight = first_weight
    unfit = n_trees
    for number in range(1, task.fit.max_rounds + 1):
        weight = first_weight + (number - 1) * step
        exact = grower and grower.weighted(weight)
        if exact is not None:
            trees = [exact.fitted(each) for each in seeds]
        else:
            weights = task.weights(weight)
            model = fit_trees(task.X, y, n_trees=n_trees, caps=task.caps, seed=seed, sample_weight=weights)
            trees = model.estimators_
        missed = forest_of(trees).votes(task.X[trigger]) != y[trigger][:, None]
        unfit = int(missed.any(axis=0).sum())
        if on_round is not None:
            on_round(kind, number, unfit)
        if not unfit:
            return [FittedTree(tree, number, weight) for tree in trees]
    raise EmbeddingError(
        f"the watermark does not fit: after {task.fit.max_rounds} rounds (trigger weight {weight:g}) {unfit} "
        f"of the {n_trees} trees that must be {kind} still miss {int(missed.any(axis=1).sum())} of the "
        f"{len(trigger)} trigger rows: raise max_rounds or weight_step, lower trigger_share, or use "
        'adjust = "artifact"'
    )
