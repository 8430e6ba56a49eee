"""Define jobs: their kinds, parameters, results and outcomes.

All of this crosses process and machine borders as JSON: pydantic models, frozen, without unknown keys.
Handlers (`workers.handlers`) are imported by name, in the process that runs them. A new kind needs a handler,
a pair of models and one line in `KINDS`.

- `base`: common parts, a leased job and its outcome; `owner`, `forging`: models; attacks have their own
  (`wm.attacks`);
- `kinds`: the registry.
"""

from workers.jobs.base import AttackParameters, JobResult, LeasedJob, Outcome, OutcomeStatus, Parameters
from workers.jobs.forging import (
    ForgeryAnswer,
    ForgeryParameters,
    ForgeryResult,
    ForgeryState,
    GlobalProof,
    KnownAnswer,
)
from workers.jobs.kinds import KINDS, JobKind
from workers.jobs.owner import (
    BaselineParameters,
    BaselineResult,
    BoostedParameters,
    EmbedParameters,
    EmbedResult,
    HonestFigures,
    SplitOptions,
    SplitParameters,
    SplitResult,
    TuneFoldParameters,
    TuneFoldResult,
    TuneParameters,
    TuneResult,
)

__all__ = [
    "KINDS",
    "AttackParameters",
    "BaselineParameters",
    "BaselineResult",
    "BoostedParameters",
    "EmbedParameters",
    "EmbedResult",
    "ForgeryAnswer",
    "ForgeryParameters",
    "ForgeryResult",
    "ForgeryState",
    "GlobalProof",
    "HonestFigures",
    "JobKind",
    "JobResult",
    "KnownAnswer",
    "LeasedJob",
    "Outcome",
    "OutcomeStatus",
    "Parameters",
    "SplitOptions",
    "SplitParameters",
    "SplitResult",
    "TuneFoldParameters",
    "TuneFoldResult",
    "TuneParameters",
    "TuneResult",
]
