"""Job kind `embed`."""

from __future__ import annotations

import json

from wm import streams
from wm.claims.claim import NONCE_BYTES
from wm.embedding.options import FitOptions, TrainOptions
from wm.embedding.training import Caps
from wm.embedding.watermark import Plan, watermark
from wm.forest import Forest
from wm.formats.sklearn_metadata import from_model
from wm.signature import random_signature
from wm.streams import Role
from wm.verification.evidence import verify
from workers.handlers.inputs import read_split
from workers.jobs import BaselineResult, EmbedParameters, EmbedResult, JobKind
from workers.runtime.context import Context


def _text(parameters: EmbedParameters) -> str:
    """Return the parameters as JSON in a fixed order of fields: claims, which hold it, stay the same."""
    named = parameters.model_dump(mode="json")
    fit = {name: named.pop(name) for name in FitOptions.model_fields}
    return json.dumps(named | fit, separators=(",", ":"))


def run(parameters: EmbedParameters, context: Context) -> EmbedResult:
    """Embed one watermark and verify it; all randomness comes from the campaign's owner streams."""
    split = read_split(context)
    baseline = context.input(JobKind.BASELINE, BaselineResult)
    seed, repeat = parameters.seed, parameters.repeat
    plan = Plan(
        scheme=parameters.scheme,
        signature=random_signature(
            baseline.n_estimators,
            parameters.ones_share,
            streams.generator(seed, Role.OWNER_SIGNATURE, repeat),
        ),
        trigger_share=parameters.trigger_share,
        caps=Caps(baseline.cap_depth, baseline.cap_leaves),
        seed=seed,
        repeat=repeat,
        fit=TrainOptions(**parameters.fit_options()),
        model_id=f"{split.dataset_sha256[:16]}/{_text(parameters)}",
        nonce=streams.generator(seed, Role.OWNER_NONCE, repeat).bytes(NONCE_BYTES),
    )
    with context.timed("embed"):
        made = watermark(split, plan)
    forest, trigger_set = made.forest, made.claim.trigger_set
    standard = Forest.from_bytes(context.artifact(baseline.standard))
    return EmbedResult(
        forest=context.keep(forest.to_bytes()),
        record=context.keep(from_model(list(made.embedded.trees)).to_bytes()),
        claim=context.keep(made.claim.to_json().encode()),
        trigger_size=made.evidence.trigger_size,
        signature=str(plan.signature),
        rounds_right=made.embedded.rounds_right,
        rounds_wrong=made.embedded.rounds_wrong,
        weight_right=made.embedded.weight_right,
        weight_wrong=made.embedded.weight_wrong,
        accuracy_watermarked=forest.accuracy(split.X_test, split.y_test),
        accuracy_watermarked_mean_rule=made.embedded.forest.accuracy_of_mean(split.X_test, split.y_test),
        matched_bits=made.evidence.matched_bits,
        total_bits=made.evidence.total_bits,
        exact_match=made.evidence.exact_match,
        log10_p=made.evidence.log10_p,
        log10_p_standard=verify(standard.votes(trigger_set.X), trigger_set.y, plan.signature).log10_p,
    )
