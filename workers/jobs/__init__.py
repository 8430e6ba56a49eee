"""Jobs: their kinds, the parameters they take, the results they give, and how they end.

Everything here crosses process and machine borders as JSON: pydantic models, frozen, nothing unknown
accepted. Handlers (`workers.handlers`) are imported by name only in the process that runs them. A new kind is
one handler module, a pair of models and one line in `KINDS`.

- `base`: what all models share; `owner`, `attacks`, `forging`: the models;
- `kinds`: the registry; `lifecycle`: a leased job and its outcome.
"""

from workers.jobs.attacks import (
    BudgetRow,
    CalibrationParameters,
    CalibrationResult,
    DetectionMethod,
    DetectionParameters,
    DetectionResult,
    DetectionRow,
    ForgedSetRow,
    FreeForgeryMethod,
    FreeForgeryParameters,
    FreeForgeryResult,
    LeakageParameters,
    LeakageResult,
    LeakageRow,
    ModificationParameters,
    ModificationResult,
    ModificationRow,
    NamedPValues,
    Population,
    SpectrumRow,
    SuppressionMethod,
    SuppressionParameters,
    SuppressionResult,
    SuppressionRow,
)
from workers.jobs.base import AttackParameters, ClosedShare, Parameters, Result, Seed, Sha256, Share
from workers.jobs.forging import ForgeryAnswer, ForgeryParameters, ForgeryResult, KnownAnswer, Minimal
from workers.jobs.kinds import KINDS, JobKind, Kind
from workers.jobs.lifecycle import LeasedJob, Outcome, OutcomeStatus, proof_subject
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
    "BudgetRow",
    "CalibrationParameters",
    "CalibrationResult",
    "ClosedShare",
    "DetectionMethod",
    "DetectionParameters",
    "DetectionResult",
    "DetectionRow",
    "EmbedParameters",
    "EmbedResult",
    "ForgedSetRow",
    "ForgeryAnswer",
    "ForgeryParameters",
    "ForgeryResult",
    "FreeForgeryMethod",
    "FreeForgeryParameters",
    "FreeForgeryResult",
    "JobKind",
    "Kind",
    "KnownAnswer",
    "LeakageParameters",
    "LeakageResult",
    "LeakageRow",
    "LeasedJob",
    "Minimal",
    "ModificationParameters",
    "ModificationResult",
    "ModificationRow",
    "NamedPValues",
    "Outcome",
    "OutcomeStatus",
    "Parameters",
    "Population",
    "Result",
    "Seed",
    "Sha256",
    "Share",
    "SpectrumRow",
    "SplitParameters",
    "SplitResult",
    "SuppressionMethod",
    "SuppressionParameters",
    "SuppressionResult",
    "SuppressionRow",
    "TuneFoldParameters",
    "TuneFoldResult",
    "TuneParameters",
    "TuneResult",
    "proof_subject",
]
