"""Scheme `paper`: Algorithm 1.

Trees with bit 0 are trained on the training set, trees with bit 1 on the same set with the trigger rows'
labels flipped. In either group the weight of every trigger row is raised until every tree fits all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wm.embedding.common import Embedded, EmbeddingTask, OnRound
from wm.errors import EmbeddingError
from wm.forest import Forest
from wm.training import fit_trees


def embed_paper(task: EmbeddingTask, on_round: OnRound | None = None) -> Embedded:
    """Embed a signature (Algorithm 1, Section 3.2).

    Raises
    ------
    EmbeddingError
        The task is malformed, or the trigger set does not fit within `max_rounds`; the text says how far it
        came. A half-embedded watermark is never returned.
    """
    _check(task)
    flipped = task.y.copy()
    flipped[task.trigger_rows] = 1 - flipped[task.trigger_rows]
    zeros = len(task.signature) - task.signature.ones
    right, rounds_right, weight_right = _train_with_trigger(task, "right", task.y, zeros, on_round)
    wrong, rounds_wrong, weight_wrong = _train_with_trigger(
        task, "wrong", flipped, task.signature.ones, on_round
    )
    trees = {0: iter(right), 1: iter(wrong)}
    forest = Forest.from_sklearn([next(trees[bit]) for bit in task.signature.bits])
    return Embedded(_with_classes(forest), rounds_right, rounds_wrong, weight_right, weight_wrong)


def _train_with_trigger(
    task: EmbeddingTask, kind: str, y: NDArray[np.int64], n_trees: int, on_round: OnRound | None
) -> tuple[list[Any], int, float]:
    """Return trees that all fit the trigger rows' labels in y, the fits it took and the final weight."""
    if n_trees == 0:
        return [], 0, 1.0
    weight = np.ones(len(y))
    trigger = task.trigger_rows
    unfit = n_trees
    for number in range(1, task.max_rounds + 1):
        model = fit_trees(
            task.X,
            y,
            n_trees=n_trees,
            caps=task.caps,
            seed=task.seed_right if kind == "right" else task.seed_wrong,
            sample_weight=weight,
        )
        missed = Forest.from_sklearn(model).votes(task.X[trigger]) != y[trigger][:, None]
        unfit = int(missed.any(axis=0).sum())
        if on_round is not None:
            on_round(kind, number, unfit)
        if not unfit:
            return list(model.estimators_), number, float(weight[trigger[0]])
        weight[trigger] += task.weight_step
    raise EmbeddingError(
        f"the watermark does not fit: after {task.max_rounds} rounds (trigger weight "
        f"{weight[trigger[0]] - task.weight_step:g}) {unfit} of the {n_trees} trees that must be {kind} "
        f"still miss {int(missed.any(axis=1).sum())} of the {len(trigger)} trigger rows: raise max_rounds or "
        'weight_step, lower trigger_share, or use adjust = "artifact"'
    )


def _with_classes(forest: Forest) -> Forest:
    """Give the trees' encoded classes 0.0 and 1.0 back as the labels 0 and 1."""
    return Forest.from_arrays(
        offset=forest.offset,
        left=forest.left,
        right=forest.right,
        feature=forest.feature,
        threshold=forest.threshold,
        value=forest.value,
        n_features=forest.n_features,
        classes=[0, 1],
    )


def _check(task: EmbeddingTask) -> None:
    if not np.isin(task.y, (0, 1)).all() or len(np.unique(task.y)) < 2:
        raise EmbeddingError("labels must be 0 and 1, both of them present")
    rows = task.trigger_rows
    if not len(rows) or len(np.unique(rows)) != len(rows) or rows.min() < 0 or rows.max() >= len(task.y):
        raise EmbeddingError("trigger rows must be distinct indexes into the training rows, at least one")
    flipped = np.delete(task.y, rows).tolist() + (1 - task.y[rows]).tolist()
    if task.signature.ones and len(set(flipped)) < 2:
        raise EmbeddingError("flipping the trigger rows leaves one class only: draw another trigger set")
    if task.seed_right == task.seed_wrong:
        raise EmbeddingError("both kinds of trees have the same seed, which would give the signature away")
    if not task.weight_step > 0 or task.max_rounds < 1:
        raise EmbeddingError("weight_step must be above 0 and max_rounds at least 1")
