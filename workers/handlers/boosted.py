"""The embed job of scheme `boosted`: a marked boosted model beside a plain one of the same settings."""

from __future__ import annotations

import numpy as np

from wm import streams
from wm.boosting import outputs
from wm.claims.claim import NONCE_BYTES, make_claim
from wm.codebook import random_codebook
from wm.datasets import Split
from wm.embedding.boosted.claimed import accuracy
from wm.embedding.boosted.marked import mark
from wm.embedding.common import draw_trigger_rows, trigger_size
from wm.exporting.xgboost_model import write_margins
from wm.streams import Role
from wm.verification.boosted import wrong_signs
from wm.verification.evidence import verify
from workers.jobs.owner import BoostedParameters, EmbedParameters, EmbedResult, HonestFigures
from workers.runtime.context import Context


def embed_boosted(
    parameters: EmbedParameters, context: Context, rows: Split, rounds: int, model_id: str
) -> EmbedResult:
    """Train and verify; all randomness comes from the campaign's owner streams.

    Parameters
    ----------
    rounds
        A tree each, of several classes one for each class.
    """
    seed, repeat = parameters.seed, parameters.repeat
    chosen = parameters.boosted or BoostedParameters()
    size = trigger_size(len(rows.y_train), parameters.trigger_share)
    trees = rounds * outputs(len(rows.class_names))
    codebook = random_codebook(
        size, trees, parameters.ones_share, streams.generator(seed, Role.OWNER_SIGNATURE, repeat)
    )
    triggers = draw_trigger_rows(rows.X_train, size, streams.generator(seed, Role.OWNER_TRIGGER, repeat))
    with context.timed("embed"):
        made = mark(
            rows.X_train,
            rows.y_train,
            triggers,
            codebook,
            options=chosen,
            max_depth=chosen.max_depth,
            seed=streams.integer_seed(seed, Role.OWNER_TREES_WRONG, repeat),
        )
    X, y = rows.X_train[triggers], rows.y_train[triggers]
    claim = make_claim(
        scheme=parameters.scheme,
        signature=codebook,
        X=X,
        y=y,
        model_hash=made.model.forest.content_hash,
        model_id=model_id,
        class_names=rows.class_names,
        nonce=streams.generator(seed, Role.OWNER_NONCE, repeat).bytes(NONCE_BYTES),
    )
    with context.timed("plain"):
        plain = made.plain
    found, fits = made.evidence, made.boosted.fits
    right = np.zeros(size, dtype=np.int64)
    marked_accuracy, plain_accuracy = (
        accuracy(model, rows.X_test, rows.y_test) for model in (made.model, plain)
    )
    return EmbedResult(
        forest=context.keep(made.model.forest.to_bytes()),
        model=context.keep(made.content),
        plain=context.keep(write_margins(plain)),
        claim=context.keep(claim.to_json().encode()),
        signature=str(codebook.flat),
        trigger_size=size,
        nodes=len(made.model.forest.left),
        rounds_right=0,
        rounds_wrong=fits,
        weight_right=1.0,
        weight_wrong=float(made.boosted.weight.max()),
        accuracy_watermarked=marked_accuracy,
        accuracy_watermarked_mean_rule=marked_accuracy,
        matched_bits=found.matched_bits,
        total_bits=found.total_bits,
        exact_match=found.exact_match,
        log10_p=found.log10_p,
        log10_p_standard=verify(wrong_signs(plain, X, y).astype(np.int64), right, codebook).log10_p,
        honest=HonestFigures(
            n_estimators=trees,
            max_depth=chosen.max_depth,
            accuracy_standard=plain_accuracy,
            accuracy_standard_mean_rule=plain_accuracy,
        ),
    )
