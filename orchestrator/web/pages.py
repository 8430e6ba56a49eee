"""What each page shows: read from the store and from the last look at it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from starlette.exceptions import HTTPException

from orchestrator.errors import NotFoundError
from orchestrator.plan import GridPoint
from orchestrator.report.charts import render
from orchestrator.report.data import Findings
from orchestrator.report.page import report_html
from orchestrator.report.witness import witness_chart
from orchestrator.results.forged_sets import Forgery
from orchestrator.results.stored_models import StoredModels
from orchestrator.store import campaigns, details
from orchestrator.store.browse import Wanted, page_of_jobs
from orchestrator.store.campaigns import CampaignRecord
from orchestrator.store.database import Store
from orchestrator.store.tables import CampaignState, JobState
from orchestrator.web.compare import compare
from orchestrator.web.live import Live
from workers.jobs import KINDS, JobKind

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

    def home(self) -> Page:
        """Return the list of campaigns, the newest first."""
        records = campaigns.list_campaigns(self._store)[::-1]
        rows = [(record, self._live.seen(record.id)) for record in records]
        return Page("home.html.j2", {"rows": rows, "problem": self._live.problem}, ("problem", "campaigns"))

    def campaign(self, campaign_id: int, query: Mapping[str, str]) -> Page:
        """Return a campaign's page; `query` has the filters and place of its list of jobs."""
        record = campaigns.get_campaign(self._store, campaign_id)
        kinds, listed = _kinds(record), JobList.of(query, _kinds(record))
        seen = self._live.seen(campaign_id)
        wanted = (
            Wanted((listed.kind,), listed.state, is_every_kind=False)
            if listed.kind
            else Wanted(kinds, listed.state)
        )
        errors = () if seen is None else seen.first_failed
        context = {
            "record": record,
            "seen": seen,
            "problem": self._live.problem,
            "overview": self._live.overview(campaign_id),
            "errors": errors,
            "listed": listed,
            "kinds": kinds,
            "states": [state.value for state in JobState],
            "page": page_of_jobs(self._store, campaign_id, wanted, after=listed.after, before=listed.before),
            "max_running": MAX_RUNNING,
            "may_cancel": record.state not in _OVER,
            "may_retry": bool(errors) and record.state is not CampaignState.CANCELLED,
        }
        blocks = ("problem", "progress", "actions", "overview", "running", "errors", "jobs")
        return Page("campaign.html.j2", context, blocks)

    def job(self, job_id: int) -> Page:
        """Return a job's page."""
        found = details.job_details(self._store, job_id)
        context = {"job": found, "problem": self._live.problem}
        return Page("job.html.j2", context, ("problem", "job"))

    def comparison(self, query: Mapping[str, str]) -> Page:
        """Return two campaigns side by side, those that `first` and `second` name."""
        records = campaigns.list_campaigns(self._store)[::-1]
        context: dict[str, Any] = {"records": records, "first": None, "second": None, "found": None}
        if "first" in query or "second" in query:
            first, second = (
                campaigns.get_campaign(self._store, _whole(query.get(name, ""), name))
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

    def figure(self, campaign_id: int, name: str) -> bytes:
        """Return a figure of the last overview, as SVG."""
        overview = self._live.overview(campaign_id)
        if overview is None or name not in overview.drawings:
            raise NotFoundError(f"campaign {campaign_id} has no figure {name!r} now")
        return overview.drawings[name].svg

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


@dataclass(frozen=True)
class JobList:
    """Which jobs a page lists, as its address says."""

    kind: str = ""
    state: JobState | None = None
    after: int | None = None
    before: int | None = None

    @classmethod
    def of(cls, query: Mapping[str, str], kinds: tuple[str, ...]) -> JobList:
        """Read an address; empty values mean all.

        Raises
        ------
        HTTPException
            No such kind or state, or a place that is no number.
        """
        kind, state = query.get("kind", ""), query.get("state", "")
        if kind and kind not in kinds:
            raise HTTPException(400, f"kind={kind}: this campaign has {', '.join(kinds)}")
        if state and state not in set(JobState):
            raise HTTPException(400, f"state={state}: a job is one of {', '.join(JobState)}")
        after, before = (
            _whole(query[name], name) if query.get(name) else None for name in ("after", "before")
        )
        if after is not None and before is not None:
            raise HTTPException(400, "give after or before, not both")
        return cls(kind, JobState(state) if state else None, after, before)


def _whole(text: str, name: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise HTTPException(400, f"{name}={text}: not a whole number")
    return int(text)


def place(cell: GridPoint) -> str:
    """Return a point of the grid in words, without the coordinates that do not apply."""
    given = [(one.name.replace("_", " "), getattr(cell, one.name)) for one in fields(cell)]
    return ", ".join(
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in given
        if value is not None
    )
