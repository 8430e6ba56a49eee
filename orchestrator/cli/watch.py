"""`wm campaign status --watch`: how far a campaign is, how fast, and who works on it."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass

import rich.box
import rich.console
import rich.live
import rich.table
from rich.text import Text

from orchestrator.cli.progress import states
from orchestrator.errors import StoreUnavailableError
from orchestrator.store import campaigns, services
from orchestrator.store.campaigns import Progress
from orchestrator.store.database import Store
from orchestrator.store.running import RunningJob, running_jobs
from orchestrator.store.services import Service
from orchestrator.store.tables import CampaignState

_EVERY_S = 2.0
_RATE_OVER_S = 60.0
_MOST_WORKERS = 20


class Rate:
    """Work done in a second, over the last minute."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def add(self, now: float, done: int) -> float | None:
        """Take how much is done at a time; return the rate, None before there are two such times."""
        self._seen.append((now, done))
        while self._seen[0][0] < now - _RATE_OVER_S:
            self._seen.popleft()
        first_at, first_done = self._seen[0]
        return None if now == first_at else (done - first_done) / (now - first_at)


@dataclass(frozen=True)
class Slowest:
    """The query, or other job, that was seen running for the longest time; `seconds` at least."""

    job: RunningJob
    seconds: float

    def __str__(self) -> str:
        job = self.job
        what = f"{job.kind} job {job.job_id}" + ("" if job.query is None else f", instance {job.query}")
        return f"{what}: {self.seconds:.0f} s or more, on {job.owner} ({job.place})"


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
    """What is shown at one time."""

    name: str
    state: CampaignState
    progress: Progress
    rate: float | None
    workers: list[Service]
    slowest: Slowest | None

    @property
    def left_s(self) -> float | None:
        """Seconds until the end at this rate; None if nothing moves."""
        if not self.rate:
            return None
        return (self.progress.total_weight - self.progress.done_weight) / self.rate

    def table(self) -> rich.table.Table:
        """Return it as a table of names and values."""
        shown = rich.table.Table(box=rich.box.SIMPLE_HEAD, show_header=False, pad_edge=False)
        progress = self.progress
        rows = [
            ("campaign", f"{self.name}: {self.state}"),
            ("done", f"{progress.done_weight} of {progress.total_weight}"),
            ("jobs", states(progress)),
            ("rate", "-" if self.rate is None else f"{self.rate:.1f}/s"),
            ("left", "-" if self.left_s is None else _duration(self.left_s)),
        ]
        alive = [worker for worker in self.workers if worker.is_alive]
        rows.append(("workers", f"{len(alive)} alive, {sum(worker.slots for worker in alive)} slots"))
        for worker in self.workers[:_MOST_WORKERS]:
            silent = "" if worker.is_alive else ", silent"
            rows.append(("", f"{worker.name}  heard {worker.silent_s:.0f} s ago{silent}"))
        if len(self.workers) > _MOST_WORKERS:
            rows.append(("", f"and {len(self.workers) - _MOST_WORKERS} more"))
        rows.append(("slowest", "-" if self.slowest is None else str(self.slowest)))
        for name, value in rows:
            shown.add_row(name, Text(value))
        return shown


def _duration(seconds: float) -> str:
    hours, rest = divmod(int(seconds), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}"


def view(store: Store, campaign_id: int, rate: Rate, stopwatch: Stopwatch) -> View:
    """Look at a campaign now."""
    now = time.monotonic()
    record = campaigns.get_campaign(store, campaign_id)
    progress = campaigns.progress(store, campaign_id)
    return View(
        name=record.name,
        state=record.state,
        progress=progress,
        rate=rate.add(now, progress.done_weight),
        workers=services.workers(store),
        slowest=stopwatch.slowest(now, running_jobs(store, campaign_id)),
    )


def watch_campaign(store: Store, campaign_id: int) -> None:
    """Show a campaign again and again until it ends; an outage of the store is waited for."""
    rate, stopwatch = Rate(), Stopwatch()
    console = rich.console.Console()
    with rich.live.Live(console=console, auto_refresh=False) as live:
        while True:
            try:
                seen = view(store, campaign_id, rate, stopwatch)
            except StoreUnavailableError as reason:
                live.update(Text(f"the store does not answer, trying again: {reason}"), refresh=True)
            else:
                live.update(seen.table(), refresh=True)
                if seen.progress.is_over:
                    return
            time.sleep(_EVERY_S)
