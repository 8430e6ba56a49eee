"""Job kinds: what each is called, the parameters it takes, the result it gives, what it needs first.

Everything here crosses process and machine borders as JSON: pydantic models, frozen, nothing unknown
accepted. Handlers (`workers.handlers`) are imported by name only in the process that runs them. A new kind is
one handler module, a pair of models and one line in `KINDS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from wm.embedding.common import Training

Share = Annotated[float, Field(gt=0, lt=1)]
Seed = Annotated[int, Field(ge=0)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class JobKind(StrEnum):
    """The kinds of jobs."""

    SPLIT = "split"
    TUNE = "tune"
    BASELINE = "baseline"
    EMBED = "embed"
    DETECTION = "detection"
    SUPPRESSION = "suppression"
    FORGERY = "forgery"


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Parameters(_Model):
    """What every job takes.

    Attributes
    ----------
    limit_s
        Hard limit on the job's wall time in seconds; for forgery on one slice of it.
    memory_mb
        Limit on the resident memory of the job's process; None for no limit.
    """

    limit_s: float = Field(default=3600.0, gt=0)
    memory_mb: int | None = Field(default=None, gt=0)


class Result(_Model):
    """What every finished job gives; equal jobs give equal results, so no clock time in here."""


class SplitParameters(Parameters):
    """Load a data set, cut and scale it. Fields as in `wm.datasets.Source` and `wm.datasets.split`."""

    name: str | None
    path: str | None
    label: str | int | None
    header: bool | None
    positive: str | None
    file_sha256: Sha256 | None
    test_share: Share
    scaling: Literal["train", "paper", "none"]
    seed: Seed


class SplitResult(Result):
    """`split` is an artifact: `wm.datasets.Split` as bytes."""

    split: Sha256
    dataset_sha256: str
    rows_train: int
    rows_test: int
    features: int
    positive_train: int
    positive_test: int
    constant_features: int
    class_names: tuple[str, str]


class TuneParameters(Parameters):
    """Grid search over forests; see `wm.tuning.grid_search`."""

    n_estimators: tuple[int, ...]
    max_depth: tuple[int | None, ...]
    folds: int = Field(ge=2)
    seed: Seed


class TuneResult(Result):
    """The best hyper-parameters and the mean accuracy of each point of the grid."""

    n_estimators: int
    max_depth: int | None
    mean_accuracy: float
    grid: tuple[tuple[int, int | None, float], ...]


class BaselineParameters(Parameters):
    """Train the standard forest and the equally capped honest one.

    `n_estimators` and `max_depth` are None where a tuning job decides.
    """

    n_estimators: int | None
    max_depth: int | None
    adjust: Literal["paper", "artifact"]
    standard_seed: Seed
    capped_seed: Seed


class BaselineResult(Result):
    """Artifacts `standard` and `capped` are forests; accuracies are on the test rows, by majority."""

    standard: Sha256
    capped: Sha256
    n_estimators: int
    max_depth: int | None
    cap_depth: int | None
    cap_leaves: int | None
    accuracy_standard: float
    accuracy_standard_mean_rule: float
    accuracy_capped: float


class EmbedParameters(Parameters):
    """Embed one watermark. `seed` is the campaign's; owner's streams are spawned from it and `repeat`."""

    scheme: str
    trigger_share: Share
    ones_share: float = Field(ge=0, le=1)
    repeat: int = Field(ge=0)
    seed: Seed
    training: Training = "paper"
    weight_step: float | None = Field(default=None, gt=0)
    max_rounds: int = Field(ge=1)


class EmbedResult(Result):
    """Artifacts `forest` and `claim`; evidence is that of the claim against the watermarked forest.

    `accuracy_watermarked_mean_rule` follows scikit-learn's averaging of leaves instead of the majority, as
    the forest was trained; `forest` is scrubbed for release, which leaves only the votes to average.
    `log10_p_standard` holds the same claim against the honest standard forest.
    """

    forest: Sha256
    claim: Sha256
    trigger_size: int
    signature: str
    rounds_right: int
    rounds_wrong: int
    weight_right: float
    weight_wrong: float
    accuracy_watermarked: float
    accuracy_watermarked_mean_rule: float
    matched_bits: int
    total_bits: int
    exact_match: bool
    log10_p: float
    log10_p_standard: float


class DetectionParameters(Parameters):
    """The paper's strategies on the watermarked forest."""


