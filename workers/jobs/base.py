"""What parameters and results of all jobs have in common: they cross process and machine borders as JSON."""

from __future__ import annotations

from typing import Annotated

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
        Hard limit on the job's wall time in seconds; for forgery on one slice of it.
    memory_mb
        Limit on the resident memory of the job's process; None for no limit.
    """

    limit_s: float = Field(default=3600.0, gt=0)
    memory_mb: int | None = Field(default=None, gt=0)


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
