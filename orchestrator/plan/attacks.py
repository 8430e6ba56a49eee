"""Plan the jobs of each attack: one for each part of its options."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from orchestrator.plan.base import DataFacts, GridPoint, PlannedJob, make_job
from orchestrator.plan.forgery import forgery_jobs
from orchestrator.spec import AttackSpec, CampaignSpec
from wm.attacks.base import AttackOptions
from workers.jobs import KINDS


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
            yield from forgery_jobs(spec, facts, attack, cell, (target.split, target.embed), limits)
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
