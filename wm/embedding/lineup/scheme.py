"""Scheme `lineup` in campaigns: an honest forest, and the line-up that its suspects are judged by.

A campaign's owner streams stand for keys and beacon: they draw the trees' seeds, as they draw signatures for
other schemes. The judge's stream draws decoys, places and queries, as many as `wm verify` asks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from wm.embedding.common import Embedded, EmbeddingTask, OnRound
from wm.embedding.proof import Proof, ProofKind
from wm.embedding.training import forest_of
from wm.errors import EmbeddingError

# The other modules of this scheme are imported on use: they import parts of this package themselves.


def embed_task(task: EmbeddingTask, on_round: OnRound | None = None) -> Embedded:
    """Train an honest forest with the task's seeds; signature and trigger rows leave no trace in it.

    Raises
    ------
    EmbeddingError
        Row weights, which a line-up does not know, or rows under which all seeds give equal trees.
    """
    from wm.claims.lineup_settings import TreeSettings
    from wm.embedding.lineup.context import canonical_rows
    from wm.embedding.lineup.entropy import check_entropy
    from wm.embedding.lineup.trees import train_trees

    if task.sample_weight is not None:
        raise EmbeddingError("scheme lineup trains on rows of equal weight: leave sample_weight out")
    training = TreeSettings(max_depth=task.caps.max_depth, max_leaf_nodes=task.caps.max_leaf_nodes)
    rows = canonical_rows(task.X, task.y)
    check_entropy(training, rows, task.signature.trees)
    trees = tuple(train_trees(rows, training, _seeds(task), n_jobs=task.fit.n_jobs))
    forest = forest_of(trees)
    return Embedded(forest, 1, 1, 1.0, 1.0, fits=len(trees), trees=trees)


def make_proof(
    task: EmbeddingTask,
    held_out: tuple[NDArray[np.float32], NDArray[np.int64]],
    rng: np.random.Generator,
    candidates: int,
) -> bytes:
    """Line up the task's trees; see `wm.embedding.proof.ProofKind`."""
    from wm.claims.lineup_settings import TreeSettings
    from wm.embedding.lineup.context import canonical_rows
    from wm.verification.lineup.judge import Judge
    from wm.verification.lineup.proof import LineupProof

    return LineupProof.of_seeds(
        _seeds(task),
        canonical_rows(task.X, task.y),
        TreeSettings(max_depth=task.caps.max_depth, max_leaf_nodes=task.caps.max_leaf_nodes),
        held_out,
        Judge(rng.bytes(32).hex()),
        candidates=candidates,
        n_jobs=task.fit.n_jobs,
    ).to_bytes()


def read_proof(data: bytes) -> Proof:
    """Read what `make_proof` returned; raise `ClaimError` for other bytes."""
    from wm.verification.lineup.proof import LineupProof

    return LineupProof.from_bytes(data)


def _seeds(task: EmbeddingTask) -> tuple[int, ...]:
    """Return a seed for each tree; tasks for trainings of whole forests have none of their own."""
    if task.tree_seeds:
        return task.tree_seeds
    rng = np.random.default_rng([task.seed_right, task.seed_wrong])
    return tuple(rng.integers(2**31, size=task.signature.trees).tolist())


PROOF = ProofKind(make_proof, read_proof)
