"""What the supervisor and the process that runs handlers say to each other over their connection."""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True)
class Finished:
    """Handler: the job is done, or failed in a way that a second try would not change."""

    outcome: Outcome
    artifacts: dict[str, bytes]
    rows: tuple[object, ...] = ()
    """To be recorded together with the outcome."""


@dataclass(frozen=True)
class SliceOver:
    """Handler: the slice is over and work is left."""


@dataclass(frozen=True)
class Crashed:
    """Handler: an unforeseen exception; a second try may help."""

    traceback: str


FromHandler = NeedArtifact | Rows | Finished | SliceOver | Crashed