class DetectionRow(_Model):
    """Fields as in `wm.attacks.detection.DetectionResult`."""

    measure: str
    strategy: str
    mean: float
    std: float
    correct: int
    wrong: int
    uncertain: int
    p_value: float
    p_value_exact: float


class DetectionResult(Result):
    """One row for each measure and strategy."""

    rows: tuple[DetectionRow, ...]


class SuppressionParameters(Parameters):
    """Spot the trigger rows among the test rows."""


class SuppressionRow(_Model):
    """Fields as in `wm.attacks.suppression.SuppressionResult`."""

    method: str
    auc: float
    tpr_at_1pct_fpr: float
    triggers: int
    ordinary: int
    false_positive_rate: tuple[float, ...]
    true_positive_rate: tuple[float, ...]


class SuppressionResult(Result):
    """One row for each method."""

    rows: tuple[SuppressionRow, ...]


class ForgeryParameters(Parameters):
    """Answer one batch of forgery queries: attacker signature number `signature` at distance `eps`.

    The batch is instances `first` to `first + count - 1` of the attacker's shuffle of the test rows.
    `limit_s` does not count here: a slice and one query's limit bound the job.
    """

    engine: str
    signature: int = Field(ge=0)
    ones_share: float = Field(ge=0, le=1)
    eps: float = Field(ge=0)
    first: int = Field(ge=0)
    count: int = Field(ge=1)
    repeat: int = Field(ge=0)
    seed: Seed
    timeout_s: float = Field(gt=0)
    query_memory_mb: int | None = Field(default=None, gt=0)


class ForgeryResult(Result):
    """Size of the batch; the answers themselves are rows of their own."""

    instances: int


@dataclass(frozen=True)
class ForgeryAnswer:
    """The recorded answer to one query.

    Attributes
    ----------
    instance
        Position in the attacker's shuffle of the test rows.
    row
        Index among the test rows.
    status, distance, seconds, reason
        As in `wm.engines.ForgeryOutcome`.
    witness
        The forged instance as little-endian float32 bytes; None without one.
    """

    instance: int
    row: int
    status: str
    distance: float | None
    seconds: float
    reason: str
    witness: bytes | None


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
    JobKind.SPLIT: Kind(SplitParameters, SplitResult, "workers.handlers.data"),
    JobKind.TUNE: Kind(TuneParameters, TuneResult, "workers.handlers.tune"),
    JobKind.BASELINE: Kind(BaselineParameters, BaselineResult, "workers.handlers.baseline"),
    JobKind.EMBED: Kind(EmbedParameters, EmbedResult, "workers.handlers.embed", version=2),
    JobKind.DETECTION: Kind(DetectionParameters, DetectionResult, "workers.handlers.detection"),
    JobKind.SUPPRESSION: Kind(SuppressionParameters, SuppressionResult, "workers.handlers.suppression"),
    JobKind.FORGERY: Kind(ForgeryParameters, ForgeryResult, "workers.handlers.forgery"),
}


class OutcomeStatus(StrEnum):
    """How a job ended."""

    DONE = "done"
    TIMEOUT = "timeout"
    MEMOUT = "memout"
    ERROR = "error"


@dataclass(frozen=True)
class Outcome:
    """What a finished job records; exactly one for each job.

    Attributes
    ----------
    status
        ``done`` has a result, the others have an `error` text.
    result
        The kind's result model as JSON-ready data, or None.
    timings
        Seconds by name; kept apart from the result because they differ from run to run.
    error
        One line, or the history of attempts; empty when done.
    """

    status: OutcomeStatus
    result: dict[str, Any] | None
    timings: dict[str, float]
    error: str = ""


@dataclass(frozen=True)
class LeasedJob:
    """A job as a worker gets it, with the right to run it until the lease lapses.

    Attributes
    ----------
    job_id, kind, parameters
        What to do; parameters as JSON-ready data.
    owner
        Who holds the lease.
    inputs
        Results of the jobs that this one needs, by kind.
    answered
        Forgery only: instances of the batch that already have an answer.
    failures
        Attempts that already failed.
    """

    job_id: int
    kind: JobKind
    parameters: dict[str, Any]
    owner: str
    inputs: dict[JobKind, dict[str, Any]]
    answered: frozenset[int]
    failures: int
