"""Scheme `codebook`: labels are flipped, but in other trees on each trigger row.

Tree i is trained with the labels of those trigger rows flipped on which its bit is 1, and with all trigger
rows as heavy as it takes to fit it. Trees that fit are not trained again. A row's votes are divided in a way
that no other row repeats, and on most rows the majority stays right.
"""

from __future__ import annotations

from wm.codebook import Codebook
from wm.embedding.common import Embedded, EmbeddingTask, FittedTree, OnRound
from wm.embedding.per_tree import TaskFits, fit_one, raise_on_failure, start_after
from wm.embedding.training import forest_of
from wm.errors import EmbeddingError


def embed_codebook(task: EmbeddingTask, on_round: OnRound | None = None) -> Embedded:
    """Embed a codebook; all trees count as trees that must be wrong.

    Raises
    ------
    EmbeddingError
        The task is malformed, or a tree does not fit within the allowed number of fits. A half-embedded
        watermark is never returned.
    """
    codebook = task.signature
    if not isinstance(codebook, Codebook):
        raise EmbeddingError("scheme codebook needs a row of bits for each trigger row")
    task.check()
    from joblib import Parallel, delayed

    each, fitted = TaskFits.of(task), list[FittedTree]()
    with Parallel(n_jobs=task.fit.n_jobs, require="sharedmem") as parallel:
        number = 0
        while len(fitted) < codebook.trees:
            number += 1
            wave = range(len(fitted), min(codebook.trees, max(1, 2 * len(fitted))))
            start = start_after([one.weight for one in fitted], lowest=1.0)
            results = parallel(delayed(fit_one)(each, task.labels_of(tree), tree, start) for tree in wave)
            raise_on_failure(task, [("wrong", tree) for tree in wave], results)
            fitted += [one.fitted() for one in results]
            if on_round is not None:
                on_round("wrong", number, codebook.trees - len(fitted))
    trees = tuple(one.tree for one in fitted)
    return Embedded(
        forest_of(trees),
        rounds_right=0,
        rounds_wrong=max(one.fits for one in fitted),
        weight_right=1.0,
        weight_wrong=max(one.weight for one in fitted),
        fits=sum(one.fits for one in fitted),
        trees=trees,
    )
