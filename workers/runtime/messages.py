"""Messages between the supervisor and the process that runs handlers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from workers.jobs.base import LeasedJob, Outcome


@dataclass(frozen=True)
class Start:
    """To the handler: run this job; give it back after `slice_s` if it can be continued."""

    job: LeasedJob
    slice_s: float


@dataclass(frozen=True)
class NeedArtifact:
    """From the handler: request for an artifact."""

    sha256: str


@dataclass(frozen=True)
class ArtifactData:
    """To the handler: the bytes of an artifact."""

    data: bytes


@dataclass(frozen=True)
class Rows:
    """From the handler: rows of the resume state to record."""

    rows: tuple[object, ...]


class End(StrEnum):
    """End of a run."""

    FINISHED = "finished"
    """There is an outcome."""
    SLICE_OVER = "slice over"
    """Work is left; nothing went wrong."""
    FAILED = "failed"
    """The attempt failed; another may succeed."""
    STOPPED = "stopped"
    """The worker was stopped, or the lease was lost; the child was killed."""


@dataclass(frozen=True)
class Run:
    """From the handler: the run is over; also made by the supervisor if the process was killed or died."""

    end: End
    outcome: Outcome | None = None
    """With ``finished``, to be recorded together with artifacts and rows."""
    artifacts: Mapping[str, bytes] = field(default_factory=dict)
    rows: tuple[object, ...] = ()
    reason: str = ""
    """With ``failed``."""


FromHandler = NeedArtifact | Rows | Run
