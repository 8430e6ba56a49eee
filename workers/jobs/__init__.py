"""Jobs: their kinds, the parameters they take, the results they give, and how they end.

Everything here crosses process and machine borders as JSON: pydantic models, frozen, nothing unknown
accepted. Handlers (`workers.handlers`) are imported by name only in the process that runs them. A new kind is
one handler module, a pair of models and one line in `KINDS`.

- `base`: what all models share; `owner`, `forging`: the models; attacks bring their own (`wm.attacks`);
- `kinds`: the registry; `lifecycle`: a leased job and its outcome.
"""

from workers.jobs.base import AttackParameters, ClosedShare, Parameters, Result, Seed, Sha256, Share
from workers.jobs.forging import (
    ForgeryAnswer,
    ForgeryParameters,
    ForgeryResult,
    ForgeryState,
    GlobalProof,
    KnownAnswer,
)
from workers.jobs.kinds import KINDS, JobKind, Kind
from workers.jobs.lifecycle import LeasedJob, Outcome, OutcomeStatus
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

__all__ = [
    "KINDS",
    "AttackParameters",
    "BaselineParameters",
    "BaselineResult",
    "ClosedShare",
    "EmbedParameters",
    "EmbedResult",
    "ForgeryAnswer",
    "ForgeryParameters",
    "ForgeryResult",
    "ForgeryState",
    "GlobalProof",
    "JobKind",
    "Kind",
    "KnownAnswer",
    "LeasedJob",
    "Outcome",
    "OutcomeStatus",
    "Parameters",
    "Result",
    "Seed",
    "Sha256",
    "Share",
    "SplitParameters",
    "SplitResult",
    "TuneFoldParameters",
    "TuneFoldResult",
    "TuneParameters",
    "TuneResult",
]
