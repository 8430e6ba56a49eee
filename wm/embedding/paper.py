"""Scheme `paper`: Algorithm 1.

Trees with bit 0 are trained on the training set, trees with bit 1 on the same set with the trigger rows'
labels flipped. The weights of the trigger rows are raised until every tree fits all of them; how, is the
task's training.
"""

from __future__ import annotations

import numpy as np

from wm.embedding.common import Embedded, EmbeddingTask, FittedTree, OnRound, TreeKind
from wm.embedding.trainings import TRAININGS
from wm.errors import EmbeddingError
from wm.forest import Forest


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
    fitted = TRAININGS[task.training](task, {"right": task.y, "wrong": flipped}, on_round)
    trees = tuple(one.tree for one in fitted)
    forest = _with_classes(Forest.from_sklearn(list(trees)))
    rounds_right, weight_right = _most(task, "right", fitted)
    rounds_wrong, weight_wrong = _most(task, "wrong", fitted)
    return Embedded(
        forest,
        rounds_right,
        rounds_wrong,
        weight_right,
        weight_wrong,
        fits=sum(one.fits for one in fitted),
        trees=trees,
    )


def _most(task: EmbeddingTask, kind: TreeKind, fitted: list[FittedTree]) -> tuple[int, float]:
    """Return the most fits and the largest weight among the trees of a kind."""
    trees = [fitted[position] for position in task.trees_of(kind)]
    return max((one.fits for one in trees), default=0), max((one.weight for one in trees), default=1.0)


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
    weight = task.sample_weight
    if weight is not None and (weight.shape != task.y.shape or not (weight > 0).all()):
        raise EmbeddingError("sample_weight must hold a number above 0 for each training row")
    if task.max_rounds < 1:
        raise EmbeddingError("max_rounds must be at least 1")
    _check_training(task)


def _check_training(task: EmbeddingTask) -> None:
    if task.training not in TRAININGS:
        raise EmbeddingError(f"unknown training {task.training!r}; known are: {', '.join(sorted(TRAININGS))}")
    if task.training == "per-tree":
        if len(set(task.tree_seeds)) != len(task.signature) or len(task.tree_seeds) != len(task.signature):
            raise EmbeddingError(
                f"training per-tree needs a seed of its own for each of the {len(task.signature)} trees; "
                f"{len(set(task.tree_seeds))} different ones are given: trees that share one could be paired"
            )
        if task.weight_step is not None:
            raise EmbeddingError(
                "weight_step has no meaning for training per-tree, which multiplies weights: leave it out"
            )
        return
    if task.seed_right == task.seed_wrong:
        raise EmbeddingError("both kinds of trees have the same seed, which would give the signature away")
    if task.weight_step is not None and not task.weight_step > 0:
        raise EmbeddingError("weight_step must be above 0")
    if task.least_weight:
        raise EmbeddingError(f"least_weight is for training per-tree, not {task.training}: leave it out")
