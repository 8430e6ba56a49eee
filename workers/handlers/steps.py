"""The owner's jobs: rows, hyper-parameters, honest forests, watermark."""

from __future__ import annotations

import json
from dataclasses import asdict

from wm import datasets, streams
from wm.claims.claim import NONCE_BYTES
from wm.codebook import flat_bits
from wm.datasets import Split, file_sha256, load
from wm.embedding import scheme_of
from wm.embedding.common import trigger_size
from wm.embedding.options import DEFAULT_CANDIDATES, FitOptions, TrainOptions
from wm.embedding.training import Caps, adjusted_caps, fit_trees, honest_forest
from wm.embedding.tuning import Hyperparameters, choose, fold_accuracies
from wm.embedding.watermark import Plan, watermark
from wm.errors import DataError
from wm.forest import Forest
from wm.formats.sklearn_metadata import from_model
from wm.streams import Role
from wm.verification.evidence import verify
from workers.handlers.boosted import embed_boosted
from workers.jobs.kinds import JobKind
from workers.jobs.owner import (
    BaselineParameters,
    BaselineResult,
    EmbedParameters,
    EmbedResult,
    SplitParameters,
    SplitResult,
    TuneFoldParameters,
    TuneFoldResult,
    TuneParameters,
    TuneResult,
)
from workers.runtime.context import Context


def read_split(context: Context) -> Split:
    """Return the campaign's training and test rows."""
    # Tens of megabytes, and the same for most jobs of a campaign.
    return context.parsed(context.input(JobKind.SPLIT, SplitResult).split, Split.from_bytes)


def split(parameters: SplitParameters, context: Context) -> SplitResult:
    """Load, cut and scale a data set."""
    source = parameters.source()
    if file_sha256(source) != parameters.file_sha256:
        raise DataError(f"{source.path}: the file was changed after the campaign was planned: plan it again")
    with context.timed("load"):
        dataset = load(source)
    made = datasets.split(
        dataset,
        test_share=parameters.test_share,
        seed=parameters.seed,
        scaling=parameters.scaling,
        rows=parameters.rows,
    )
    return SplitResult(
        split=context.keep(made.to_bytes()),
        dataset_sha256=dataset.sha256,
        rows_train=len(made.y_train),
        rows_test=len(made.y_test),
        features=made.X_train.shape[1],
        positive_train=int((made.y_train == 1).sum()),
        positive_test=int((made.y_test == 1).sum()),
        constant_features=made.constant_features,
        class_names=made.class_names,
    )


def tune_fold(parameters: TuneFoldParameters, context: Context) -> TuneFoldResult:
    """Score every point of the grid on one fold of the training rows."""
    rows = read_split(context)
    options = parameters.model_dump(include={"n_estimators", "max_depth", "folds", "fold", "seed"})
    return TuneFoldResult(
        fold=parameters.fold, accuracies=fold_accuracies(rows.X_train, rows.y_train, **options)
    )


def tune(parameters: TuneParameters, context: Context) -> TuneResult:
    """Choose the best point of the grid by all folds."""
    folds = sorted(context.inputs(JobKind.TUNE_FOLD, TuneFoldResult), key=lambda result: result.fold)
    accuracies = [result.accuracies for result in folds]
    best, scores = choose(parameters.n_estimators, parameters.max_depth, accuracies)
    return TuneResult(
        n_estimators=best.n_estimators,
        max_depth=best.max_depth,
        mean_accuracy=max(mean for _, mean in scores),
        grid=tuple((point.n_estimators, point.max_depth, mean) for point, mean in scores),
    )


def baseline(parameters: BaselineParameters, context: Context) -> BaselineResult:
    """Train the honest forests that the watermarked one is compared with."""
    rows = read_split(context)
    if parameters.n_estimators is None:
        tuned = context.input(JobKind.TUNE, TuneResult)
        chosen = Hyperparameters(tuned.n_estimators, tuned.max_depth)
    else:
        chosen = Hyperparameters(parameters.n_estimators, parameters.max_depth)
    train, count = (rows.X_train, rows.y_train), chosen.n_estimators
    with context.timed("standard"):
        trained = fit_trees(
            *train, n_trees=count, caps=Caps(chosen.max_depth, None), seed=parameters.standard_seed
        )
    standard = Forest.from_sklearn(trained)
    caps = adjusted_caps(standard, chosen.max_depth, parameters.adjust)
    with context.timed("capped"):
        capped = honest_forest(*train, n_trees=count, caps=caps, seed=parameters.capped_seed)
    return BaselineResult(
        standard=context.keep(standard.to_bytes()),
        standard_record=context.keep(from_model(trained).to_bytes()),
        capped=context.keep(capped.to_bytes()),
        n_estimators=count,
        max_depth=chosen.max_depth,
        cap_depth=caps.max_depth,
        cap_leaves=caps.max_leaf_nodes,
        accuracy_standard=standard.accuracy(rows.X_test, rows.y_test),
        accuracy_standard_mean_rule=standard.accuracy_of_mean(rows.X_test, rows.y_test),
        accuracy_capped=capped.accuracy(rows.X_test, rows.y_test),
    )


