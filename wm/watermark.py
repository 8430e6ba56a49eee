"""The owner's whole job on one split: draw trigger set, embed, verify, make the claim.

The command line and the campaign's `embed` jobs both call this; they differ in where randomness comes from.
"""

from __future__ import annotations

from dataclasses import dataclass

from wm import streams
from wm.claims import Claim, make_claim
from wm.datasets import Split
from wm.embedding import SCHEMES, Embedded, EmbeddingTask
from wm.embedding.common import OnRound, draw_trigger_rows, trigger_size
from wm.errors import EmbeddingError
from wm.signature import Signature
from wm.streams import Role
from wm.training import Caps
from wm.verification import Evidence, verify


@dataclass(frozen=True)
class Plan:
    """What the owner decides.

    Attributes
    ----------
    scheme
        A key of `wm.embedding.SCHEMES`.
    signature
        m bits.
    trigger_share
        Share of the training rows, in (0, 1).
    caps
        Limits on every tree.
    seed, repeat
        The owner's streams (trigger rows, both kinds of trees) are spawned from these.
    weight_step, max_rounds
        As in `wm.embedding.EmbeddingTask`.
    model_id
        The owner's name for the model, written into the claim.
    nonce
        Secret bytes for the claim's commitment; None draws them from the system.
    created
        Time for the claim, ISO 8601, or None.
    """

    scheme: str
    signature: Signature
    trigger_share: float
    caps: Caps
    seed: int
    repeat: int
    weight_step: float
    max_rounds: int
    model_id: str
    nonce: bytes | None = None
    created: str | None = None


@dataclass(frozen=True, eq=False)
class Watermarked:
    """A watermarked forest, the owner's claim, and what verification says of the two."""

    embedded: Embedded
    claim: Claim
    evidence: Evidence


def watermark(split: Split, plan: Plan, on_round: OnRound | None = None) -> Watermarked:
    """Embed a watermark and verify it.

    Raises
    ------
    EmbeddingError
        Unknown scheme, impossible trigger set, or a watermark that does not fit; see the scheme's function.
    """
    if plan.scheme not in SCHEMES:
        raise EmbeddingError(f"unknown scheme {plan.scheme!r}; known are: {', '.join(sorted(SCHEMES))}")
    rows = draw_trigger_rows(
        split.X_train,
        trigger_size(len(split.y_train), plan.trigger_share),
        streams.generator(plan.seed, Role.OWNER_TRIGGER, plan.repeat),
    )
    task = EmbeddingTask(
        X=split.X_train,
        y=split.y_train,
        signature=plan.signature,
        trigger_rows=rows,
        caps=plan.caps,
        seed_right=streams.integer_seed(plan.seed, Role.OWNER_TREES_RIGHT, plan.repeat),
        seed_wrong=streams.integer_seed(plan.seed, Role.OWNER_TREES_WRONG, plan.repeat),
        weight_step=plan.weight_step,
        max_rounds=plan.max_rounds,
    )
    embedded = SCHEMES[plan.scheme](task, on_round)
    claim = make_claim(
        scheme=plan.scheme,
        signature=plan.signature,
        X=split.X_train[rows],
        y=split.y_train[rows],
        model_hash=embedded.forest.content_hash,
        model_id=plan.model_id,
        class_names=split.class_names,
        nonce=plan.nonce,
        created=plan.created,
    )
    trigger_set = claim.trigger_set
    evidence = verify(embedded.forest.votes(trigger_set.X), trigger_set.y, plan.signature)
    if not evidence.exact_match:
        raise EmbeddingError(
            f"only {evidence.matched_bits} of {evidence.total_bits} bits hold after embedding"
        )
    return Watermarked(embedded, claim, evidence)
