"""Run campaigns: give ready jobs to an executor, take back lost ones, record how campaigns end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection

from orchestrator.errors import StoreUnavailableError
from orchestrator.executors import Executor
from orchestrator.pace import Counter, Due, Jumps
from orchestrator.store import campaigns, queue
from orchestrator.store.campaigns import Progress
from orchestrator.store.database import Store
from orchestrator.store.tables import CampaignState
from workers.runtime.ledger import HEARTBEAT_S
from workers.runtime.outage import Outage
from workers.runtime.owners import owner_is_gone, owner_is_running

_TAKE_BACK_EVERY_S = 5.0
"""Period of the search for expired leases: with their 30 s, a dead worker's job is ready within 35 s."""

_RENEWAL_S = _TAKE_BACK_EVERY_S + HEARTBEAT_S
"""Time that workers get to renew their leases before any counts as expired."""

_log = logging.getLogger(__name__)

_TURN_S = 0.5
"""Maximum duration of a turn if no job ends: other processes may make jobs ready."""


class Loop:
    """Runs any number of campaigns through one executor, turn by turn.

    Two loops at once send some jobs twice, but only one lease of each succeeds.

    Parameters
    ----------
    on_progress
        Takes a campaign's id and progress after each count of its jobs; the last time at its end.
    on_taken_back
        Takes the numbers of jobs taken back: expired leases, and jobs of workers known to be dead.
    count_every_s
        Minimum time between two counts of a campaign; with 0 it is counted as soon as nothing is left to do.
    """

    def __init__(
        self,
        store: Store,
        executor: Executor,
        on_progress: Callable[[int, Progress], None],
        on_taken_back: Callable[[int, int], None] = lambda _expired, _gone: None,
        *,
        count_every_s: float = 0.0,
    ) -> None:
        self._store = store
        self._executor = executor
        self._on_progress = on_progress
        self._on_taken_back = on_taken_back
        self._count_every_s = count_every_s
        self._take_back = Due(_TAKE_BACK_EVERY_S)
        self._jumps = Jumps(store)
        self._running: dict[int, tuple[Counter, Due]] = {}

    def repeat(self, turn: Callable[[], None], outage: Outage | None, stop: threading.Event) -> None:
        """Call `turn` until `stop` is set; with `outage`, wait while the store does not answer."""
        while not stop.is_set():
            try:
                turn()
            except StoreUnavailableError as reason:
                if outage is None:
                    raise
                self._take_back.postpone(_RENEWAL_S)
                self._jumps = Jumps(self._store)
                stop.wait(outage.away(reason))
            else:
                if outage is not None:
                    outage.back()

    def turn(self, campaign_ids: Collection[int]) -> None:
        """Do everything that is due for some campaigns, and wait a little for jobs to end."""
        if self._take_back.now() and not self._jumped():
            # In this order: the death of a whole worker is no failed attempt of its jobs.
            gone = queue.release_dead(self._store, owner_is_gone)
            expired = queue.requeue_expired(self._store, owner_is_running)
            if expired or gone:
                self._on_taken_back(expired, gone)
        for campaign_id in self._running.keys() - set(campaign_ids):  # cancelled
            del self._running[campaign_id]
        for campaign_id in campaign_ids:
            self._feed(campaign_id)
        if self._running or not campaign_ids:  # else all have just ended
            self._executor.wait(_TURN_S)

    def _jumped(self) -> bool:
        """Return whether leases may look expired because of a jump; then they get time to be renewed."""
        jump_s = self._jumps.look()
        if jump_s:
            _log.info("a clock jumped or all was suspended for %.0f s: leases may be renewed first", jump_s)
            self._take_back.postpone(_RENEWAL_S)
        return bool(jump_s)

    def _feed(self, campaign_id: int) -> None:
        executor = self._executor
        ready = queue.ready_jobs(
            self._store, campaign_id, limit=executor.capacity(), excluded=executor.in_flight()
        )
        if ready:
            executor.submit(ready)
        if campaign_id not in self._running:
            counter = Counter(self._store, campaign_id, every_s=self._count_every_s)
            self._running[campaign_id] = counter, Due(HEARTBEAT_S)
        counter, beat = self._running[campaign_id]
        if beat.now():
            campaigns.mark(self._store, campaign_id, CampaignState.RUNNING)
        is_idle = not ready and not executor.in_flight()
        progress = counter.look(at_once=is_idle and self._count_every_s == 0.0)
        if progress is None:
            return
        if progress.is_over:
            campaigns.mark(self._store, campaign_id, progress.end_state)
            del self._running[campaign_id]
        self._on_progress(campaign_id, progress)


def run_campaign(
    store: Store,
    campaign_id: int,
    executor: Executor,
    on_progress: Callable[[Progress], None],
    outage: Outage | None = None,
) -> CampaignState:
    """Run a campaign to its end and return its state: ``finished``, ``incomplete`` or ``cancelled``.

    With `outage`, the loop waits while the store does not answer; without, that ends it. An exception, Ctrl-C
    included, marks the campaign as interrupted, to be resumed; closing the executor gives back running jobs.
    """
    stop = threading.Event()
    state = CampaignState.INTERRUPTED

    def see(_campaign_id: int, progress: Progress) -> None:
        nonlocal state
        on_progress(progress)
        if progress.is_over:
            state = progress.end_state
            stop.set()

    loop = Loop(store, executor, see)
    try:
        loop.repeat(lambda: loop.turn([campaign_id]), outage, stop)
    except BaseException:
        campaigns.mark(store, campaign_id, CampaignState.INTERRUPTED)
        raise
    return state
