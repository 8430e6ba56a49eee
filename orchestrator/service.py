"""The orchestrator as a service: feeds every launched campaign to workers until it is told to stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from typing import Protocol

from orchestrator.errors import StoreUnavailableError
from orchestrator.executors import Executor
from orchestrator.loop import end_state
from orchestrator.pace import Counter, Due
from orchestrator.store import campaigns, launched, queue, services
from orchestrator.store.campaigns import Progress
from orchestrator.store.database import Store
from orchestrator.store.tables import CampaignState
from workers.runtime.ledger import HEARTBEAT_S
from workers.runtime.outage import Outage
from workers.runtime.runner import owner_is_gone, owner_name
from workers.runtime.version import protocol_version

LAPSED_EVERY_S = 5.0
"""How often lapsed leases are looked for: with the lease's 30 s, a dead worker's job is ready within 35 s."""

_FORGET_AFTER_S = 86_400.0
_TURN_S = 0.5
_COUNT_EVERY_S = 1.0


class Observer(Protocol):
    """Is told by an orchestrator's loop, in its thread, what goes on."""

    def leads(self, leads: bool) -> None:
        """Take whether this orchestrator hands out jobs, when that changes."""

    def turn(self, unfinished: Collection[int]) -> None:
        """Take which campaigns are run, at each turn; none while another orchestrator leads."""

    def progress(self, campaign_id: int, progress: Progress) -> None:
        """Take how far a campaign is, now and then."""

    def taken_back(self, *, lapsed: int, gone: int) -> None:
        """Take how many jobs were taken back: leases that lapsed, workers known to be dead."""


class Orchestrator:
    """One orchestrator. Any number may run: the one that lives longest leads, the others wait to take over.

    Two that lead at once, for a moment, send some messages twice; the lease lets one of them count.

    Parameters
    ----------
    store, executor
        Where campaigns are, and who runs their jobs.
    say
        Takes one line for people when something changes.
    observer
        Told what goes on.
    """

    def __init__(
        self,
        store: Store,
        executor: Executor,
        say: Callable[[str], None],
        observer: Observer,
    ) -> None:
        self._store = store
        self._executor = executor
        self._say = say
        self._observer = observer
        self._name = owner_name().rpartition(":")[0]
        self._outage = Outage("the store", say)
        self._leads: bool | None = None
        self._beat = Due(HEARTBEAT_S)
        self._lapsed = Due(LAPSED_EVERY_S)
        self._counters: dict[int, Counter] = {}
        self._strangers: set[str] = set()

    def run(self, stop: threading.Event) -> None:
        """Work until told to stop; an outage of store or broker is waited for."""
        try:
            while not stop.is_set():
                try:
                    self.turn()
                    self._outage.back()
                except StoreUnavailableError as reason:
                    # Workers need time to renew their leases before any is taken for lapsed.
                    self._lapsed.postpone(LAPSED_EVERY_S + HEARTBEAT_S)
                    stop.wait(self._outage.away(reason))
        finally:
            if not self._outage.is_on:
                services.leave_orchestrator(self._store, self._name)

    def turn(self) -> None:
        """Do once all that there is to do."""
        if self._beat.now():
            services.forget_dead(self._store, owner_is_gone, after_s=_FORGET_AFTER_S)
            self._say_who_leads(services.beat_orchestrator(self._store, self._name, protocol_version()))
            self._warn_of_strangers()
        if not self._leads:
            self._observer.turn([])
            time.sleep(_TURN_S)
            return
        if self._lapsed.now():
            lapsed = queue.requeue_lapsed(self._store)
            gone = queue.release_dead(self._store, owner_is_gone)
            if lapsed or gone:
                self._say(f"{lapsed + gone} jobs taken back from workers that died")
                self._observer.taken_back(lapsed=lapsed, gone=gone)
        unfinished = launched.unfinished(self._store)
        self._observer.turn(unfinished)
        for campaign_id in self._counters.keys() - unfinished:  # cancelled
            del self._counters[campaign_id]
        for campaign_id in unfinished:
            self._feed(campaign_id)
        self._executor.wait(_TURN_S)

    def _feed(self, campaign_id: int) -> None:
        ready = queue.ready_jobs(
            self._store,
            campaign_id,
            limit=self._executor.capacity(),
            other_than=self._executor.in_flight(),
        )
        if ready:
            self._executor.submit(ready)
        counter = self._counters.setdefault(
            campaign_id, Counter(self._store, campaign_id, every_s=_COUNT_EVERY_S)
        )
        progress = counter.look()
        if progress is None:
            return
        self._observer.progress(campaign_id, progress)
        state = CampaignState.RUNNING
        if progress.is_over:
            state = end_state(progress)
            self._say(f"campaign {campaign_id}: {state}")
            del self._counters[campaign_id]
        campaigns.mark(self._store, campaign_id, state)

    def _say_who_leads(self, leads: bool) -> None:
        if leads != self._leads:
            self._say("handing out jobs" if leads else "another orchestrator hands out jobs: standing by")
            self._observer.leads(leads)
        self._leads = leads

    def _warn_of_strangers(self) -> None:
        ours = protocol_version()
        for service in services.workers(self._store):
            if service.is_alive and service.version != ours and service.name not in self._strangers:
                self._strangers.add(service.name)
                self._say(
                    f"worker {service.name} is of version {service.version}, this orchestrator of {ours}: it "
                    "gets no jobs; install the same version on both"
                )
