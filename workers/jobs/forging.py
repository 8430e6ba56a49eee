"""The attacker's queries to an engine, in batches whose answers are rows of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from wm.attacks.forgery import Minimal
from workers.jobs.base import ClosedShare, Parameters, Result, Seed


class ForgeryParameters(Parameters):
    """Answer one batch of forgery queries: attacker signature number `signature` at distance `eps`.

    The batch is instances `first` to `first + count - 1` of the attacker's shuffle of the test rows.
    `limit_s` does not count here: a slice and one query's limit bound the job.

    Attributes
    ----------
    eps
        Distance; or `Minimal`, the least one up to `cap`.
    cap
        Only with `Minimal`.
    certify
        Have every ``impossible`` confirmed by a checked proof; the answer's reason says so.
    """

    engine: str
    signature: int = Field(ge=0)
    ones_share: ClosedShare
    eps: Annotated[float, Field(ge=0)] | Minimal
    cap: float = Field(default=1.0, ge=0)
    certify: bool = False
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
        As in `wm.engines.ForgeryOutcome`; where the least distance was sought, as in
        `wm.engines.minimal.MinimalOutcome`, `distance` being ``forged_at``.
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
class KnownAnswer:
    """A decision about an instance of the batch that was found at another distance.

    Attributes
    ----------
    instance, distance, reason, witness
        As in `ForgeryAnswer`.
    eps
        The distance that was asked about.
    status
        ``forged`` or ``impossible``.
    """

    instance: int
    eps: float
    status: str
    distance: float | None
    reason: str
    witness: bytes | None
