"""The loop: hands ready jobs to an executor, takes back what was lost, finishes the campaign."""

from __future__ import annotations

import time
from collections.abc import Callable

from orchestrator.errors import StoreUnavailableError
from orchestrator.executors import Executor
from orchestrator.pace import Counter, Due
from orchestrator.store import campaigns, queue
from orchestrator.store.campaigns import Progress
from orchestrator.store.database import Store
from orchestrator.store.tables import CampaignState, JobState
from workers.runtime.ledger import HEARTBEAT_S
from workers.runtime.outage import Outage
from workers.runtime.runner import owner_is_gone

_LOOK_EVERY_S = 0.5
"""How long the loop sleeps when no job ends: dependents of other processes' jobs become ready meanwhile."""


def run_campaign(
    store: Store,
    campaign_id: int,
    executor: Executor,
    on_progress: Callable[[Progress], None],
    outage: Outage | None = None,
) -> CampaignState:
    """Run a campaign to its end and return its state: ``finished``, ``incomplete`` or ``cancelled``.

    With `outage`, a store that does not answer is waited for; without, that ends the loop.

    Whatever ends the loop before that, Ctrl-C included, leaves the campaign to be resumed: it is marked as
    interrupted, and running jobs are given back when the executor is closed.
    """
    queue.release_dead(store, owner_is_gone)
    campaigns.mark(store, campaign_id, CampaignState.RUNNING)
    beat = Due(HEARTBEAT_S)
    beat.postpone()
    counter = Counter(store, campaign_id, every_s=0.0)
    state = CampaignState.INTERRUPTED
    try:
        while True:
            try:
                ended = _turn(store, campaign_id, executor, counter, on_progress)
                if ended is not None:
                    state = ended
                    return state
                if beat.now():
                    campaigns.mark(store, campaign_id, CampaignState.RUNNING)
                    queue.requeue_lapsed(store)
                    queue.release_dead(store, owner_is_gone)
            except StoreUnavailableError as reason:
                if outage is None:
                    raise
                beat.postpone()  # let workers renew their leases before any is taken for lapsed
                time.sleep(outage.away(reason))
            else:
                if outage is not None:
                    outage.back()
    finally:
        campaigns.mark(store, campaign_id, state)


def _turn(
    store: Store,
    campaign_id: int,
    executor: Executor,
    counter: Counter,
    on_progress: Callable[[Progress], None],
) -> CampaignState | None:
    """Hand out what is ready and wait a little; return the campaign's state once it is over."""
    ready = queue.ready_jobs(store, campaign_id, limit=executor.capacity(), other_than=executor.in_flight())
    if ready:
        executor.submit(ready)
    progress = counter.look(at_once=not ready and not executor.in_flight())
    if progress is not None:
        on_progress(progress)
        if progress.is_over:
            return end_state(progress)
    executor.wait(_LOOK_EVERY_S)
    return None


def end_state(progress: Progress) -> CampaignState:
    """Return the state of a campaign that is over."""
    if progress.jobs[JobState.CANCELLED]:
        return CampaignState.CANCELLED
    all_done = progress.jobs[JobState.DONE] == sum(progress.jobs.values())
    return CampaignState.FINISHED if all_done else CampaignState.INCOMPLETE
