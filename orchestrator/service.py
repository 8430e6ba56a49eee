"""The orchestrator as a service: feeds every launched campaign to workers until it is told to stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from orchestrator.executors import Executor
from orchestrator.loop import Loop
from orchestrator.metrics import Metrics
from orchestrator.pace import Due
from orchestrator.store import launched, services
from orchestrator.store.campaigns import Progress
from orchestrator.store.database import Store
from workers.runtime.ledger import HEARTBEAT_S
from workers.runtime.outage import Outage
from workers.runtime.owners import owner_is_gone, owner_name
from workers.runtime.version import protocol_version

_FORGET_AFTER_S = 86_400.0
_STAND_BY_S = 0.5
_COUNT_EVERY_S = 1.0


class Orchestrator:
    """One orchestrator. Any number may run: the one that has lived longest leads, the others stand by.

    Parameters
    ----------
    store, executor
        Where campaigns are, and who runs their jobs.
    say
        Takes one line for people when something changes.
    observer
        Is given what goes on, in the loop's thread.
    """

    def __init__(
        self,
        store: Store,
        executor: Executor,
        say: Callable[[str], None],
        observer: Metrics,
    ) -> None:
        self._store = store
        self._say = say
        self._observer = observer
        self._name = owner_name().rpartition(":")[0]
        self._outage = Outage("the store", say)
        self._leads: bool | None = None
        self._beat = Due(HEARTBEAT_S)
        self._loop = Loop(store, executor, self._progress, self._taken_back, count_every_s=_COUNT_EVERY_S)
        self._mismatches: set[str] = set()

    def run(self, stop: threading.Event) -> None:
        """Work until told to stop; an outage of store or broker is waited for."""
        try:
            self._loop.repeat(self.turn, self._outage, stop)
        finally:
            if not self._outage.is_on:
                services.leave_orchestrator(self._store, self._name)

    def turn(self) -> None:
        """Do once all that there is to do."""
        if self._beat.now():
            services.forget_dead(self._store, owner_is_gone, after_s=_FORGET_AFTER_S)
            self._lead(services.beat_orchestrator(self._store, self._name, protocol_version()))
            self._warn_of_version_mismatches()
        unfinished = launched.unfinished(self._store) if self._leads else []
        self._observer.turn(unfinished)
        if self._leads:
            self._loop.turn(unfinished)
        else:
            time.sleep(_STAND_BY_S)

    def _progress(self, campaign_id: int, progress: Progress) -> None:
        self._observer.progress(campaign_id, progress)
        if progress.is_over:
            self._say(f"campaign {campaign_id}: {progress.end_state}")

    def _taken_back(self, expired: int, gone: int) -> None:
        self._say(f"{expired + gone} jobs taken back from workers that died")
        self._observer.taken_back(lapsed=expired, gone=gone)

    def _lead(self, leads: bool) -> None:
        if leads != self._leads:
            self._say("handing out jobs" if leads else "another orchestrator hands out jobs: standing by")
            self._observer.leads(leads)
        self._leads = leads

    def _warn_of_version_mismatches(self) -> None:
        ours = protocol_version()
        for service in services.workers(self._store):
            if service.is_alive and service.version != ours and service.name not in self._mismatches:
                self._mismatches.add(service.name)
                self._say(
                    f"worker {service.name} is of version {service.version}, this orchestrator of {ours}: it "
                    "gets no jobs; install the same version on both"
                )
