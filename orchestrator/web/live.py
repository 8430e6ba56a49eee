"""Look at the store in threads: at campaigns every second or two, at their results while somebody watches."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from markupsafe import Markup

from orchestrator.errors import NotFoundError, OrchestratorError, StoreError
from orchestrator.monitoring.watch import View, Watch
from orchestrator.pace import Due
from orchestrator.report.charts import Figure
from orchestrator.report.data import Findings
from orchestrator.report.rendering import inline
from orchestrator.report.sections import Card, answering, cards
from orchestrator.store import campaigns
from orchestrator.store.browse import JobRow, failed_by_kind, page_of_jobs
from orchestrator.store.database import Store
from orchestrator.store.tables import JobState
from orchestrator.store.wanted import Wanted

_LOG = logging.getLogger(__name__)

LOOK_EVERY_S = 1.0
_FIGURES_EVERY_S = 5.0
_WATCHED_S = 60.0
"""A campaign whose page was asked for so recently is watched by somebody."""

_MAX_SHARE = 0.1
"""Largest share of the time in which figures are made: those of a large campaign take seconds."""

_FIRST_ERRORS = 5
_DRAWN = ("forgery", "verification", "accuracy")
"""Sections whose first figures the page shows."""


@dataclass(frozen=True)
class Seen:
    """A campaign at the last look."""

    view: View
    failed: Mapping[tuple[str, str], int]
    """Number of failed jobs by kind and status of the outcome."""
    first_failed: tuple[JobRow, ...]
    """The first of them in the order of the plan."""

    @property
    def errors(self) -> dict[str, int]:
        """Number of failed jobs by status alone."""
        found: dict[str, int] = {}
        for (_, status), count in self.failed.items():
            found[status] = found.get(status, 0) + count
        return found


@dataclass(frozen=True)
class Drawing:
    """A figure, drawn."""

    figure: Figure
    part: Markup
    """Its chart, as a part of a page."""


@dataclass(frozen=True)
class Overview:
    """What a campaign's results say so far."""

    stage: tuple[int, str]
    """Work done and state when it was made."""
    cards: tuple[Card, ...]
    drawings: Mapping[str, Drawing]
    problem: str = ""
    """Why there is none, if so."""


@dataclass
class _Watched:
    """A campaign whose page is open."""

    asked_at: float
    due: Due = field(default_factory=lambda: Due(_FIGURES_EVERY_S))


class Live:
    """The last look at every campaign, and the overviews of those that are watched."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._watches: dict[int, Watch] = {}
        self._seen: dict[int, Seen] = {}
        self._watched: dict[int, _Watched] = {}
        self._overviews: dict[int, Overview] = {}
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self.problem = ""
        """Why the last look failed, if it did."""

    def start(self) -> None:
        """Start the threads."""
        for turn in (self.look, self.draw):
            self._threads.append(threading.Thread(target=self._repeat, args=(turn,), daemon=True))
            self._threads[-1].start()

    def close(self) -> None:
        """End the threads; one that is drawing ends with its figure."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _repeat(self, turn: Callable[[], None]) -> None:
        while not self._stop.is_set():
            try:
                turn()
            except Exception:  # a fault of this program must not end all views for good
                _LOG.exception("the live page could not be updated")
            self._stop.wait(LOOK_EVERY_S)

    def seen(self, campaign_id: int) -> Seen | None:
        """Return the last look at a campaign, None before the first."""
        return self._seen.get(campaign_id)

    def overview(self, campaign_id: int) -> Overview | None:
        """Return what is known of a campaign's results; its next figures are made soon."""
        watched = self._watched.setdefault(campaign_id, _Watched(0.0))
        watched.asked_at = time.monotonic()
        return self._overviews.get(campaign_id)

    def forget(self, campaign_id: int) -> None:
        """Look at a campaign anew, as it was changed."""
        self._watches.pop(campaign_id, None)
        self._seen.pop(campaign_id, None)

    def look(self) -> None:
        """Look at all campaigns, except those that were over before and have not been resumed."""
        try:
            for record in campaigns.list_campaigns(self._store):
                last = self._seen.get(record.id)
                if last is not None and last.view.seen.progress.is_over and last.view.seen.record == record:
                    continue
                watch = self._watches.setdefault(record.id, Watch(self._store, record.id))
                try:
                    view = watch.look()
                except NotFoundError:  # deleted meanwhile
                    self.forget(record.id)
                    continue
                self._seen[record.id] = self._seen_now(view, last)
        except StoreError as reason:
            self.problem = str(reason)
        else:
            self.problem = ""

    def _seen_now(self, view: View, last: Seen | None) -> Seen:
        progress, campaign_id = view.seen.progress, view.seen.record.id
        if last is not None and last.view.seen.progress is progress:  # not counted anew
            return Seen(view, last.failed, last.first_failed)
        failing = tuple(kind for kind, states in progress.kinds.items() if states[JobState.FAILED])
        if not failing:
            return Seen(view, {}, ())
        wanted = Wanted(failing, JobState.FAILED)
        first = page_of_jobs(self._store, campaign_id, wanted, limit=_FIRST_ERRORS).jobs
        return Seen(view, failed_by_kind(self._store, campaign_id, failing), first)

    def draw(self) -> None:
        """Make the overviews of watched campaigns whose results have changed."""
        for campaign_id, watched in list(self._watched.items()):
            seen, made = self.seen(campaign_id), self._overviews.get(campaign_id)
            if time.monotonic() - watched.asked_at > _WATCHED_S:
                del self._watched[campaign_id]
            elif seen is not None and (made is None or made.stage != _stage(seen)) and watched.due.now():
                started = time.monotonic()
                self._overviews[campaign_id] = _overview(self._store, seen)
                watched.due.postpone(max(_FIGURES_EVERY_S, (time.monotonic() - started) / _MAX_SHARE))


def _stage(seen: Seen) -> tuple[int, str]:
    return seen.view.done, seen.view.seen.state


def _overview(store: Store, seen: Seen) -> Overview:
    findings = Findings(store, seen.view.seen.record)
    try:
        found = list(answering(findings))
        shown = {section.name: part for section, part in found}
        figures = [figure for name in _DRAWN if name in shown for figure in shown[name].figures[:1]]
        drawings = {figure.name: Drawing(figure, inline(figure)) for figure in figures}
    except OrchestratorError as reason:
        return Overview(_stage(seen), (), {}, str(reason))
    except Exception as reason:  # one campaign's odd results must not end the views of the others
        _LOG.exception("the overview of campaign %s could not be made", seen.view.seen.record.id)
        return Overview(_stage(seen), (), {}, f"{type(reason).__name__}: {reason}")
    return Overview(_stage(seen), tuple(cards(found)), drawings)
