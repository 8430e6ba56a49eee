"""Common to all jobs: parameters and results, which cross process borders as JSON, a lease and an outcome."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

Seed = Annotated[int, Field(ge=0)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class FrozenModel(BaseModel):
    """Immutable, and nothing unknown accepted."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Parameters(FrozenModel):
    """Parameters of every job."""

    late_is_failure: ClassVar[bool] = False
    """Whether a run beyond its limit is a failed attempt; else the job ends as ``timeout``."""

    limit_s: float = Field(default=3600.0, gt=0)
    """Hard limit on the job's wall time in seconds; see `run_limit_s`."""
    memory_mb: int | None = Field(default=None, gt=0)
    """Limit on the resident memory of the job's process; None for no limit."""

    def run_limit_s(self, slice_s: float) -> float:
        """Return the limit in seconds on a run; a job that can be continued is given back after `slice_s`."""
        del slice_s  # used by kinds that can be continued
        return self.limit_s


class AttackParameters(Parameters):
    """Parameters of attacks with random streams, which derive from the campaign's `seed` and `repeat`."""

    seed: Seed
    repeat: int = Field(ge=0)


class JobResult(FrozenModel):
    """Result of a finished job; equal jobs give equal results, so it holds no times."""


class OutcomeStatus(StrEnum):
    """Status of an ended job."""

    DONE = "done"
    TIMEOUT = "timeout"
    MEMOUT = "memout"
    ERROR = "error"


@dataclass(frozen=True)
class Outcome:
    """Outcome of an ended job; exactly one for each job."""

    status: OutcomeStatus
    result: dict[str, Any] | None
    """The kind's result model as JSON-ready data; None unless done."""
    timings: dict[str, float]
    """Seconds by name; separate from the result because they differ from run to run."""
    error: str = ""
    """One line, or the history of attempts; empty if done."""


@dataclass(frozen=True)
class LeasedJob:
    """A job that a worker may run until the lease expires."""

    job_id: int
    kind: str
    parameters: dict[str, Any]
    """JSON-ready data."""
    inputs: dict[str, tuple[dict[str, Any], ...]]
    """Results of the jobs that this one needs, by kind."""
    failures: int
    """Number of failed attempts so far."""
    state: object = None
    """Resume state, in a type of the job's kind; None if the kind has none."""
