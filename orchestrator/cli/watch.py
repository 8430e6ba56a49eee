"""`wm campaign status --watch`: how far a campaign is, how fast, and who works on it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import click
import rich.box
import rich.console
import rich.live
import rich.table
from rich.text import Text

from orchestrator.attention import Situation, situation
from orchestrator.cli.progress import states
from orchestrator.errors import StoreUnavailableError
from orchestrator.pace import Counter, Due
from orchestrator.store.campaigns import Progress
from orchestrator.store.database import Store
from orchestrator.store.monitoring import RunningJob, running_jobs
from orchestrator.store.services import Service
from orchestrator.store.tables import CampaignState, JobState

_EVERY_S = 2.0
_LINE_EVERY_S = 10.0
_RATE_OVER_S = 60.0
_RATE_OVER_AT_MOST_S = 900.0
_ENOUGH = 20
_MOST_WORKERS = 20


class Rate:
    """Work done in a second, over the last minute, or longer where less than `_ENOUGH` was done in it."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def add(self, now: float, done: int) -> float | None:
        """Take how much is done at a time; return the rate, None before there are two such times."""
        self._seen.append((now, done))
        while len(self._seen) > 2 and self._is_enough(now, done, *self._seen[1]):
            self._seen.popleft()
        first_at, first_done = self._seen[0]
        # What a job that is given back had answered is not seen until it is taken up again.
        return None if now == first_at else max(0, done - first_done) / (now - first_at)

    @staticmethod
    def _is_enough(now: float, done: int, since: float, then: int) -> bool:
        passed = now - since
        return passed >= _RATE_OVER_S and (done - then >= _ENOUGH or passed >= _RATE_OVER_AT_MOST_S)


@dataclass(frozen=True)
class Slowest:
    """The query, or other job, that was seen running for the longest time; `seconds` at least."""

    job: RunningJob
    seconds: float

    def __str__(self) -> str:
        job = self.job
        what = f"{job.kind} job {job.job_id}" + ("" if job.query is None else f", instance {job.query}")
        place = f" ({job.place})" if job.place else ""
        return f"{what}: {self.seconds:.0f} s or more, on {job.owner}{place}"


class Stopwatch:
    """How long each query has been running, as far as was seen; the store does not say when one began."""

    def __init__(self) -> None:
        self._since: dict[tuple[int, int | None], float] = {}

    def slowest(self, now: float, running: list[RunningJob]) -> Slowest | None:
        """Take what runs at a time; return what was seen running for longest, None if nothing runs."""
        self._since = {
            (job.job_id, job.query): self._since.get((job.job_id, job.query), now) for job in running
        }
        if not running:
            return None
        job = min(running, key=lambda job: self._since[job.job_id, job.query])
        return Slowest(job, now - self._since[job.job_id, job.query])


@dataclass(frozen=True)
class View:
    """What is shown at one time.

    Attributes
    ----------
    seen
        The campaign and its services.
    done
        Queries and other jobs that ended, answers of running jobs included.
    rate
        Of these, in a second; None before it is known.
    slowest
        None if nothing runs.
    """

    seen: Situation
    done: int
    rate: float | None
    slowest: Slowest | None

    @property
    def left_s(self) -> float | None:
        """Seconds until the end at this rate; None if nothing moves."""
        return (self.seen.progress.total_weight - self.done) / self.rate if self.rate else None

    @property
    def workers(self) -> str:
        """The workers alive, in few words."""
        alive = self.seen.workers_alive
        running = self.seen.progress.jobs[JobState.RUNNING]
        if running and not alive and not self.seen.is_launched:
            return f"none; wm campaign run itself is at {running} jobs"
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
        for worker in self.seen.workers[:_MOST_WORKERS]:
            yield "", _heard(worker)
        if len(self.seen.workers) > _MOST_WORKERS:
            yield "", f"and {len(self.seen.workers) - _MOST_WORKERS} more"
        if self.seen.is_launched:
            yield "orchestrators", f"{len(self.seen.orchestrators_alive)} alive"
            for orchestrator in self.seen.orchestrators[:_MOST_WORKERS]:
                yield "", _heard(orchestrator)
        yield "slowest", "-" if self.slowest is None else str(self.slowest)
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
        heard = f", heard in the last {max(worker.silent_s for worker in alive):.0f} s" if alive else ""
        parts.append(f"workers {self.workers}{heard}")
        if self.slowest is not None:
            parts.append(f"slowest {self.slowest}")
        return "; ".join([*parts, *self.seen.attention])


