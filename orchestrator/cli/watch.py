"""`wm campaign status --watch`: a live view of a campaign's progress, rate and services."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click
import rich.box
import rich.console
import rich.live
import rich.table
from rich.text import Text

from orchestrator.cli.progress import states
from orchestrator.errors import StoreUnavailableError
from orchestrator.monitoring.watch import View, Watch, duration
from orchestrator.pace import Due
from orchestrator.store.database import Store
from orchestrator.store.services import ServiceRecord
from orchestrator.store.tables import CampaignState

_EVERY_S = 2.0
_LINE_EVERY_S = 10.0
_MAX_SHOWN = 20


def table(view: View) -> rich.table.Table:
    """Return a view as a table of names and values."""
    shown = rich.table.Table(box=rich.box.SIMPLE_HEAD, show_header=False, pad_edge=False)
    for name, value in _rows(view):
        shown.add_row(name, Text(value))
    return shown


def _rows(view: View) -> Iterator[tuple[str, str]]:
    seen = view.seen
    yield "campaign", f"{seen.record.name}: {seen.state}"
    yield "done", f"{view.done} of {seen.progress.total_weight}"
    yield "jobs", states(seen.progress)
    yield "rate", "-" if view.rate is None else f"{view.rate:.1f}/s"
    yield "left", "-" if view.left_s is None else duration(view.left_s)
    yield "workers", view.workers
    for line in _service_lines(seen.workers):
        yield "", line
    if seen.is_launched:
        yield "orchestrators", f"{len(seen.orchestrators_alive)} alive"
        for line in _service_lines(seen.orchestrators):
            yield "", line
    yield "slowest", view.slowest or "-"
    for line in seen.attention:
        yield "attention", line


def log_line(view: View) -> str:
    """Return a view as one line, for a log."""
    seen, progress = view.seen, view.seen.progress
    parts = [f"{seen.record.name}: {seen.state}", f"{view.done} of {progress.total_weight}", states(progress)]
    if view.rate is not None and not progress.is_over:
        parts.append(f"{view.rate:.1f}/s")
    if view.left_s is not None and not progress.is_over:
        parts.append(f"left {duration(view.left_s)}")
    alive = seen.workers_alive
    beats = f", heartbeats in the last {max(each.silent_s for each in alive):.0f} s" if alive else ""
    parts.append(f"workers {view.workers}{beats}")
    if view.slowest is not None:
        parts.append(f"slowest {view.slowest}")
    return "; ".join([*parts, *seen.attention])


def _service_lines(services: Sequence[ServiceRecord]) -> Iterator[str]:
    for service in services[:_MAX_SHOWN]:
        silent = "" if service.is_alive else ", silent"
        yield f"{service.name}  last heartbeat {service.silent_s:.0f} s ago{silent}"
    if len(services) > _MAX_SHOWN:
        yield f"and {len(services) - _MAX_SHOWN} more"


class _Screen:
    def __init__(self, live: rich.live.Live) -> None:
        self._live = live
        self._last: rich.table.Table | None = None

    def view(self, view: View) -> None:
        self._last = table(view)
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
            click.echo(log_line(view))
        self._last, self._is_away = state, False

    def away(self, reason: StoreUnavailableError) -> None:
        if not self._is_away:
            click.echo(f"the store does not answer, trying again: {reason}", err=True)
        self._is_away = True


@contextmanager
def _shown() -> Iterator[_Screen | _Lines]:
    console = rich.console.Console()
    # Where colours are forced, as by notebooks and in CI, rich takes a file for a terminal.
    if not (console.is_terminal and console.file.isatty()) or console.is_dumb_terminal:
        yield _Lines()
        return
    with rich.live.Live(console=console, auto_refresh=False) as live:
        yield _Screen(live)


def watch_campaign(store: Store, campaign_id: int, options: str = "") -> CampaignState:
    """Show a campaign until it ends, and return its final state; wait during an outage of the store.

    `options` is as in `orchestrator.monitoring.attention.Situation`.
    """
    watch = Watch(store, campaign_id, options)
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
