"""Views of a campaign at one time: progress, rate, time left, and the queries that run longest."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.monitoring.attention import Situation, situation
from orchestrator.pace import Counter
from orchestrator.store.activity import RunningJob, running_jobs
from orchestrator.store.campaigns import Progress
from orchestrator.store.database import Store
from orchestrator.store.tables import JobState

_MIN_RATE_SPAN_S = 60.0
_MAX_RATE_SPAN_S = 900.0
_MIN_RATE_DONE = 20


class Throughput:
    """Work per second over the last minute, or longer if less than `_MIN_RATE_DONE` was done in it."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def add(self, now: float, done: int) -> float | None:
        """Add the work done until `now`; return the rate, None at the first call."""
        self._seen.append((now, done))
        while len(self._seen) > 2:
            passed, more = now - self._seen[1][0], done - self._seen[1][1]
            if passed < _MIN_RATE_SPAN_S or (more < _MIN_RATE_DONE and passed < _MAX_RATE_SPAN_S):
                break
            self._seen.popleft()
        first_at, first_done = self._seen[0]
        # Answers of a job that is given back are missing in `done` until its next lease.
        return None if now == first_at else max(0, done - first_done) / (now - first_at)


@dataclass(frozen=True)
class Timed:
    """A running job, and for how long its current query, or itself, has been seen to run."""

    job: RunningJob
    seconds: float
    """At least: the store does not record when a query began."""

    def __str__(self) -> str:
        query = "" if self.job.query is None else f", instance {self.job.query}"
        place = f" ({self.job.place})" if self.job.place else ""
        return (
            f"{self.job.kind} job {self.job.job_id}{query}: {self.seconds:.0f} s or more, "
            f"on {self.job.owner}{place}"
        )


class Stopwatch:
    """Measures how long queries have been running; the store does not record their start."""

    def __init__(self) -> None:
        self._since: dict[tuple[int, int | None], float] = {}

    def times(self, now: float, running: Sequence[RunningJob]) -> list[Timed]:
        """Add the jobs running at `now`; return all of them, the one that runs longest first."""
        self._since = {
            (job.job_id, job.query): self._since.get((job.job_id, job.query), now) for job in running
        }
        timed = [Timed(job, now - self._since[job.job_id, job.query]) for job in running]
        return sorted(timed, key=lambda one: -one.seconds)


@dataclass(frozen=True)
class View:
    """The view at one time."""

    seen: Situation
    done: int
    """Number of queries and other jobs that ended, answers of running jobs included."""
    rate: float | None
    """Of `done`, per second; None before it is known."""
    running: Sequence[Timed]
    """What runs, the longest first."""

    @property
    def left_s(self) -> float | None:
        """Seconds until the end at this rate; None if nothing moves."""
        return (self.seen.progress.total_weight - self.done) / self.rate if self.rate else None

    @property
    def slowest(self) -> str | None:
        """The query, or other job, that has been running longest; None if nothing runs."""
        return str(self.running[0]) if self.running else None

    @property
    def workers(self) -> str:
        """The workers alive, as text."""
        alive = self.seen.workers_alive
        running = self.seen.progress.jobs[JobState.RUNNING]
        if running and not alive and not self.seen.is_launched:
            return f"none; wm campaign run itself runs {running} job{'s' * (running != 1)}"
        return f"{len(alive)} alive, {sum(worker.slots for worker in alive)} slots"


class Watch:
    """Makes views of a campaign, and keeps the state for its rate and slowest query.

    `options` is as in `Situation`.
    """

    def __init__(self, store: Store, campaign_id: int, options: str = "") -> None:
        self._store = store
        self._campaign_id = campaign_id
        self._options = options
        self._counter = Counter(store, campaign_id, every_s=0.0)
        self._progress: Progress | None = None
        self._done = 0
        self._per_s: float | None = None
        self._rate = Throughput()
        self._stopwatch = Stopwatch()

    def look(self) -> View:
        """Return the view now; the jobs of a large campaign are not counted each time: see `Counter`."""
        counted = self._counter.look(at_once=self._progress is None)
        self._progress = counted or self._progress
        seen = situation(self._store, self._campaign_id, self._progress, options=self._options)
        running = running_jobs(self._store, self._campaign_id)
        now = time.monotonic()
        if counted is not None:  # else current answers would be added to an old count
            answered = sum(job.answered for job in running)
            self._done = min(counted.done_weight + answered, counted.total_weight)
            self._per_s = self._rate.add(now, self._done)
        return View(seen, self._done, self._per_s, self._stopwatch.times(now, running))


def duration(seconds: float) -> str:
    """Return a time in seconds as hours, minutes and seconds."""
    hours, rest = divmod(int(seconds), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}"
