"""Register the kinds of jobs, with their parameters, results and handlers."""

from __future__ import annotations

import types
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import ConfigDict, create_model

from wm.attacks import registry
from wm.attacks.base import Attack
from workers.jobs import forging, owner
from workers.jobs.base import AttackParameters, JobResult, Parameters


class JobKind(StrEnum):
    """Kinds of jobs with their own handler; every attack but forgery is a kind too, by its name."""

    SPLIT = "split"
    TUNE_FOLD = "tune-fold"
    TUNE = "tune"
    BASELINE = "baseline"
    EMBED = "embed"
    FORGERY = "forgery"


@dataclass(frozen=True)
class Kind:
    """A kind of job."""

    parameters: type[Parameters]
    result: type[JobResult]
    handler: str
    """Its function in `workers.handlers`, as `pkgutil.resolve_name` takes it."""
    version: int = 1
    """Part of every content key: increase it when equal parameters begin to give other results."""


_AT_RUN_TIME = ConfigDict(strict=False, use_attribute_docstrings=False)
"""JSON has no tuples; classes made at run time have no source with docstrings."""


def _of_attack(attack: Attack) -> Kind:
    """Return the kind of an attack's jobs: its options with limits and, if it draws, the campaign's seed."""
    common = AttackParameters if attack.draws else Parameters
    parameters = type(
        f"{attack.kind} parameters",
        (attack.job_options, common),
        {"__module__": __name__, "model_config": _AT_RUN_TIME},
    )
    models: dict[str, Any] = {"rows": attack.row, **attack.extra}
    tables: dict[str, Any] = {
        name: (types.GenericAlias(tuple, (model, ...)), ...) for name, model in models.items()
    }
    result = create_model(f"{attack.kind} result", __base__=JobResult, **tables)
    return Kind(parameters, result, "workers.handlers.attack:run", attack.version)


KINDS: dict[str, Kind] = {
    JobKind.SPLIT: Kind(owner.SplitParameters, owner.SplitResult, "workers.handlers.steps:split"),
    JobKind.TUNE_FOLD: Kind(
        owner.TuneFoldParameters, owner.TuneFoldResult, "workers.handlers.steps:tune_fold"
    ),
    JobKind.TUNE: Kind(owner.TuneParameters, owner.TuneResult, "workers.handlers.steps:tune", version=2),
    JobKind.BASELINE: Kind(
        owner.BaselineParameters, owner.BaselineResult, "workers.handlers.steps:baseline", 2
    ),
    JobKind.EMBED: Kind(owner.EmbedParameters, owner.EmbedResult, "workers.handlers.steps:embed", version=4),
    JobKind.FORGERY: Kind(
        forging.ForgeryParameters, forging.ForgeryResult, "workers.handlers.forgery:run", version=3
    ),
} | {attack.kind: _of_attack(attack) for attack in registry.attacks() if not attack.is_queried}
