"""The jobs of one attack on one watermark."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.plan.base import Cell, DataFacts, PlannedJob, make_job
from orchestrator.spec import (
    AttackSpec,
    CalibrationSpec,
    CampaignSpec,
    DetectionSpec,
    ForgerySpec,
    FreeForgerySpec,
    LeakageSpec,
    ModificationSpec,
    SuppressionSpec,
)
from wm.attacks.following import asking_order
from wm.embedding.common import trigger_size
from workers.jobs import (
    CalibrationParameters,
    DetectionParameters,
    ForgeryParameters,
    FreeForgeryParameters,
    JobKind,
    LeakageParameters,
    ModificationParameters,
    Parameters,
    Population,
    SuppressionParameters,
)

_CAP = 1.0
"""Cap of least distances where none is given: the whole domain, for an instance inside it."""


@dataclass(frozen=True)
class Target:
    """A watermark that is attacked.

    Attributes
    ----------
    cell
        Its place in the grid.
    split, baseline, embed
        The jobs that made it.
    """

    cell: Cell
    split: PlannedJob
    baseline: PlannedJob
    embed: PlannedJob


def attack_jobs(
    spec: CampaignSpec, facts: DataFacts, attack: AttackSpec, target: Target, limits: dict[str, Any]
) -> Iterator[PlannedJob]:
    """Yield the jobs of an attack on one watermark; none where the attack leaves it out."""
    cell = target.cell
    if isinstance(attack, CalibrationSpec) or not attack.only.admits(
        str(cell.scheme), float(cell.trigger_share or 0), float(cell.ones_share or 0), cell.repeat or 0
    ):
        return
    if isinstance(attack, ForgerySpec):
        yield from _forgery(spec, facts, attack, target, limits)
        return
    streams = {"seed": spec.seed, "repeat": cell.repeat or 0, **limits}
    for kind, parameters in _one_by_one(attack, streams, limits):
        yield make_job(kind, parameters, cell, target.split, target.baseline, target.embed)


def _one_by_one(
    attack: LeakageSpec | DetectionSpec | SuppressionSpec | FreeForgerySpec | ModificationSpec,
    streams: dict[str, Any],
    limits: dict[str, Any],
) -> Iterator[tuple[JobKind, Parameters]]:
    match attack:
        case LeakageSpec():
            yield JobKind.LEAKAGE, LeakageParameters(**limits)
        case DetectionSpec():
            honest = attack.honest if "presence" in attack.methods else 0
            yield JobKind.DETECTION, DetectionParameters(methods=attack.methods, honest=honest, **streams)
        case SuppressionSpec():
            yield (
                JobKind.SUPPRESSION,
                SuppressionParameters(
                    methods=attack.methods, shadows=attack.shadows, orders=attack.orders, **streams
                ),
            )
        case FreeForgerySpec():
            yield (
                JobKind.FREE_FORGERY,
                FreeForgeryParameters(
                    methods=attack.methods,
                    eps=attack.eps,
                    instances=attack.instances,
                    least_ones=attack.least_ones,
                    most_ones=attack.most_ones,
                    timeout_s=attack.timeout_s,
                    **streams,
                ),
            )
        case ModificationSpec():
            for chain in attack.modifications:
                yield (
                    JobKind.MODIFICATION,
                    ModificationParameters(
                        steps=tuple(chain.split("+")),
                        strengths=attack.points(chain),
                        tries=attack.tries,
                        **streams,
                    ),
                )


def _forgery(
    spec: CampaignSpec, facts: DataFacts, attack: ForgerySpec, target: Target, limits: dict[str, Any]
) -> Iterator[PlannedJob]:
    """Yield the batches; those of one range of instances, at one distance after another, help each other.

    They come in the order in which a binary search over the distances would ask: the nearest ones before each
    are those from which its answers may follow. Batches of different signatures come next to each other, so
    that slots that work at the same time prove different things, each of which helps all later batches.
    """
    cell = target.cell
    size = trigger_size(facts.rows_train, float(cell.trigger_share or 0))
    instances = min(attack.instances or size, facts.rows_test)
    distances = attack.distances
    for engine, first, signature in itertools.product(
        attack.engine, range(0, instances, attack.batch), range(attack.signatures)
    ):
        count = min(attack.batch, instances - first)
        batch: dict[int, PlannedJob] = {}
        for turn in asking_order(len(distances)):
            eps = distances[turn.place]
            parameters = ForgeryParameters(
                engine=engine,
                signature=signature,
                ones_share=attack.ones_share,
                eps=eps,
                cap=_CAP if attack.cap is None else attack.cap,
                certify=attack.certify,
                first=first,
                count=count,
                repeat=cell.repeat or 0,
                seed=spec.seed,
                timeout_s=attack.timeout_s,
                query_memory_mb=attack.memory_mb,
                **limits,
            )
            place = replace(cell, engine=engine, signature=signature, eps=None if eps == "minimal" else eps)
            batch[turn.place] = make_job(
                JobKind.FORGERY, parameters, place, target.split, target.embed, weight=count
            )
        keys = [batch[number].key for number in range(len(distances))]
        for number, planned in batch.items():
            yield replace(planned, helped_by=(tuple(keys[:number][::-1]), tuple(keys[number + 1 :])))


def calibration_jobs(
    spec: CampaignSpec,
    attack: CalibrationSpec,
    split: PlannedJob,
    baseline: PlannedJob,
    limits: dict[str, Any],
) -> Iterator[PlannedJob]:
    """Yield the jobs of a calibration, `batch` forests each."""
    trigger_share = attack.trigger_share or spec.embedding.trigger_share[0]
    ones_share = spec.embedding.ones_share[0] if attack.ones_share is None else attack.ones_share
    populations: dict[Population, int] = {
        "honest": attack.honest,
        "other owners": attack.other_owners,
        "presence": attack.presence,
    }
    for population, total in populations.items():
        for first in range(0, total, attack.batch):
            parameters = CalibrationParameters(
                population=population,
                first=first,
                count=min(attack.batch, total - first),
                reference=attack.reference if population == "presence" else 0,
                seed=spec.seed,
                repeat=0,
                trigger_share=trigger_share,
                ones_share=ones_share,
                **limits,
            )
            cell = Cell(trigger_share=trigger_share, ones_share=ones_share)
            yield make_job(JobKind.CALIBRATION, parameters, cell, split, baseline)
