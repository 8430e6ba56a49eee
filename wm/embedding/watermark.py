"""An owner's whole procedure on one split: draw the trigger set, embed, verify, make the claim.

The command line and the campaign's `embed` jobs both call this, with different sources of randomness.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from wm import streams
from wm.claims.claim import Claim, make_claim
from wm.codebook import Marks
from wm.datasets import Split
from wm.embedding import Embedded, EmbeddingTask, scheme_of
from wm.embedding.common import OnRound, draw_trigger_rows, draw_wrong_labels, trigger_size
from wm.embedding.divided import draw_divided_rows
from wm.embedding.options import PoolRows, TrainOptions
from wm.embedding.training import Caps
from wm.errors import EmbeddingError
from wm.forest import Forest
from wm.formats.scrubbing import scrubbed
from wm.interface import Owned
from wm.streams import Role
from wm.verification.evidence import Evidence, verify


@dataclass(frozen=True)
class Plan:
    """The owner's decisions."""

    scheme: str
    """A key of `wm.embedding.SCHEMES`."""
    signature: Marks
    """m bits; in scheme codebook as many for each trigger row, in the order of the trigger rows."""
    trigger_share: float
    """Share of the training rows, in (0, 1)."""
    caps: Caps
    """Limits on every tree."""
    seed: int
    repeat: int
    """The owner's streams (trigger rows, both kinds of trees) are spawned from these."""
    model_id: str
    """The owner's name for the model, written into the claim."""
    fit: TrainOptions = field(default_factory=TrainOptions)
    """How the trees are made to fit the trigger set."""
    nonce: bytes | None = None
    """Secret bytes for the claim's commitment; None draws them from the system."""
    created: str | None = None
    """Time for the claim, ISO 8601, or None."""
    trigger_rows: tuple[int, ...] | None = None
    """Indexes of the trigger rows among the training rows; None draws them by `seed`."""
    pool_rows: PoolRows = "any"
    """Of which rows they are drawn, see `wm.embedding.divided`; "divided" is for scheme codebook."""


@dataclass(frozen=True, eq=False, repr=False)
class WatermarkedForest(Owned):
    """A watermarked forest, the owner's claim, and the evidence of the claim on the forest."""

    forest: Forest
    """To be released: scrubbed of everything that its votes do not need, see `wm.formats.scrubbing`."""
    embedded: Embedded
    """As trained, with weighted class shares that give the signature away: secret."""
    claim: Claim
    evidence: Evidence
    """Of the released forest."""
    task: EmbeddingTask
    """What was embedded, and how: secret."""


def watermark(split: Split, plan: Plan, on_round: OnRound | None = None) -> WatermarkedForest:
    """Train a watermarked forest on a split's training rows and verify it.

    Raises
    ------
    EmbeddingError
        Unknown scheme, impossible trigger set, or a watermark that does not fit; see the scheme's function.
    """
    return watermark_rows(split.X_train, split.y_train, split.class_names, plan, on_round=on_round)


def watermark_rows(
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    class_names: tuple[str, ...],
    plan: Plan,
    *,
    sample_weight: NDArray[np.float64] | None = None,
    on_round: OnRound | None = None,
) -> WatermarkedForest:
    """Train a watermarked forest on bare training rows and verify it.

    Parameters
    ----------
    X : (n, d) float32
    y : (n,)
        0, 1, ....
    class_names
        Names of these classes, written into the claim.
    sample_weight : (n,) or None
        As in `wm.embedding.EmbeddingTask`.

    Raises
    ------
    EmbeddingError
        As in `watermark`.
    """
    scheme = scheme_of(plan.scheme)
    rows = _trigger_rows(X, y, plan)
    task = EmbeddingTask(
        X=X,
        y=y,
        signature=plan.signature,
        trigger_rows=rows,
        caps=plan.caps,
        seed_right=streams.integer_seed(plan.seed, Role.OWNER_TREES_RIGHT, plan.repeat),
        seed_wrong=streams.integer_seed(plan.seed, Role.OWNER_TREES_WRONG, plan.repeat),
        fit=plan.fit,
        tree_seeds=streams.distinct_seeds(plan.seed, Role.OWNER_TREE, plan.signature.trees, plan.repeat),
        sample_weight=sample_weight,
        wrong_labels=draw_wrong_labels(
            y[rows], len(class_names), streams.generator(plan.seed, Role.OWNER_WRONG_LABELS, plan.repeat)
        ),
    )
    embedded = scheme.embed(task, on_round)
    forest = scrubbed(embedded.forest)
    claim = make_claim(
        scheme=plan.scheme,
        signature=plan.signature,
        X=X[rows],
        y=y[rows],
        model_hash=forest.content_hash,
        model_id=plan.model_id,
        class_names=class_names,
        nonce=plan.nonce,
        created=plan.created,
    )
    trigger_set = claim.trigger_set
    evidence = verify(forest.votes(trigger_set.X), trigger_set.y, plan.signature)
    if scheme.marks_rows and not evidence.exact_match:
        raise EmbeddingError(
            f"only {evidence.matched_bits} of {evidence.total_bits} bits hold after embedding"
        )
    return WatermarkedForest(forest, embedded, claim, evidence, task)


def _trigger_rows(X: NDArray[np.float32], y: NDArray[np.int64], plan: Plan) -> NDArray[np.int64]:
    if plan.trigger_rows is not None:
        return np.array(plan.trigger_rows, dtype=np.int64)
    size = trigger_size(len(X), plan.trigger_share)
    rng = streams.generator(plan.seed, Role.OWNER_TRIGGER, plan.repeat)
    if plan.pool_rows == "any":
        return draw_trigger_rows(X, size, rng)
    return draw_divided_rows(X, y, size, plan.signature.share, caps=plan.caps, rng=rng)
