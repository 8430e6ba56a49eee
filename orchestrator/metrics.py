"""Prometheus metrics of an orchestrator: campaigns, jobs, outcomes, workers, store and broker."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator

from prometheus_client import CollectorRegistry, ProcessCollector, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from orchestrator.errors import OutputError, StoreError
from orchestrator.pace import Due
from orchestrator.store import services
from orchestrator.store.campaigns import Progress
from orchestrator.store.database import Store
from orchestrator.store.monitoring import Tally, tally
from orchestrator.store.services import Service
from workers.runtime.version import protocol_version

LOOK_EVERY_S = 5.0
_COUNT_EVERY_S = 15.0
_SHARE = 0.05
"""Most of the time that counting a whole store may take."""


class Metrics(Collector):
    """What the orchestrator's loop tells, and what a thread of its own sees of the store now and then.

    A scrape touches neither store nor broker: it costs a millisecond however large the campaigns are, and
    is answered while both are away.

    Parameters
    ----------
    store
        Looked at from the thread.
    queue_length
        Returns the number of messages that wait; None if the broker does not answer. Called by `turn`: the
        broker's connection belongs to the loop's thread.
    """

    def __init__(self, store: Store, queue_length: Callable[[], int | None]) -> None:
        self._store = store
        self._queue_length = queue_length
        self._version = protocol_version()
        self._lock = threading.Lock()
        self._queue_due = Due(LOOK_EVERY_S)
        self._tally_due = Due(_COUNT_EVERY_S)
        self._campaigns: dict[int, Progress] = {}
        self._leads = False
        self._taken_back = {"lease_lapsed": 0, "worker_gone": 0}
        self._queue_asked = False
        self._queued: int | None = None
        self._store_up = False
        self._workers: list[Service] | None = None
        self._orchestrators: list[Service] = []
        self._seen_at = 0.0
        self._tally: Tally | None = None
        self._tally_took_s = 0.0

    # What the loop tells

    def leads(self, leads: bool) -> None:
        """Take whether this orchestrator hands out jobs; one that stands by knows of no progress."""
        with self._lock:
            self._leads = leads
            if not leads:
                self._campaigns.clear()

    def turn(self, unfinished: Collection[int]) -> None:
        """Take which campaigns are run; forget others, but for the last one to come to its end."""
        if self._queue_due.now():
            queued = self._queue_length()
            with self._lock:
                self._queued, self._queue_asked = queued, True
        with self._lock:
            for known, last in list(self._campaigns.items()):
                if known not in unfinished and not last.is_over:  # cancelled
                    del self._campaigns[known]

    def progress(self, campaign_id: int, progress: Progress) -> None:
        """Take how far a campaign is; one that is over is shown until another one is told of."""
        with self._lock:
            over = [known for known, last in self._campaigns.items() if last.is_over and known != campaign_id]
            for known in over:
                del self._campaigns[known]
            self._campaigns[campaign_id] = progress

    def taken_back(self, *, lapsed: int, gone: int) -> None:
        """Take how many jobs were taken back just now: leases that lapsed, workers known to be dead."""
        with self._lock:
            self._taken_back["lease_lapsed"] += lapsed
            self._taken_back["worker_gone"] += gone

    # What is seen of the store

    def look(self) -> None:
        """Look who is alive, and count what the store holds if this orchestrator leads and it is time."""
        try:
            workers = services.workers(self._store)
            orchestrators = services.orchestrators(self._store)
            with self._lock:
                self._workers, self._orchestrators = workers, orchestrators
                self._store_up, self._seen_at = True, time.time()
                leads = self._leads
            if leads and self._tally_due.now():
                self._count()
        except StoreError:  # told by the loop, and here as a figure
            with self._lock:
                self._store_up, self._workers, self._orchestrators = False, None, []

    def _count(self) -> None:
        started = time.monotonic()
        counted = tally(self._store)
        took = time.monotonic() - started
        self._tally_due.postpone(max(_COUNT_EVERY_S, took / _SHARE))
        with self._lock:
            self._tally, self._tally_took_s = counted, took

    def serve(self, host: str, port: int) -> Callable[[], None]:
        """Answer scrapes from a thread, and look at the store from another, until what is returned is called.

        Raises
        ------
        OutputError
            The port cannot be had.
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

    # What a scrape reads

    def collect(self) -> Iterator[Metric]:
        """Yield everything; called at each scrape."""
        with self._lock:  # a copy: writing it out may take as long as the reader likes
            families = [*self._of_this_process(), *self._of_campaigns(), *self._of_others()]
            if self._leads and self._tally is not None:
                families += _of_store(self._tally, self._tally_took_s)
        yield from families

    def _of_this_process(self) -> Iterator[Metric]:
        yield InfoMetricFamily("wm_build", "Version of this orchestrator.", value={"version": self._version})
        yield _gauge(
            "wm_orchestrator_leading",
            "1 if this orchestrator hands out jobs, 0 if it stands by.",
            self._leads,
        )
        taken = CounterMetricFamily(
            "wm_jobs_taken_back",
            "Jobs that this orchestrator took back from workers, by reason.",
            labels=["reason"],
        )
        for reason, count in self._taken_back.items():
            taken.add_metric([reason], count)
        yield taken

    def _of_campaigns(self) -> Iterator[Metric]:
        jobs = GaugeMetricFamily("wm_jobs", "Jobs of running campaigns.", labels=["campaign", "state"])
        done = GaugeMetricFamily("wm_work_done", "Queries and other jobs that ended.", labels=["campaign"])
        planned = GaugeMetricFamily("wm_work_planned", "Queries and other jobs in all.", labels=["campaign"])
        for campaign_id, progress in self._campaigns.items():
            for state, count in progress.jobs.items():
                jobs.add_metric([str(campaign_id), state.value], count)
            done.add_metric([str(campaign_id)], progress.done_weight)
            planned.add_metric([str(campaign_id)], progress.total_weight)
        yield from (jobs, done, planned)

    def _of_others(self) -> Iterator[Metric]:
        if self._queue_asked:
            yield _gauge("wm_broker_up", "1 if the broker answers.", self._queued is not None)
        if self._queued is not None:
            yield _gauge("wm_queue_messages", "Messages that wait in the broker.", self._queued)
        yield _gauge("wm_store_up", "1 if the store answers.", self._store_up)
        yield _gauge(
            "wm_store_seen_timestamp_seconds", "When the store answered last, since 1970.", self._seen_at
        )
        if self._workers is None:
            return
        alive = [worker for worker in self._workers if worker.is_alive]
        slots: Counter[str] = Counter()
        for worker in alive:
            slots[worker.version] += worker.slots
        yield _by_version("wm_workers", "Workers heard of lately.", _versions(alive), self._version)
        yield _by_version("wm_worker_slots", "Jobs that those can run at once.", slots, self._version)
        leaders = [orchestrator for orchestrator in self._orchestrators if orchestrator.is_alive]
        yield _by_version(
            "wm_orchestrators", "Orchestrators heard of lately.", _versions(leaders), self._version
        )