def _heard(service: Service) -> str:
    silent = "" if service.is_alive else ", silent"
    return f"{service.name}  heard {service.silent_s:.0f} s ago{silent}"


def _duration(seconds: float) -> str:
    hours, rest = divmod(int(seconds), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}"


class Watch:
    """Looks at a campaign again and again, and remembers what it needs for rate and slowest query."""

    def __init__(self, store: Store, campaign_id: int) -> None:
        self._store = store
        self._campaign_id = campaign_id
        self._counter = Counter(store, campaign_id, every_s=0.0)
        self._progress: Progress | None = None
        self._done = 0
        self._per_s: float | None = None
        self._rate = Rate()
        self._stopwatch = Stopwatch()

    def look(self) -> View:
        """Look now; the jobs of a large campaign are not counted each time: see `Counter`."""
        counted = self._counter.look(at_once=self._progress is None)
        self._progress = counted or self._progress
        seen = situation(self._store, self._campaign_id, self._progress)
        running = running_jobs(self._store, self._campaign_id)
        now = time.monotonic()
        if counted is not None:  # else answers of now would be added to jobs that ended until then
            answered = sum(job.answered for job in running)
            self._done = min(counted.done_weight + answered, counted.total_weight)
            self._per_s = self._rate.add(now, self._done)
        return View(seen, self._done, self._per_s, self._stopwatch.slowest(now, running))


class _Show(Protocol):
    def view(self, view: View) -> None:
        """Show what is seen now."""

    def away(self, reason: StoreUnavailableError) -> None:
        """Show that nothing can be seen now."""


class _Screen:
    def __init__(self, live: rich.live.Live) -> None:
        self._live = live
        self._last: rich.table.Table | None = None

    def view(self, view: View) -> None:
        self._last = view.table()
        self._live.update(self._last, refresh=True)

    def away(self, reason: StoreUnavailableError) -> None:
        told = Text(f"the store does not answer, trying again: {reason}")
        shown = told if self._last is None else rich.console.Group(self._last, told)
        self._live.update(shown, refresh=True)


class _Lines:
    """A line when something changes, else now and then: what a log, a pipe or a dumb terminal can bear."""

    def __init__(self) -> None:
        self._due = Due(_LINE_EVERY_S)
        self._told: tuple[str, ...] = ()
        self._is_away = False

    def view(self, view: View) -> None:
        told = (view.seen.state, *view.seen.attention)
        # In this order: being due must be asked each time.
        if self._due.now() or told != self._told or self._is_away or view.seen.progress.is_over:
            click.echo(view.line())
        self._told, self._is_away = told, False

    def away(self, reason: StoreUnavailableError) -> None:
        if not self._is_away:
            click.echo(f"the store does not answer, trying again: {reason}", err=True)
        self._is_away = True


@contextmanager
def _shown() -> Iterator[_Show]:
    console = rich.console.Console()
    if not console.is_terminal or console.is_dumb_terminal:
        yield _Lines()
        return
    with rich.live.Live(console=console, auto_refresh=False) as live:
        yield _Screen(live)


def watch_campaign(store: Store, campaign_id: int) -> CampaignState:
    """Show a campaign again and again until it ends, and return how; an outage of the store is waited for."""
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
