"""Prometheus metrics of an orchestrator: campaigns, jobs, workers and the queue."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from orchestrator.errors import OutputError, StoreUnavailableError
from orchestrator.store import services
from orchestrator.store.campaigns import Progress
from orchestrator.store.database import Store


class Metrics(Collector):
    """What the orchestrator knows anyway, and what a scrape asks of the store: the list of workers.

    Parameters
    ----------
    store
        Asked for the workers.
    queue_length
        Returns the number of messages that wait; None if unknown. Called by `progress`, not by a scrape: the
        broker's connection belongs to one thread.
    """

    def __init__(self, store: Store, queue_length: Callable[[], int | None]) -> None:
        self._store = store
        self._queue_length = queue_length
        self._lock = threading.Lock()
        self._campaigns: dict[int, Progress] = {}
        self._queued: int | None = None

    def progress(self, campaign_id: int, progress: Progress) -> None:
        """Take how far a campaign is; one that is over is shown once more and then forgotten."""
        queued = self._queue_length()
        with self._lock:
            self._queued = queued
            over = [known for known, last in self._campaigns.items() if last.is_over and known != campaign_id]
            for known in over:
                del self._campaigns[known]
            self._campaigns[campaign_id] = progress

    def serve(self, host: str, port: int) -> Callable[[], None]:
        """Answer scrapes from a thread, until what is returned is called.

        Raises
        ------
        OutputError
            The port cannot be had.
        """
        registry = CollectorRegistry()
        registry.register(self)
        try:
            server, thread = start_http_server(port, addr=host, registry=registry)
        except OSError as reason:
            raise OutputError(f"metrics port {host}:{port}: {reason.strerror or reason}") from reason

        def close() -> None:
            server.shutdown()
            server.server_close()
            thread.join()

        return close

    def collect(self) -> Iterator[Metric]:
        """Yield everything; called at each scrape."""
        with self._lock:
            campaigns, queued = dict(self._campaigns), self._queued
        jobs = GaugeMetricFamily("wm_jobs", "Jobs of running campaigns.", labels=["campaign", "state"])
        done = GaugeMetricFamily("wm_work_done", "Queries and other jobs that ended.", labels=["campaign"])
        total = GaugeMetricFamily("wm_work_total", "Queries and other jobs in all.", labels=["campaign"])
        for campaign_id, progress in campaigns.items():
            for state, count in progress.jobs.items():
                jobs.add_metric([str(campaign_id), state.value], count)
            done.add_metric([str(campaign_id)], progress.done_weight)
            total.add_metric([str(campaign_id)], progress.total_weight)
        yield from (jobs, done, total)
        if queued is not None:
            yield GaugeMetricFamily("wm_queue_messages", "Messages that wait in the broker.", value=queued)
        reachable = 1
        try:
            alive = [worker for worker in services.workers(self._store) if worker.is_alive]
        except StoreUnavailableError:
            reachable = 0
        else:
            yield GaugeMetricFamily("wm_workers", "Workers heard of lately.", value=len(alive))
            yield GaugeMetricFamily("wm_slots", "Their slots.", value=sum(worker.slots for worker in alive))
        yield GaugeMetricFamily("wm_store_up", "1 if the store answers.", value=reachable)