def _of_store(counted: Tally, took_s: float) -> Iterator[Metric]:
    info = GaugeMetricFamily(
        "wm_campaign_info", "1; the name of each campaign by its number.", labels=["campaign", "name"]
    )
    for campaign_id, (name, _) in counted.campaigns.items():
        info.add_metric([str(campaign_id), name], 1)
    by_state = GaugeMetricFamily("wm_campaigns", "Campaigns, by state as last marked.", labels=["state"])
    for state, count in Counter(state for _, state in counted.campaigns.values()).items():
        by_state.add_metric([state], count)
    outcomes = CounterMetricFamily("wm_outcomes", "Recorded outcomes of jobs.", labels=["kind", "status"])
    for key, count in counted.outcomes.items():
        outcomes.add_metric(key, count)
    answers = CounterMetricFamily("wm_queries_answered", "Answered forgery queries.", labels=["status"])
    for status, count in counted.answers.items():
        answers.add_metric([status], count)
    attempts = CounterMetricFamily(
        "wm_failed_attempts", "How often a job's process or worker died.", value=counted.failed_attempts
    )
    took = _gauge("wm_store_count_duration_seconds", "How long counting the store took last.", took_s)
    yield from (info, by_state, outcomes, answers, attempts, took)


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=float(value))


def _by_version(name: str, text: str, counts: Counter[str], ours: str) -> Metric:
    """Return a gauge with a sample for each version; ours is there even where none is alive, as 0."""
    gauge = GaugeMetricFamily(name, text, labels=["version"])
    for version in sorted({ours, *counts}):
        gauge.add_metric([version], counts[version])
    return gauge


def _versions(alive: list[Service]) -> Counter[str]:
    return Counter(service.version for service in alive)
