"""Run the orchestrator as a service: send jobs of launched campaigns to workers until stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from orchestrator.executors import Executor
from orchestrator.loop import Loop
from orchestrator.monitoring.metrics import Metrics
from orchestrator.pace import Due
from orchestrator.store import launched, services
from orchestrator.store.campaigns import Progress
from orchestrator.store.database import Store
from workers.runtime.ledger import HEARTBEAT_S
from workers.runtime.outage import Outage
from workers.runtime.owners import owner_is_gone, owner_name
from workers.runtime.stopping import ending_in_time
from workers.runtime.version import protocol_version

_DELETE_AFTER_S = 86_400.0
_STAND_BY_S = 0.5
_COUNT_EVERY_S = 1.0


class Orchestrator:
    """One orchestrator. Any number may run: the one that started first leads, the others stand by.

    Parameters
    ----------
    report
        Takes one line when something changes.
    metrics
        Updated in the loop's thread.
    """

    def __init__(
        self, store: Store, executor: Executor, report: Callable[[str], None], metrics: Metrics
    ) -> None:
        self._store = store
        self._report = report
        self._metrics = metrics
        self._name = owner_name().rpartition(":")[0]
        self._outage = Outage("the store", report)
        self._leads: bool | None = None
        self._beat = Due(HEARTBEAT_S)
        self._loop = Loop(store, executor, self._progress, self._taken_back, count_every_s=_COUNT_EVERY_S)
        self._mismatches: set[str] = set()

    def run(self, stop: threading.Event) -> None:
        """Work until `stop` is set; wait during an outage of store or broker.

        Once it is set this ends within half a minute, whatever hangs, even if it takes the process with it.
        """
        with ending_in_time(stop):
            try:
                self._loop.repeat(self.turn, self._outage, stop)
            finally:
                if not self._outage.is_on:
                    services.leave_orchestrator(self._store, self._name)

    def turn(self) -> None:
        """Do everything that is due."""
        if self._beat.now():
            services.delete_dead(self._store, owner_is_gone, after_s=_DELETE_AFTER_S)
            self._lead(services.beat_orchestrator(self._store, self._name, protocol_version()))
            self._warn_of_version_mismatches()
        unfinished = launched.unfinished(self._store) if self._leads else []
        self._metrics.turn(unfinished)
        if self._leads:
            self._loop.turn(unfinished)
        else:
            time.sleep(_STAND_BY_S)

    def _progress(self, campaign_id: int, progress: Progress) -> None:
        self._metrics.progress(campaign_id, progress)
        if progress.is_over:
            self._report(f"campaign {campaign_id}: {progress.end_state}")

    def _taken_back(self, expired: int, gone: int) -> None:
        count = expired + gone
        self._report(f"{count} job{'s' * (count != 1)} taken back from workers that died")
        self._metrics.taken_back(expired=expired, gone=gone)

    def _lead(self, leads: bool) -> None:
        if leads != self._leads:
            self._report("sending jobs" if leads else "another orchestrator sends jobs: standing by")
            self._metrics.leads(leads)
        self._leads = leads

    def _warn_of_version_mismatches(self) -> None:
        ours = protocol_version()
        for service in services.workers(self._store):
            if service.is_alive and service.version != ours and service.name not in self._mismatches:
                self._mismatches.add(service.name)
                self._report(
                    f"worker {service.name} has version {service.version}, this orchestrator {ours}: it gets "
                    "no jobs; install the same version on both"
                )
