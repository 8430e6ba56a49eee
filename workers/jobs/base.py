"""What parameters and results of all jobs have in common: they cross process and machine borders as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(gt=0, lt=1)]
ClosedShare = Annotated[float, Field(ge=0, le=1)]
Seed = Annotated[int, Field(ge=0)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class FrozenModel(BaseModel):
    """Immutable, and nothing unknown accepted."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class TimeLimit:
    """How long one run of a job may take.

    Attributes
    ----------
    seconds
        Wall time.
    is_failure
        Whether a job that reaches it has failed an attempt; else it ends as ``timeout``.
    """

    seconds: float
    is_failure: bool = False


class Parameters(FrozenModel):
    """What every job takes.

    Attributes
    ----------
    limit_s
        Hard limit on the job's wall time in seconds; see `time_limit`.
    memory_mb
        Limit on the resident memory of the job's process; None for no limit.
    """

    limit_s: float = Field(default=3600.0, gt=0)
    memory_mb: int | None = Field(default=None, gt=0)

    def time_limit(self, slice_s: float) -> TimeLimit:
        """Return the limit on a run that is to be given back after `slice_s` if it can be continued."""
        del slice_s  # for kinds that can
        return TimeLimit(self.limit_s)


class AttackParameters(Parameters):
    """What attacks with random streams of their own take.

    Attributes
    ----------
    seed, repeat
        The campaign's, which streams are spawned from; never the owner's roles.
    """

    seed: Seed
    repeat: int = Field(ge=0)


class Result(FrozenModel):
    """What every finished job gives; equal jobs give equal results, so no clock time in here."""
