"""`wm campaign status --watch`: a live view of a campaign's progress, rate and services."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import click
import rich.box
import rich.console
import rich.live
import rich.table
from rich.text import Text

from orchestrator.cli.progress import states
from orchestrator.errors import StoreUnavailableError
from orchestrator.monitoring.attention import Situation, situation
from orchestrator.pace import Counter, Due
from orchestrator.store.activity import RunningJob, running_jobs
from orchestrator.store.campaigns import Progress
from orchestrator.store.database import Store
from orchestrator.store.services import ServiceRecord
from orchestrator.store.tables import CampaignState, JobState

_EVERY_S = 2.0
_LINE_EVERY_S = 10.0
_MIN_RATE_SPAN_S = 60.0
_MAX_RATE_SPAN_S = 900.0
_MIN_RATE_DONE = 20
_MAX_SHOWN = 20


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


class Stopwatch:
    """Measures how long queries have been running; the store does not record their start."""

    def __init__(self) -> None:
        self._since: dict[tuple[int, int | None], float] = {}

    def slowest(self, now: float, running: list[RunningJob]) -> str | None:
        """Add the jobs running at `now`; describe the query that runs longest, None if nothing runs."""
        self._since = {
            (job.job_id, job.query): self._since.get((job.job_id, job.query), now) for job in running
        }
        if not running:
            return None
        job = min(running, key=lambda job: self._since[job.job_id, job.query])
        query = "" if job.query is None else f", instance {job.query}"
        place = f" ({job.place})" if job.place else ""
        seconds = now - self._since[job.job_id, job.query]
        return f"{job.kind} job {job.job_id}{query}: {seconds:.0f} s or more, on {job.owner}{place}"


@dataclass(frozen=True)
class View:
    """The view at one time."""

    seen: Situation
    done: int
    """Number of queries and other jobs that ended, answers of running jobs included."""
    rate: float | None
    """Of `done`, per second; None before it is known."""
    slowest: str | None
    """The query, or other job, that has been running longest; None if nothing runs."""

    @property
    def left_s(self) -> float | None:
        """Seconds until the end at this rate; None if nothing moves."""
        return (self.seen.progress.total_weight - self.done) / self.rate if self.rate else None

    @property
    def workers(self) -> str:
        """The workers alive, as text."""
        alive = self.seen.workers_alive
        running = self.seen.progress.jobs[JobState.RUNNING]
        if running and not alive and not self.seen.is_launched:
            return f"none; wm campaign run itself runs {running} jobs"
        return f"{len(alive)} alive, {sum(worker.slots for worker in alive)} slots"

    def table(self) -> rich.table.Table:
        """Return it as a table of names and values."""
        shown = rich.table.Table(box=rich.box.SIMPLE_HEAD, show_header=False, pad_edge=False)
        for name, value in self._rows():
            shown.add_row(name, Text(value))
        return shown

    def _rows(self) -> Iterator[tuple[str, str]]:
        progress = self.seen.progress
        yield "campaign", f"{self.seen.record.name}: {self.seen.state}"
        yield "done", f"{self.done} of {progress.total_weight}"
        yield "jobs", states(progress)
        yield "rate", "-" if self.rate is None else f"{self.rate:.1f}/s"
        yield "left", "-" if self.left_s is None else _duration(self.left_s)
        yield "workers", self.workers
        for line in _service_lines(self.seen.workers):
            yield "", line
        if self.seen.is_launched:
            yield "orchestrators", f"{len(self.seen.orchestrators_alive)} alive"
            for line in _service_lines(self.seen.orchestrators):
                yield "", line
        yield "slowest", self.slowest or "-"
        for line in self.seen.attention:
            yield "attention", line

    def line(self) -> str:
        """Return it as one line, for a log."""
        progress = self.seen.progress
        parts = [
            f"{self.seen.record.name}: {self.seen.state}",
            f"{self.done} of {progress.total_weight}",
            states(progress),
        ]
        if self.rate is not None and not progress.is_over:
            parts.append(f"{self.rate:.1f}/s")
        if self.left_s is not None and not progress.is_over:
            parts.append(f"left {_duration(self.left_s)}")
        alive = self.seen.workers_alive
        beats = f", heartbeats in the last {max(each.silent_s for each in alive):.0f} s" if alive else ""
        parts.append(f"workers {self.workers}{beats}")
        if self.slowest is not None:
            parts.append(f"slowest {self.slowest}")
        return "; ".join([*parts, *self.seen.attention])


def _service_lines(services: Sequence[ServiceRecord]) -> Iterator[str]:
    for service in services[:_MAX_SHOWN]:
        silent = "" if service.is_alive else ", silent"
        yield f"{service.name}  last heartbeat {service.silent_s:.0f} s ago{silent}"
    if len(services) > _MAX_SHOWN:
        yield f"and {len(services) - _MAX_SHOWN} more"


def _duration(seconds: float) -> str:
    hours, rest = divmod(int(seconds), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}"


class Watch:
    """Makes views of a campaign, and keeps the state for its rate and slowest query."""

    def __init__(self, store: Store, campaign_id: int) -> None:
        self._store = store
        self._campaign_id = campaign_id
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
        seen = situation(self._store, self._campaign_id, self._progress)
        running = running_jobs(self._store, self._campaign_id)
        now = time.monotonic()
        if counted is not None:  # else current answers would be added to an old count
            answered = sum(job.answered for job in running)
            self._done = min(counted.done_weight + answered, counted.total_weight)
            self._per_s = self._rate.add(now, self._done)
        return View(seen, self._done, self._per_s, self._stopwatch.slowest(now, running))


class _Screen:
    def __init__(self, live: rich.live.Live) -> None:
        self._live = live
        self._last: rich.table.Table | None = None

    def view(self, view: View) -> None:
        self._last = view.table()
        self._live.update(self._last, refresh=True)

    def away(self, reason: StoreUnavailableError) -> None:
        message = Text(f"the store does not answer, trying again: {reason}")
        shown = message if self._last is None else rich.console.Group(self._last, message)
        self._live.update(shown, refresh=True)


class _Lines:
    """Prints a line when something changes, else every few seconds: for logs, pipes and dumb terminals."""

    def __init__(self) -> None:
        self._due = Due(_LINE_EVERY_S)
        self._last: tuple[str, ...] = ()
        self._is_away = False

    def view(self, view: View) -> None:
        state = (view.seen.state, *view.seen.attention)
        # `now` comes first: it must be called each time.
        if self._due.now() or state != self._last or self._is_away or view.seen.progress.is_over:
            click.echo(view.line())
        self._last, self._is_away = state, False

    def away(self, reason: StoreUnavailableError) -> None:
        if not self._is_away:
            click.echo(f"the store does not answer, trying again: {reason}", err=True)
        self._is_away = True


@contextmanager
def _shown() -> Iterator[_Screen | _Lines]:
    console = rich.console.Console()
    if not console.is_terminal or console.is_dumb_terminal:
        yield _Lines()
        return
    with rich.live.Live(console=console, auto_refresh=False) as live:
        yield _Screen(live)


def watch_campaign(store: Store, campaign_id: int) -> CampaignState:
    """Show a campaign until it ends, and return its final state; wait during an outage of the store."""
    watch = Watch(store, campaign_id)
    with _shown() as show:
        while True:
            try:
                view = watch.look()
            except StoreUnavailableError as reason:
                show.away(reason)
            else:
                show.view(view)
                if view.seen.progress.is_over:
                    return view.seen.progress.end_state
            time.sleep(_EVERY_S)
