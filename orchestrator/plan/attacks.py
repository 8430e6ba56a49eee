"""Plan the jobs of each attack: one for each part of its options, for forgery one for each batch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.plan.base import DataFacts, GridPoint, PlannedJob, make_job
from orchestrator.spec import AttackSpec, CampaignSpec
from wm.attacks import forgery
from wm.attacks.base import AttackOptions
from wm.attacks.forgery.following import query_order
from wm.embedding.common import trigger_size
from workers.jobs.forging import ForgeryParameters
from workers.jobs.kinds import KINDS, JobKind


@dataclass(frozen=True)
class Watermark:
    """A watermark under attack: its point in the grid, and the jobs that make it."""

    cell: GridPoint
    split: PlannedJob
    baseline: PlannedJob
    embed: PlannedJob


def attacks_on_watermark(
    spec: CampaignSpec, facts: DataFacts, target: Watermark, limits: dict[str, Any]
) -> Iterator[PlannedJob]:
    """Yield the jobs of all attacks on one watermark."""
    cell = target.cell
    point = (str(cell.scheme), float(cell.trigger_share or 0), float(cell.ones_share or 0), cell.repeat or 0)
    for attack in spec.attack:
        if attack.restriction is None or not attack.restriction.admits(*point):
            continue
        if attack.attack.is_queried:
            yield from _forgery(spec, facts, attack, target, limits)
            continue
        for part in attack.options.parts():
            yield _job(attack, part, spec.seed, cell, (target.split, target.baseline, target.embed), limits)


def attacks_on_campaign(
    spec: CampaignSpec, split: PlannedJob, baseline: PlannedJob, limits: dict[str, Any]
) -> Iterator[PlannedJob]:
    """Yield the jobs of attacks that run once; shares that they do not give are the grid's first."""
    first = {"trigger_share": spec.embedding.trigger_share[0], "ones_share": spec.embedding.ones_share[0]}
    for attack in spec.attack:
        if attack.restriction is not None:
            continue
        options = attack.options
        missing = {name: value for name, value in first.items() if getattr(options, name, value) is None}
        for part in options.model_copy(update=missing).parts():
            cell = GridPoint(**{name: getattr(part, name, None) for name in first})
            yield _job(attack, part, spec.seed, cell, (split, baseline), limits)


def _job(
    attack: AttackSpec,
    part: AttackOptions,
    seed: int,
    cell: GridPoint,
    needs: tuple[PlannedJob, ...],
    limits: dict[str, Any],
) -> PlannedJob:
    streams = {"seed": seed, "repeat": cell.repeat or 0} if attack.attack.draws else {}
    parameters = KINDS[attack.kind].parameters.model_validate(part.model_dump() | streams | limits)
    return make_job(attack.kind, parameters, cell, *needs)


def _forgery(
    spec: CampaignSpec, facts: DataFacts, attack: AttackSpec, target: Watermark, limits: dict[str, Any]
) -> Iterator[PlannedJob]:
    """Yield the batches; those of one range of instances at different distances help each other.

    They come in the order of a binary search over the distances: answers of a batch may follow from the
    nearest distances before it. Batches of different signatures alternate, so that slots that work at the
    same time find different proofs, each of which helps all later batches.
    """
    options, cell = attack.options, target.cell
    assert isinstance(options, forgery.Options)  # noqa: S101 - the one attack that is queried
    size = trigger_size(facts.rows_train, float(cell.trigger_share or 0))
    instances = min(options.instances or size, facts.rows_test)
    distances = options.distances
    for engine, first, signature in itertools.product(
        options.engine, range(0, instances, options.batch), range(options.signatures)
    ):
        count = min(options.batch, instances - first)
        batch: dict[int, PlannedJob] = {}
        for turn in query_order(len(distances)):
            eps = distances[turn.place]
            parameters = ForgeryParameters(
                engine=engine,
                signature=signature,
                ones_share=options.ones_share,
                eps=eps,
                cap=options.largest_distance,
                certify=options.certify,
                first=first,
                count=count,
                repeat=cell.repeat or 0,
                seed=spec.seed,
                timeout_s=options.timeout_s,
                query_memory_mb=options.memory_mb,
                engine_options=options.engine_options.get(engine, {}),
                **limits,
            )
            place = replace(cell, engine=engine, signature=signature, eps=None if eps == "minimal" else eps)
            batch[turn.place] = make_job(
                JobKind.FORGERY, parameters, place, target.split, target.embed, weight=count
            )
        keys = [batch[number].key for number in range(len(distances))]
        for number, planned in batch.items():
            yield replace(planned, helped_by=(tuple(keys[:number][::-1]), tuple(keys[number + 1 :])))
