"""Define a leased job and its outcome."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


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
