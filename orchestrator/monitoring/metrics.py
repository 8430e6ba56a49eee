"""Serve Prometheus metrics of an orchestrator: campaigns, jobs, outcomes, workers, store and broker."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, ProcessCollector, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from orchestrator.errors import OutputError, StoreError
from orchestrator.pace import Due
from orchestrator.store import services
from orchestrator.store.activity import Totals, count_totals
from orchestrator.store.campaigns import Progress
from orchestrator.store.database import Store
from orchestrator.store.services import ServiceRecord
from workers.runtime.version import protocol_version

LOOK_EVERY_S = 5.0
_COUNT_EVERY_S = 15.0
_MAX_SHARE = 0.05
"""Maximum share of the time spent on counting the whole store."""


class Metrics(Collector):
    """Collects what the orchestrator's loop reports, and what its own thread reads from the store.

    A scrape uses neither store nor broker: it takes a millisecond however large the campaigns are, and works
    while both are away.

    Parameters
    ----------
    store
        Read by the thread.
    queue_length
        Returns the number of waiting messages; None if the broker does not answer. Called by `turn`, as the
        broker's connection belongs to the loop's thread.
    """

    def __init__(self, store: Store, queue_length: Callable[[], int | None]) -> None:
        self._store = store
        self._queue_length = queue_length
        self._version = protocol_version()
        # Scrapes read these in another thread: each is replaced as a whole, or keeps its keys.
        self._queue_due = Due(LOOK_EVERY_S)
        self._count_due = Due(_COUNT_EVERY_S)
        self._campaigns: dict[int, Progress] = {}
        self._leads = False
        self._taken_back = {"lease_lapsed": 0, "worker_gone": 0}
        self._queue_asked = False
        self._queued: int | None = None
        self._store_up = False
        self._workers: list[ServiceRecord] | None = None
        self._orchestrators: list[ServiceRecord] = []
        self._seen_at = 0.0
        self._totals: Totals | None = None
        self._count_s = 0.0

    # Reports of the loop

    def leads(self, leads: bool) -> None:
        """Record whether this orchestrator sends jobs; one that stands by knows no progress."""
        self._leads = leads
        self._campaigns = self._campaigns if leads else {}

    def turn(self, unfinished: Collection[int]) -> None:
        """Record the ids of unfinished campaigns; drop the others except the last one that ended."""
        if self._queue_due.now():
            self._queued = self._queue_length()
            self._queue_asked = True
        known = self._campaigns.items()  # those that are gone were cancelled
        self._campaigns = {each: last for each, last in known if each in unfinished or last.is_over}

    def progress(self, campaign_id: int, progress: Progress) -> None:
        """Record a campaign's progress, and drop other campaigns that are over."""
        going_on = {each: last for each, last in self._campaigns.items() if not last.is_over}
        self._campaigns = going_on | {campaign_id: progress}

    def taken_back(self, *, expired: int, gone: int) -> None:
        """Add numbers of jobs taken back: expired leases, and jobs of workers known to be dead."""
        self._taken_back["lease_lapsed"] += expired
        self._taken_back["worker_gone"] += gone

    # Readings of the store

    def look(self) -> None:
        """Read which services are alive; count the whole store if this orchestrator leads and it is due."""
        try:
            self._orchestrators = services.orchestrators(self._store)
            self._workers = services.workers(self._store)
            self._store_up, self._seen_at = True, time.time()
            if self._leads and self._count_due.now():
                started = time.monotonic()
                self._totals = count_totals(self._store)
                self._count_s = time.monotonic() - started
                self._count_due.postpone(max(_COUNT_EVERY_S, self._count_s / _MAX_SHARE))
        except StoreError:  # the loop reports it; here it is a metric
            self._store_up, self._workers, self._orchestrators = False, None, []

    def serve(self, host: str, port: int) -> Callable[[], None]:
        """Start a thread that answers scrapes and one that reads the store; return a function that ends both.

        Raises
        ------
        OutputError
            The port is not available.
        """
        registry = CollectorRegistry()
        registry.register(self)
        ProcessCollector(registry=registry)
        try:
            server, thread = start_http_server(port, addr=host, registry=registry)
        except OSError as reason:
            raise OutputError(
                f"metrics port {host}:{port}: {reason.strerror or reason}; give another --metrics-port or "
                "--metrics-host"
            ) from reason
        stop = threading.Event()

        def watch() -> None:
            while not stop.wait(LOOK_EVERY_S):
                self.look()

        self.look()
        watching = threading.Thread(target=watch, name="metrics", daemon=True)
        watching.start()

        def close() -> None:
            stop.set()
            server.shutdown()
            server.server_close()
            thread.join()
            watching.join()

        return close

    # Answers to scrapes

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics; called at each scrape."""
        yield from self._of_loop()
        yield from self._of_services()
        if self._leads and self._totals is not None:
            yield from _of_store(self._totals, self._count_s)

    def _of_loop(self) -> Iterator[Metric]:
        yield InfoMetricFamily("wm_build", "Version of this orchestrator.", value={"version": self._version})
        yield _gauge(
            "wm_orchestrator_leading", "1 if this orchestrator sends jobs, 0 if it stands by.", self._leads
        )
        text = "Jobs that this orchestrator took back from workers, by reason."
        yield _counter("wm_jobs_taken_back", text, _keyed(self._taken_back), "reason")
        progress = {str(campaign_id): found for campaign_id, found in self._campaigns.items()}
        jobs = {(name, state): count for name, each in progress.items() for state, count in each.jobs.items()}
        yield _gauge("wm_jobs", "Jobs of running campaigns.", jobs, "campaign", "state")
        done = {(name,): each.done_weight for name, each in progress.items()}
        yield _gauge("wm_work_done", "Queries and other jobs that ended.", done, "campaign")
        planned = {(name,): each.total_weight for name, each in progress.items()}
        yield _gauge("wm_work_planned", "All queries and other jobs.", planned, "campaign")

    def _of_services(self) -> Iterator[Metric]:
        if self._queue_asked:
            yield _gauge("wm_broker_up", "1 if the broker answers.", self._queued is not None)
        if (queued := self._queued) is not None:
            yield _gauge("wm_queue_messages", "Messages that wait in the broker.", queued)
        yield _gauge("wm_store_up", "1 if the store answers.", self._store_up)
        text = "Time of the store's last answer, since 1970."
        yield _gauge("wm_store_seen_timestamp_seconds", text, self._seen_at)
        workers = self._workers
        if workers is None:
            return
        slots: Counter[str] = Counter()
        for worker in workers:
            slots[worker.version] += worker.slots if worker.is_alive else 0
        yield self._by_version("wm_workers", "Workers alive.", _versions(workers))
        yield self._by_version("wm_worker_slots", "Jobs that those can run at once.", +slots)
        yield self._by_version("wm_orchestrators", "Orchestrators alive.", _versions(self._orchestrators))

    def _by_version(self, name: str, text: str, counts: Counter[str]) -> Metric:
        """Return a gauge with a sample for each version, our own included."""
        versions = sorted({self._version, *counts})
        return _gauge(name, text, {(version,): counts[version] for version in versions}, "version")


def _of_store(totals: Totals, count_s: float) -> Iterator[Metric]:
    campaigns = totals.campaigns.items()
    names = {(str(campaign_id), name): 1 for campaign_id, (name, _) in campaigns}
    yield _gauge("wm_campaign_info", "1; name of each campaign id.", names, "campaign", "name")
    states = Counter((state,) for _, (_, state) in campaigns)
    yield _gauge("wm_campaigns", "Campaigns by recorded state.", states, "state")
    yield _counter("wm_outcomes", "Recorded outcomes of jobs.", totals.outcomes, "kind", "status")
    yield _counter("wm_queries_answered", "Answered forgery queries.", _keyed(totals.answers), "status")
    text = "Attempts at jobs in which a job's process or worker died."
    yield _counter("wm_failed_attempts", text, totals.failed_attempts)
    yield _gauge("wm_store_count_duration_seconds", "Duration of the last count of the store.", count_s)


_Samples = Mapping[Any, float] | float
"""Values by tuples of label values; or one value without labels."""


def _gauge(name: str, text: str, samples: _Samples, *labels: str) -> Metric:
    return _filled(GaugeMetricFamily(name, text, labels=labels), samples)


def _counter(name: str, text: str, samples: _Samples, *labels: str) -> Metric:
    return _filled(CounterMetricFamily(name, text, labels=labels), samples)


def _filled(family: GaugeMetricFamily | CounterMetricFamily, samples: _Samples) -> Metric:
    for labels, value in (samples if isinstance(samples, Mapping) else {(): samples}).items():
        family.add_metric(labels, float(value))
    return family


def _keyed(counts: Mapping[str, int]) -> dict[tuple[str], int]:
    return {(name,): count for name, count in counts.items()}


def _versions(known: list[ServiceRecord]) -> Counter[str]:
    return Counter(service.version for service in known if service.is_alive)
