"""Job kind `embed`."""

from __future__ import annotations

from wm import streams
from wm.claims import NONCE_BYTES, make_claim
from wm.embedding import SCHEMES, EmbeddingTask
from wm.embedding.common import draw_trigger_rows, trigger_size
from wm.errors import EmbeddingError
from wm.forest import Forest
from wm.signature import random_signature
from wm.streams import Role
from wm.training import Caps
from wm.verification import verify
from workers.context import Context
from workers.handlers.inputs import read_split
from workers.jobs import BaselineResult, EmbedParameters, EmbedResult, JobKind


def run(parameters: EmbedParameters, context: Context) -> EmbedResult:
    """Embed one watermark and verify it."""
    split = read_split(context)
    baseline = context.input(JobKind.BASELINE, BaselineResult)
    seed, repeat = parameters.seed, parameters.repeat
    signature = random_signature(
        baseline.n_estimators,
        parameters.ones_share,
        streams.generator(seed, Role.OWNER_SIGNATURE, repeat),
    )
    rows = draw_trigger_rows(
        split.X_train,
        trigger_size(len(split.y_train), parameters.trigger_share),
        streams.generator(seed, Role.OWNER_TRIGGER, repeat),
    )
    task = EmbeddingTask(
        X=split.X_train,
        y=split.y_train,
        signature=signature,
        trigger_rows=rows,
        caps=Caps(baseline.cap_depth, baseline.cap_leaves),
        seed_right=streams.integer_seed(seed, Role.OWNER_TREES_RIGHT, repeat),
        seed_wrong=streams.integer_seed(seed, Role.OWNER_TREES_WRONG, repeat),
        weight_step=parameters.weight_step,
        max_rounds=parameters.max_rounds,
    )
    with context.timed("embed"):
        embedded = SCHEMES[parameters.scheme](task)
    trigger_X, trigger_y = split.X_train[rows], split.y_train[rows]
    evidence = verify(embedded.forest.votes(trigger_X), trigger_y, signature)
    if not evidence.exact_match:
        raise EmbeddingError(
            f"only {evidence.matched_bits} of {evidence.total_bits} bits hold after embedding"
        )
    standard = Forest.from_bytes(context.artifact(baseline.standard))
    claim = make_claim(
        scheme=parameters.scheme,
        signature=signature,
        X=trigger_X,
        y=trigger_y,
        model_hash=embedded.forest.content_hash,
        model_id=f"{split.dataset_sha256[:16]}/{parameters.model_dump_json()}",
        class_names=split.class_names,
        nonce=streams.generator(seed, Role.OWNER_NONCE, repeat).bytes(NONCE_BYTES),
    )
    return EmbedResult(
        forest=context.keep(embedded.forest.to_bytes()),
        claim=context.keep(claim.to_json().encode()),
        trigger_size=len(rows),
        signature=str(signature),
        rounds_right=embedded.rounds_right,
        rounds_wrong=embedded.rounds_wrong,
        weight_right=embedded.weight_right,
        weight_wrong=embedded.weight_wrong,
        accuracy_watermarked=embedded.forest.accuracy(split.X_test, split.y_test),
        accuracy_watermarked_mean_rule=embedded.forest.accuracy_of_mean(split.X_test, split.y_test),
        matched_bits=evidence.matched_bits,
        total_bits=evidence.total_bits,
        exact_match=evidence.exact_match,
        log10_p=evidence.log10_p,
        log10_p_standard=verify(standard.votes(trigger_X), trigger_y, signature).log10_p,
    )
