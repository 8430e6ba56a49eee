"""Job kinds: what each is called, takes, gives, and which handler does it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from workers.jobs import attacks, forging, owner
from workers.jobs.base import Parameters, Result


class JobKind(StrEnum):
    """The kinds of jobs."""

    SPLIT = "split"
    TUNE_FOLD = "tune-fold"
    TUNE = "tune"
    BASELINE = "baseline"
    EMBED = "embed"
    LEAKAGE = "leakage"
    DETECTION = "detection"
    SUPPRESSION = "suppression"
    FORGERY = "forgery"
    FREE_FORGERY = "free-forgery"
    MODIFICATION = "modification"
    CALIBRATION = "calibration"


@dataclass(frozen=True)
class Kind:
    """A kind of job.

    Attributes
    ----------
    parameters, result
        Models of what goes in and comes out.
    handler
        Module of `workers.handlers` whose `run` does it.
    version
        Part of every content key: raise it when equal parameters begin to give other results.
    """

    parameters: type[Parameters]
    result: type[Result]
    handler: str
    version: int = 1


KINDS: dict[JobKind, Kind] = {
    JobKind.SPLIT: Kind(owner.SplitParameters, owner.SplitResult, "workers.handlers.data"),
    JobKind.TUNE_FOLD: Kind(owner.TuneFoldParameters, owner.TuneFoldResult, "workers.handlers.tune_fold"),
    JobKind.TUNE: Kind(owner.TuneParameters, owner.TuneResult, "workers.handlers.tune", version=2),
    JobKind.BASELINE: Kind(owner.BaselineParameters, owner.BaselineResult, "workers.handlers.baseline", 2),
    JobKind.EMBED: Kind(owner.EmbedParameters, owner.EmbedResult, "workers.handlers.embed", version=4),
    JobKind.LEAKAGE: Kind(attacks.LeakageParameters, attacks.LeakageResult, "workers.handlers.leakage"),
    JobKind.DETECTION: Kind(
        attacks.DetectionParameters, attacks.DetectionResult, "workers.handlers.detection", version=3
    ),
    JobKind.SUPPRESSION: Kind(
        attacks.SuppressionParameters, attacks.SuppressionResult, "workers.handlers.suppression", version=2
    ),
    JobKind.FORGERY: Kind(
        forging.ForgeryParameters, forging.ForgeryResult, "workers.handlers.forgery", version=3
    ),
    JobKind.FREE_FORGERY: Kind(
        attacks.FreeForgeryParameters, attacks.FreeForgeryResult, "workers.handlers.free_forgery", version=2
    ),
    JobKind.MODIFICATION: Kind(
        attacks.ModificationParameters, attacks.ModificationResult, "workers.handlers.modification"
    ),
    JobKind.CALIBRATION: Kind(
        attacks.CalibrationParameters, attacks.CalibrationResult, "workers.handlers.calibration"
    ),
}
