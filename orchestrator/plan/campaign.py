"""Plan the jobs of a campaign, and check it against its data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from orchestrator.errors import SpecError
from orchestrator.plan.attacks import Watermark, attacks_on_campaign, attacks_on_watermark
from orchestrator.plan.base import DataFacts, GridPoint, PlannedJob, make_job
from orchestrator.spec import CampaignSpec
from orchestrator.spec.draft import Fault
from wm import codebook, streams
from wm.embedding import SCHEMES
from wm.embedding.common import trigger_size
from wm.errors import EmbeddingError
from wm.signature import count_of_ones
from wm.streams import Role
from workers.jobs.kinds import JobKind
from workers.jobs.owner import (
    BaselineParameters,
    BoostedParameters,
    EmbedParameters,
    SplitParameters,
    TuneFoldParameters,
    TuneParameters,
)


def faults_against_data(spec: CampaignSpec, facts: DataFacts | None) -> Iterator[Fault]:
    """Yield each option that the data, or the number of trees, make impossible.

    Parameters
    ----------
    spec
        A campaign, or a draft of one; wrong parts of a draft are skipped.
    facts
        None if the data cannot be used.
    """
    embedding = getattr(spec, "embedding", None)
    for share in getattr(embedding, "trigger_share", ()):
        try:
            if facts is not None:
                trigger_size(facts.rows_train, share)
        except EmbeddingError as reason:
            yield ("embedding", "trigger_share"), str(reason)
    for scheme in getattr(embedding, "scheme", ()):
        if facts is not None and facts.classes > SCHEMES[scheme].most_classes:
            yield (
                ("embedding", "scheme"),
                f"scheme {scheme} is for two classes, and the data have {facts.classes}: set one against all "
                "others (positive in [dataset]), or take other schemes",
            )
    trees: int | None = getattr(getattr(spec, "forest", None), "min_trees", None)
    for share in getattr(embedding, "ones_share", ()):
        if trees is not None and not 0 < count_of_ones(trees, share) < trees:
            yield (
                ("embedding", "ones_share"),
                f"{share} of {trees} trees leaves all bits equal: a signature needs both zeros and ones",
            )
    for number, attack in enumerate(spec.attack):
        for name, problem in attack.options.problems(facts.rows_test) if facts is not None else ():
            yield ("attack", number, name), problem


def plan(spec: CampaignSpec, facts: DataFacts) -> Iterator[PlannedJob]:
    """Return an iterator over a campaign's jobs, each once and after those that it needs.

    Raises
    ------
    SpecError
        The data, or the number of trees, make some options impossible.
    """
    problems = [
        f"{spec.name}: {'.'.join(map(str, path))}: {message}"
        for path, message in faults_against_data(spec, facts)
    ]
    if problems:
        raise SpecError(problems)
    return _distinct(_jobs(spec, facts))


def _distinct(jobs: Iterable[PlannedJob]) -> Iterator[PlannedJob]:
    """Yield each job once: attacks may overlap."""
    seen: set[str] = set()
    for planned in jobs:
        if planned.key not in seen:
            seen.add(planned.key)
            yield planned


def _jobs(spec: CampaignSpec, facts: DataFacts) -> Iterator[PlannedJob]:
    limits: dict[str, Any] = {"limit_s": spec.limits.job_s, "memory_mb": spec.limits.memory_mb}
    prepared = _preparation(spec, facts, limits)
    yield from prepared
    split, *tuning = prepared
    for repeat in range(spec.embedding.repeats):
        parameters = BaselineParameters(
            n_estimators=spec.forest.n_estimators,
            max_depth=spec.forest.max_depth,
            adjust=spec.embedding.adjust,
            standard_seed=streams.integer_seed(spec.seed, Role.STANDARD_FOREST, repeat),
            capped_seed=streams.integer_seed(spec.seed, Role.CAPPED_FOREST, repeat),
            **limits,
        )
        baseline = make_job(JobKind.BASELINE, parameters, GridPoint(repeat=repeat), split, *tuning[-1:])
        yield baseline
        if repeat == 0:
            yield from attacks_on_campaign(spec, split, baseline, limits)
        fit = spec.embedding.fit_options() | limits | {"seed": spec.seed}
        for scheme, trigger_share, ones_share in spec.embedding.points():
            shares: dict[str, Any] = {"trigger_share": trigger_share, "ones_share": ones_share}
            cell = GridPoint(scheme, **shares, repeat=repeat)
            candidates = None if SCHEMES[scheme].proof is None else spec.embedding.candidates
            boosted = None if SCHEMES[scheme].trees_vote else spec.embedding.boosted or BoostedParameters()
            divided = spec.embedding.pool_rows == "divided" and scheme == codebook.SCHEME
            embed_parameters = EmbedParameters(
                scheme=scheme,
                **shares,
                repeat=repeat,
                candidates=candidates,
                boosted=boosted,
                pool_rows="divided" if divided else None,
                **fit,
            )
            embed = make_job(JobKind.EMBED, embed_parameters, cell, split, baseline)
            yield embed
            yield from attacks_on_watermark(spec, facts, Watermark(cell, split, baseline, embed), limits)


def _preparation(spec: CampaignSpec, facts: DataFacts, limits: dict[str, Any]) -> list[PlannedJob]:
    """Return the jobs before all others: the split and, if the forest is tuned, folds and choice."""
    dataset = spec.dataset.model_dump(exclude={"split_seed"})
    parameters = SplitParameters(**dataset, file_sha256=facts.file_sha256, seed=split_seed(spec), **limits)
    split = make_job(JobKind.SPLIT, parameters, GridPoint())
    if spec.forest.tune is None:
        return [split]
    grid = spec.forest.tune.model_dump() | limits
    count, seed = grid.pop("folds"), streams.integer_seed(spec.seed, Role.TUNING)
    parts = [TuneFoldParameters(**grid, folds=count, fold=fold, seed=seed) for fold in range(count)]
    folds = [make_job(JobKind.TUNE_FOLD, part, GridPoint(), split) for part in parts]
    return [split, *folds, make_job(JobKind.TUNE, TuneParameters(**grid), GridPoint(), *folds)]


def split_seed(spec: CampaignSpec) -> int:
    """Return the seed of the campaign's split."""
    pinned = spec.dataset.split_seed
    return streams.integer_seed(spec.seed, Role.SPLIT) if pinned is None else pinned
