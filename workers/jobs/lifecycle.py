"""A job as a worker gets it, and what it records."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


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
    """A job as a worker gets it, with the right to run it until the lease expires.

    Attributes
    ----------
    job_id, kind, parameters
        What to do; parameters as JSON-ready data.
    inputs
        Results of the jobs that this one needs, by kind.
    failures
        Attempts that already failed.
    state
        What the job goes on from, in a type of its kind; None if its kind has no such state.
    """

    job_id: int
    kind: str
    parameters: dict[str, Any]
    inputs: dict[str, tuple[dict[str, Any], ...]]
    failures: int
    state: object = None
