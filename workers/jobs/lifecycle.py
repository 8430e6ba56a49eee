"""A job as a worker gets it, and what it records."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from workers.jobs.forging import KnownAnswer
from workers.jobs.kinds import JobKind


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
    known
        Forgery only: decisions at other distances, from which answers of the batch may follow.
    """

    job_id: int
    kind: JobKind
    parameters: dict[str, Any]
    owner: str
    inputs: dict[JobKind, tuple[dict[str, Any], ...]]
    answered: frozenset[int]
    failures: int
    known: tuple[KnownAnswer, ...] = ()
