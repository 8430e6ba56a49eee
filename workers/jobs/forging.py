"""Models of forgery jobs: batches of queries to an engine, whose answers are recorded as rows."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from wm.attacks.base import ClosedShare
from wm.attacks.forgery import Minimal
from workers.jobs.base import JobResult, Parameters, Seed

_TRIES = 2
"""Tries of a query whose solver process is killed, each with the whole time limit."""

_GRACE_S = 10.0
"""Time beyond a slice and one query: to start an engine and record answers."""


class ForgeryParameters(Parameters):
    """Parameters of a batch of forgery queries for the attacker's signature number `signature`.

    The batch is instances `first` to `first + count - 1` of the attacker's shuffle of the test rows.
    `limit_s` is not used: a slice and the limit of one query bound a run.
    """

    late_is_failure: ClassVar[bool] = True  # queries have their own limits, so the process hung

    engine: str
    signature: int = Field(ge=0)
    ones_share: ClosedShare
    eps: Annotated[float, Field(ge=0)] | Minimal
    """Distance; or `Minimal`: search for the minimal one up to `cap`."""
    cap: float = Field(default=1.0, ge=0)
    certify: bool = False
    """Confirm every ``impossible`` by a checked proof, see `ForgeryAnswer`."""
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


class ForgeryResult(JobResult):
    """Size of the batch; the answers are recorded as rows."""

    instances: int


@dataclass(frozen=True)
class ForgeryAnswer:
    """The recorded answer to one query.

    Fields without a description are as in `wm.engines.ForgeryOutcome`; in a search for the minimal distance
    as in `wm.engines.minimal.MinimalOutcome`, with ``forged_at`` as `distance`.
    """

    instance: int
    """Position in the attacker's shuffle of the test rows."""
    row: int
    """Index among the test rows."""
    status: str
    distance: float | None
    seconds: float
    reason: str
    witness: bytes | None
    """The forged instance as little-endian float32 bytes; None without one."""
    followed_from: float | None = None
    certified: bool | None = None


@dataclass(frozen=True)
class GlobalProof:
    """A proof that no instance with a label can be forged, recorded like an answer.

    It holds for all jobs with the same forest, signature, engine and limits.
    """

    label: int


@dataclass(frozen=True)
class KnownAnswer:
    """An answer, ``forged`` or ``impossible``, to an instance of the batch at another distance, `eps`."""

    eps: float
    answer: ForgeryAnswer


@dataclass(frozen=True)
class ForgeryState:
    """Resume state of a forgery job."""

    answered: frozenset[int] = frozenset()
    """Instances of the batch that have an answer."""
    known: tuple[KnownAnswer, ...] = ()
    """Answers from which others may follow."""
    proved: frozenset[int] = frozenset()
    """Labels of `GlobalProof`."""
