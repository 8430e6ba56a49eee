"""What each page shows: read from the store and from the last look at it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from orchestrator.errors import NotFoundError
from orchestrator.plan import GridPoint
from orchestrator.report.data import Findings
from orchestrator.report.page import report_html
from orchestrator.report.rendering import FORMATS, render
from orchestrator.report.sections.images import witness_chart
from orchestrator.results.forged_sets import Forgery
from orchestrator.results.stored_models import StoredModels
from orchestrator.store import campaigns, details
from orchestrator.store.browse import coordinates, page_of_jobs
from orchestrator.store.campaigns import CampaignRecord
from orchestrator.store.database import Store
from orchestrator.store.single_jobs import CANCELLABLE, RETRIABLE
from orchestrator.store.tables import CampaignState, JobState
from orchestrator.web.compare import compare
from orchestrator.web.job_list import JobList, Places, whole
from orchestrator.web.live import Live
from workers.jobs.kinds import KINDS, JobKind

MAX_RUNNING = 20
_OVER = (CampaignState.FINISHED, CampaignState.INCOMPLETE, CampaignState.CANCELLED)


@dataclass(frozen=True)
class Page:
    """A page: its template, what that is filled with, and its blocks that change while somebody looks."""

    template: str
    context: Mapping[str, Any]
    blocks: tuple[str, ...] = ()


class Pages:
    """Makes the pages of a store."""

    def __init__(self, store: Store, live: Live) -> None:
        self._store = store
        self._live = live
        self._drawing = threading.Lock()
        self._places: dict[int, Places] = {}

    def home(self) -> Page:
        """Return the list of campaigns, the newest first."""
        records = campaigns.list_campaigns(self._store)[::-1]
        rows = [(record, self._live.seen(record.id)) for record in records]
        return Page("home.html.j2", {"rows": rows, "problem": self._live.problem}, ("problem", "campaigns"))

    def campaign(self, campaign_id: int, query: Mapping[str, str]) -> Page:
        """Return a campaign's page; `query` has the filters and place of its list of jobs."""
        record = campaigns.get_campaign(self._store, campaign_id)
        kinds, places = _kinds(record), self._coordinates(campaign_id)
        listed = JobList.of(query, kinds, places)
        seen = self._live.seen(campaign_id)
        errors = () if seen is None else seen.first_failed
        context = {
            "record": record,
            "seen": seen,
            "problem": self._live.problem,
            "overview": self._live.overview(campaign_id),
            "errors": errors,
            "listed": listed,
            "kinds": kinds,
            "places": places,
            "states": [state.value for state in JobState],
            "page": page_of_jobs(
                self._store, campaign_id, listed.wanted(kinds), after=listed.after, before=listed.before
            ),
            "max_running": MAX_RUNNING,
            "endings": FORMATS,
            "may_cancel": record.state not in _OVER,
            "may_retry": bool(errors) and record.state is not CampaignState.CANCELLED,
        }
        blocks = ("problem", "progress", "actions", "overview", "running", "errors", "jobs")
        return Page("campaign.html.j2", context, blocks)

    def _coordinates(self, campaign_id: int) -> Places:
        """Return the values of a campaign's coordinates, which are the same from its beginning on."""
        if campaign_id not in self._places:
            self._places[campaign_id] = coordinates(self._store, campaign_id)
        return self._places[campaign_id]

    def job(self, job_id: int) -> Page:
        """Return a job's page."""
        found = details.job_details(self._store, job_id)
        context = {
            "job": found,
            "problem": self._live.problem,
            "may_retry": found.state in RETRIABLE,
            "may_cancel": found.state in CANCELLABLE,
        }
        return Page("job.html.j2", context, ("problem", "actions", "job"))

    def comparison(self, query: Mapping[str, str]) -> Page:
        """Return two campaigns side by side, those that `first` and `second` name."""
        records = campaigns.list_campaigns(self._store)[::-1]
        context: dict[str, Any] = {"records": records, "first": None, "second": None, "found": None}
        if "first" in query or "second" in query:
            first, second = (
                campaigns.get_campaign(self._store, whole(query.get(name, ""), name))
                for name in ("first", "second")
            )
            found = compare(self._store, first, second)
            context |= {"first": first, "second": second, "found": found}
        return Page("compare.html.j2", context)

    def report(self, campaign_id: int) -> str:
        """Return the report as `wm report` writes it."""
        record = campaigns.get_campaign(self._store, campaign_id)
        with self._drawing:  # one at a time: its charts keep a processor busy for seconds
            return report_html(Findings(self._store, record))

    def figure(self, campaign_id: int, name: str, file_format: str) -> bytes:
        """Return a figure of the last overview as a file."""
        overview = self._live.overview(campaign_id)
        if overview is None or name not in overview.drawings or file_format not in FORMATS:
            raise NotFoundError(f"campaign {campaign_id} has no figure {name}.{file_format} now")
        drawn = overview.drawings[name].figure
        with self._drawing:
            return render(drawn.draw(), file_format, description=drawn.alt_text)

    def witness(self, job_id: int, instance: int) -> bytes:
        """Return the picture of a forged instance, as SVG."""
        row, distance, witness = details.witness_of(self._store, job_id, instance)
        campaign_id, _ = details.job_details(self._store, job_id).campaigns[0]
        split = StoredModels(self._store, campaign_id).split
        found = Forgery(
            row=row,
            label=int(split.y_test[row]),
            original=split.X_test[row],
            forged=np.frombuffer(witness, dtype="<f4").astype(np.float32),
            distance=distance,
        )
        return render(witness_chart(found, split), "svg")


def _kinds(record: CampaignRecord) -> tuple[str, ...]:
    """Return every kind that jobs of a campaign may have, also of attacks that are not installed here."""
    attacks = {str(attack["kind"]) for attack in record.spec.get("attack", ())}
    steps = set(JobKind) - {JobKind.FORGERY}
    order = {kind: place for place, kind in enumerate(KINDS)}
    return tuple(str(kind) for kind in sorted(attacks | steps, key=lambda kind: order.get(kind, len(order))))


def place(cell: GridPoint) -> str:
    """Return a point of the grid in words, without the coordinates that do not apply."""
    given = [(one.name.replace("_", " "), getattr(cell, one.name)) for one in fields(cell)]
    return ", ".join(
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in given
        if value is not None
    )
