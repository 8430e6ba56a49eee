"""What parameters and results of all jobs have in common: they cross process and machine borders as JSON."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from wm.attacks.base import ClosedShare, Share

__all__ = [
    "AttackParameters",
    "ClosedShare",
    "FrozenModel",
    "Parameters",
    "Result",
    "Seed",
    "Sha256",
    "Share",
]

Seed = Annotated[int, Field(ge=0)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class FrozenModel(BaseModel):
    """Immutable, and nothing unknown accepted."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Parameters(FrozenModel):
    """What every job takes.

    Attributes
    ----------
    limit_s
        Hard limit on the job's wall time in seconds; see `run_limit_s`.
    memory_mb
        Limit on the resident memory of the job's process; None for no limit.
    late_is_failure
        Of the kind: whether a run beyond its limit is a failed attempt; else the job ends as ``timeout``.
    """

    late_is_failure: ClassVar[bool] = False

    limit_s: float = Field(default=3600.0, gt=0)
    memory_mb: int | None = Field(default=None, gt=0)

    def run_limit_s(self, slice_s: float) -> float:
        """Return the limit in seconds on a run that is given back after `slice_s` if it can be continued."""
        del slice_s  # for kinds that can
        return self.limit_s


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
