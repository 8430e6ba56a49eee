"""From a campaign to its jobs: pure, so that planning again gives the same jobs.

Each job is named by its content key, the SHA-256 of kind, version, parameters and the keys of what it needs:
the same work is never done twice, across campaigns too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from orchestrator.errors import SpecError
from orchestrator.spec import AttackSpec, CampaignSpec, ForgerySpec
from wm import streams
from wm.embedding.common import trigger_size
from wm.errors import EmbeddingError
from wm.signature import count_of_ones
from wm.streams import Role
from workers.jobs import (
    KINDS,
    BaselineParameters,
    DetectionParameters,
    EmbedParameters,
    ForgeryParameters,
    JobKind,
    Parameters,
    SplitParameters,
    SuppressionParameters,
    TuneParameters,
)

BATCH = 50
"""Forgery queries of one job: with fewer, the cost of a job shows; with more, a crash loses more."""


@dataclass(frozen=True)
class DataFacts:
    """What planning must know of the data.

    Attributes
    ----------
    rows_train, rows_test
        Rows after the split.
    file_sha256
        Hash of the file behind the data set; None for a named one.
    """

    rows_train: int
    rows_test: int
    file_sha256: str | None


@dataclass(frozen=True)
class Cell:
    """A point of the grid; None where a coordinate does not apply."""

    scheme: str | None = None
    trigger_share: float | None = None
    ones_share: float | None = None
    repeat: int | None = None
    engine: str | None = None
    signature: int | None = None
    eps: float | None = None


@dataclass(frozen=True)
class PlannedJob:
    """A job before it is stored.

    Attributes
    ----------
    key
        Content key, hex.
    kind, parameters
        What to do; parameters as JSON-ready data.
    needs
        Content keys of the jobs that must be done first.
    cell
        Where it belongs in the campaign's grid; not part of the key.
    weight
        Share of the progress bar: the number of queries, 1 for other kinds.
    """

    key: str
    kind: JobKind
    parameters: dict[str, Any] = field(hash=False)
    needs: tuple[str, ...]
    cell: Cell
    weight: int


def _job(
    kind: JobKind, parameters: Parameters, cell: Cell, *needs: PlannedJob, weight: int = 1
) -> PlannedJob:
    data = parameters.model_dump(mode="json")
    keys = tuple(sorted(needed.key for needed in needs))
    content = {"kind": kind, "version": KINDS[kind].version, "parameters": data, "needs": keys}
    key = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return PlannedJob(key, kind, data, keys, cell, weight)


def check_against_data(spec: CampaignSpec, facts: DataFacts, *, what: str = "campaign") -> None:
    """Raise `SpecError` with everything that the data or the number of trees make impossible."""
    problems = []
    for share in spec.embedding.trigger_share:
        try:
            trigger_size(facts.rows_train, share)
        except EmbeddingError as reason:
            problems.append(f"{what}: embedding.trigger_share: {reason}")
    trees = spec.forest.fewest_trees
    problems += [
        f"{what}: embedding.ones_share: {share} of {trees} trees leaves all bits equal: a signature needs "
        "both zeros and ones"
        for share in spec.embedding.ones_share
        if not 0 < count_of_ones(trees, share) < trees
    ]
    for number, attack in enumerate(spec.attack):
        if isinstance(attack, ForgerySpec) and (attack.instances or 0) > facts.rows_test:
            problems.append(
                f"{what}: attack.{number}.instances: {attack.instances} is more than the "
                f"{facts.rows_test} test rows"
            )
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
    split = _job(JobKind.SPLIT, _split_parameters(spec, facts, limits), Cell())
    yield split
    before_baseline = [split]
    if spec.forest.tune is not None:
        tune = _job(JobKind.TUNE, _tune_parameters(spec, limits), Cell(), split)
        yield tune
        before_baseline.append(tune)
    for repeat in range(spec.embedding.repeats):
        baseline = _job(
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


def _tune_parameters(spec: CampaignSpec, limits: dict[str, Any]) -> TuneParameters:
    assert spec.forest.tune is not None  # noqa: S101 - the caller looked
    return TuneParameters(
        n_estimators=spec.forest.tune.n_estimators,
        max_depth=spec.forest.tune.max_depth,
        folds=spec.forest.tune.folds,
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
    for scheme in grid.scheme:
        for trigger_share in grid.trigger_share:
            for ones_share in grid.ones_share:
                cell = Cell(scheme=scheme, trigger_share=trigger_share, ones_share=ones_share, repeat=repeat)
                parameters = EmbedParameters(
                    scheme=scheme,
                    trigger_share=trigger_share,
                    ones_share=ones_share,
                    repeat=repeat,
                    seed=spec.seed,
                    training=grid.training,
                    weight_step=grid.weight_step,
                    max_rounds=grid.max_rounds,
                    **limits,
                )
                embed = _job(JobKind.EMBED, parameters, cell, split, baseline)
                yield embed
                size = trigger_size(facts.rows_train, trigger_share)
                for attack in spec.attack:
                    if attack.only.admits(scheme, trigger_share, ones_share, repeat):
                        yield from _attack(spec, facts, attack, cell, size, split, embed, limits)


def _attack(
    spec: CampaignSpec,
    facts: DataFacts,
    attack: AttackSpec,
    cell: Cell,
    size: int,
    split: PlannedJob,
    embed: PlannedJob,
    limits: dict[str, Any],
) -> Iterator[PlannedJob]:
    match attack.kind:
        case "detection":
            yield _job(JobKind.DETECTION, DetectionParameters(**limits), cell, embed)
        case "suppression":
            yield _job(JobKind.SUPPRESSION, SuppressionParameters(**limits), cell, split, embed)
        case "forgery":
            instances = min(attack.instances or size, facts.rows_test)
            yield from _forgery(spec, attack, cell, instances, split, embed, limits)


def _forgery(
    spec: CampaignSpec,
    attack: ForgerySpec,
    cell: Cell,
    instances: int,
    split: PlannedJob,
    embed: PlannedJob,
    limits: dict[str, Any],
) -> Iterator[PlannedJob]:
    place = partial(
        Cell,
        scheme=cell.scheme,
        trigger_share=cell.trigger_share,
        ones_share=cell.ones_share,
        repeat=cell.repeat,
    )
    for engine in attack.engine:
        for signature in range(attack.signatures):
            for eps in attack.eps:
                for first in range(0, instances, BATCH):
                    count = min(BATCH, instances - first)
                    parameters = ForgeryParameters(
                        engine=engine,
                        signature=signature,
                        ones_share=attack.ones_share,
                        eps=eps,
                        first=first,
                        count=count,
                        repeat=cell.repeat or 0,
                        seed=spec.seed,
                        timeout_s=attack.timeout_s,
                        query_memory_mb=attack.memory_mb,
                        **limits,
                    )
                    yield _job(
                        JobKind.FORGERY,
                        parameters,
                        place(engine=engine, signature=signature, eps=eps),
                        split,
                        embed,
                        weight=count,
                    )
