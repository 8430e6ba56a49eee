"""The attacker's queries to an engine, in batches whose answers are rows of their own."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from wm.attacks.forgery import Minimal
from workers.jobs.base import ClosedShare, Parameters, Result, Seed

_TRIES = 2
"""How often an engine puts a query to a solver whose process is killed; each time with the whole limit."""

_GRACE_S = 10.0
"""What a slice may take beyond itself and one query: starting an engine, recording answers."""


class ForgeryParameters(Parameters):
    """Answer one batch of forgery queries: attacker signature number `signature` at distance `eps`.

    The batch is instances `first` to `first + count - 1` of the attacker's shuffle of the test rows.
    `limit_s` does not count here: a slice and one query's limit bound a run.

    Attributes
    ----------
    eps
        Distance; or `Minimal`, the least one up to `cap`.
    cap
        Only with `Minimal`.
    certify
        Have every ``impossible`` confirmed by a checked proof, see `ForgeryAnswer`.
    """

    late_is_failure: ClassVar[bool] = True  # queries have limits of their own: the fault is not theirs

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
    engine_options: dict[str, bool | int | float | str] = Field(default={}, exclude_if=operator.not_)

    def run_limit_s(self, slice_s: float) -> float:
        """Return the limit on one slice in seconds."""
        return slice_s + _TRIES * self.timeout_s + _GRACE_S


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
    status, distance, seconds, reason, followed_from, certified
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
    followed_from: float | None = None
    certified: bool | None = None


@dataclass(frozen=True)
class GlobalProof:
    """What a job found of a label: its engine forges no instance at all with its signature.

    It is recorded like an answer, for later jobs with the same forest, signature, engine and limits.
    """

    label: int


@dataclass(frozen=True)
class KnownAnswer:
    """A decision, ``forged`` or ``impossible``, about an instance of the batch at another distance, `eps`."""

    eps: float
    answer: ForgeryAnswer


@dataclass(frozen=True)
class ForgeryState:
    """What a forgery job goes on from: the resume state of its kind.

    Attributes
    ----------
    answered
        Instances of the batch that have an answer.
    known
        From these, answers of the batch may follow.
    proved
        Labels of `GlobalProof`.
    """

    answered: frozenset[int] = frozenset()
    known: tuple[KnownAnswer, ...] = ()
    proved: frozenset[int] = frozenset()
