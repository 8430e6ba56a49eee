"""From a campaign to its jobs, and what its data make impossible."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orchestrator.errors import SpecError
from orchestrator.plan.attacks import Watermark, attacks_on_campaign, attacks_on_watermark
from orchestrator.plan.base import Cell, DataFacts, PlannedJob, make_job
from orchestrator.spec import CampaignSpec, TuneSpec
from orchestrator.spec.draft import Fault
from wm import streams
from wm.embedding.common import trigger_size
from wm.errors import EmbeddingError
from wm.signature import count_of_ones
from wm.streams import Role
from workers.jobs import (
    BaselineParameters,
    EmbedParameters,
    JobKind,
    SplitParameters,
    TuneFoldParameters,
    TuneParameters,
)


def faults_against_data(spec: CampaignSpec, facts: DataFacts | None) -> Iterator[Fault]:
    """Yield what the data, or the number of trees, make impossible.

    Parameters
    ----------
    spec
        A campaign, or the draft of one of which parts are wrong: these are passed over.
    facts
        None where the data cannot be used.
    """
    embedding = getattr(spec, "embedding", None)
    for share in getattr(embedding, "trigger_share", ()):
        try:
            if facts is not None:
                trigger_size(facts.rows_train, share)
        except EmbeddingError as reason:
            yield ("embedding", "trigger_share"), str(reason)
    trees: int | None = getattr(getattr(spec, "forest", None), "fewest_trees", None)
    for share in getattr(embedding, "ones_share", ()):
        if trees is not None and not 0 < count_of_ones(trees, share) < trees:
            yield (
                ("embedding", "ones_share"),
                f"{share} of {trees} trees leaves all bits equal: a signature needs both zeros and ones",
            )
    for number, attack in enumerate(spec.attack):
        for name, problem in attack.options.problems(facts.rows_test) if facts is not None else ():
            yield ("attack", number, name), problem


def check_against_data(spec: CampaignSpec, facts: DataFacts, *, what: str = "campaign") -> None:
    """Raise `SpecError` with everything that the data or the number of trees make impossible."""
    problems = [
        f"{what}: {'.'.join(map(str, path))}: {message}" for path, message in faults_against_data(spec, facts)
    ]
    if problems:
        raise SpecError(problems)


def plan(spec: CampaignSpec, facts: DataFacts) -> Iterator[PlannedJob]:
    """Yield a campaign's jobs, each once and after those that it needs.

    Raises
    ------
    SpecError
        As in `check_against_data`, before the first job.
    """
    check_against_data(spec, facts, what=spec.name)
    seen: set[str] = set()
    for planned in _jobs(spec, facts):
        if planned.key not in seen:  # attacks may overlap
            seen.add(planned.key)
            yield planned


def _jobs(spec: CampaignSpec, facts: DataFacts) -> Iterator[PlannedJob]:
    limits: dict[str, Any] = {"limit_s": spec.limits.job_s, "memory_mb": spec.limits.memory_mb}
    split = make_job(JobKind.SPLIT, _split_parameters(spec, facts, limits), Cell())
    yield split
    before_baseline = [split]
    if spec.forest.tune is not None:
        folds = [
            make_job(JobKind.TUNE_FOLD, _fold_parameters(spec, spec.forest.tune, fold, limits), Cell(), split)
            for fold in range(spec.forest.tune.folds)
        ]
        yield from folds
        grid = TuneParameters(
            n_estimators=spec.forest.tune.n_estimators, max_depth=spec.forest.tune.max_depth, **limits
        )
        tune = make_job(JobKind.TUNE, grid, Cell(), *folds)
        yield tune
        before_baseline.append(tune)
    for repeat in range(spec.embedding.repeats):
        baseline = make_job(
            JobKind.BASELINE,
            BaselineParameters(
                n_estimators=spec.forest.n_estimators,
                max_depth=spec.forest.max_depth,
                adjust=spec.embedding.adjust,
                standard_seed=streams.integer_seed(spec.seed, Role.STANDARD_FOREST, repeat),
                capped_seed=streams.integer_seed(spec.seed, Role.CAPPED_FOREST, repeat),
                **limits,
            ),
            Cell(repeat=repeat),
            *before_baseline,
        )
        yield baseline
        if repeat == 0:
            yield from attacks_on_campaign(spec, split, baseline, limits)
        yield from _embeddings(spec, facts, repeat, split, baseline, limits)


def _split_parameters(spec: CampaignSpec, facts: DataFacts, limits: dict[str, Any]) -> SplitParameters:
    dataset = spec.dataset
    return SplitParameters(
        name=dataset.name,
        path=dataset.path,
        label=dataset.label,
        header=dataset.header,
        positive=dataset.positive,
        file_sha256=facts.file_sha256,
        test_share=dataset.test_share,
        scaling=dataset.scaling,
        seed=split_seed(spec),
        **limits,
    )


def split_seed(spec: CampaignSpec) -> int:
    """Return the seed of the campaign's split."""
    pinned = spec.dataset.split_seed
    return streams.integer_seed(spec.seed, Role.SPLIT) if pinned is None else pinned


def _fold_parameters(
    spec: CampaignSpec, grid: TuneSpec, fold: int, limits: dict[str, Any]
) -> TuneFoldParameters:
    return TuneFoldParameters(
        n_estimators=grid.n_estimators,
        max_depth=grid.max_depth,
        folds=grid.folds,
        fold=fold,
        seed=streams.integer_seed(spec.seed, Role.TUNING),
        **limits,
    )


def _embeddings(
    spec: CampaignSpec,
    facts: DataFacts,
    repeat: int,
    split: PlannedJob,
    baseline: PlannedJob,
    limits: dict[str, Any],
) -> Iterator[PlannedJob]:
    grid = spec.embedding
    for scheme, trigger_share, ones_share in grid.points():
        cell = Cell(scheme=scheme, trigger_share=trigger_share, ones_share=ones_share, repeat=repeat)
        parameters = EmbedParameters(
            scheme=scheme,
            trigger_share=trigger_share,
            ones_share=ones_share,
            repeat=repeat,
            seed=spec.seed,
            **grid.fit_options(),
            **limits,
        )
        embed = make_job(JobKind.EMBED, parameters, cell, split, baseline)
        yield embed
        yield from attacks_on_watermark(spec, facts, Watermark(cell, split, baseline, embed), limits)
