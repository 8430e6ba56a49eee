"""What the supervisor and the process that runs handlers say to each other over their connection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from workers.jobs import LeasedJob, Outcome


@dataclass(frozen=True)
class Start:
    """Supervisor: run this job; give it back after `slice_s` if it can be continued later."""

    job: LeasedJob
    slice_s: float


@dataclass(frozen=True)
class NeedArtifact:
    """Handler: send me these bytes."""

    sha256: str


@dataclass(frozen=True)
class ArtifactData:
    """Supervisor: here they are."""

    data: bytes


@dataclass(frozen=True)
class Rows:
    """Handler: record these rows of the kind's state before I am done."""

    rows: tuple[object, ...]


class End(StrEnum):
    """How a run ended."""

    FINISHED = "finished"
    """There is an outcome; a second try would not change it."""
    SLICE_OVER = "slice over"
    """Work is left; nothing went wrong."""
    FAILED = "failed"
    """The attempt failed; another may succeed."""
    STOPPED = "stopped"
    """The worker was told to stop, or the lease was lost; the child was killed."""


@dataclass(frozen=True)
class Run:
    """Handler: the run is over; also what the supervisor makes of one whose process it killed, or lost.

    Attributes
    ----------
    end
        How it ended.
    outcome, artifacts, rows
        With ``finished``, to be recorded together.
    reason
        With ``failed``.
    """

    end: End
    outcome: Outcome | None = None
    artifacts: Mapping[str, bytes] = field(default_factory=dict)
    rows: tuple[object, ...] = ()
    reason: str = ""


FromHandler = NeedArtifact | Rows | Run
