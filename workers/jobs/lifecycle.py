"""A job as a worker gets it, and what it records."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from workers.jobs.forging import KnownAnswer
from workers.jobs.kinds import KINDS, JobKind


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
    proved
        Forgery only: labels of which its engine is known to forge no instance at all with its signature.
    """

    job_id: int
    kind: str
    parameters: dict[str, Any]
    owner: str
    inputs: dict[str, tuple[dict[str, Any], ...]]
    answered: frozenset[int]
    failures: int
    known: tuple[KnownAnswer, ...] = ()
    proved: frozenset[int] = frozenset()


_ONE_BATCH = frozenset({"eps", "cap", "first", "count"})


def proof_subject(parameters: Mapping[str, Any]) -> str:
    """Return what a forgery job's proofs in the whole domain are about, beside its forest: 64 hex digits.

    Equal for all batches and distances of one attack with one signature. Other engines and other limits have
    other keys: what one attack finds must not make another look fast.

    Parameters
    ----------
    parameters
        `ForgeryParameters` as JSON-ready data.
    """
    asked = {name: value for name, value in parameters.items() if name not in _ONE_BATCH}
    content = [KINDS[JobKind.FORGERY].version, asked]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