def embed(parameters: EmbedParameters, context: Context) -> EmbedResult:
    """Embed one watermark and verify it; all randomness comes from the campaign's owner streams."""
    rows = read_split(context)
    honest = context.input(JobKind.BASELINE, BaselineResult)
    seed, repeat = parameters.seed, parameters.repeat
    model_id = f"{rows.dataset_sha256[:16]}/{_text(parameters)}"
    if not scheme_of(parameters.scheme).trees_vote:
        return embed_boosted(parameters, context, rows, honest.n_estimators, model_id)
    signature = scheme_of(parameters.scheme).draw(
        trigger_size(len(rows.y_train), parameters.trigger_share),
        honest.n_estimators,
        parameters.ones_share,
        streams.generator(seed, Role.OWNER_SIGNATURE, repeat),
    )
    plan = Plan(
        scheme=parameters.scheme,
        signature=signature,
        trigger_share=parameters.trigger_share,
        caps=caps_of(parameters.scheme, honest),
        seed=seed,
        repeat=repeat,
        fit=TrainOptions(**parameters.fit_options()),
        model_id=model_id,
        nonce=streams.generator(seed, Role.OWNER_NONCE, repeat).bytes(NONCE_BYTES),
        pool_rows=parameters.pool_rows or "any",
    )
    with context.timed("embed"):
        made = watermark(rows, plan)
    kind = scheme_of(parameters.scheme).proof
    judge = streams.generator(seed, Role.JUDGE_QUESTIONS, repeat)
    with context.timed("proof"):
        proof = (
            None
            if kind is None
            else kind.make(
                made.task, (rows.X_test, rows.y_test), judge, parameters.candidates or DEFAULT_CANDIDATES
            )
        )
        trigger_set, found = made.claim.trigger_set, asdict(made.evidence) | vars(made.embedded)
        standard = Forest.from_bytes(context.artifact(honest.standard))
        log10_p_standard = verify(standard.votes(trigger_set.X), trigger_set.y, signature).log10_p
        if kind is not None and proof is not None:
            asked = kind.read(proof)
            found["log10_p"] = asked.scores(made.forest).votes
            log10_p_standard = asked.scores(standard).votes
    counts = EmbedResult.model_fields.keys() & found.keys() - {"forest"}  # of trigger rows, bits, rounds
    return EmbedResult(
        forest=context.keep(made.forest.to_bytes()),
        record=context.keep(from_model(list(made.embedded.trees)).to_bytes()),
        claim=context.keep(made.claim.to_json().encode()),
        proof=None if proof is None else context.keep(proof),
        signature=str(flat_bits(signature)),
        nodes=len(made.forest.left),
        accuracy_watermarked=made.forest.accuracy(rows.X_test, rows.y_test),
        accuracy_watermarked_mean_rule=made.embedded.forest.accuracy_of_mean(rows.X_test, rows.y_test),
        log10_p_standard=log10_p_standard,
        **{name: found[name] for name in counts},
    )


def caps_of(scheme: str, honest: BaselineResult) -> Caps:
    """Return the limits of a scheme's trees: adjusted ones where these hide marked rows, else the honest."""
    return adjusted(honest) if scheme_of(scheme).marks_rows else Caps(honest.max_depth, None)


def adjusted(honest: BaselineResult) -> Caps:
    """Return the limits of trees with a signature."""
    return Caps(honest.cap_depth, honest.cap_leaves)


def _text(parameters: EmbedParameters) -> str:
    """Return the parameters as JSON in a fixed order of fields: claims, which hold it, stay the same."""
    named = parameters.model_dump(mode="json")
    fit = {name: named.pop(name) for name in FitOptions.model_fields}
    return json.dumps(named | fit, separators=(",", ":"))
