"""The loop: hands ready jobs to an executor, takes back what was lost, finishes the campaign."""

from __future__ import annotations

import time
from collections.abc import Callable

from orchestrator.executors import Executor
from orchestrator.store import campaigns, queue
from orchestrator.store.campaigns import Progress
from orchestrator.store.database import Store
from orchestrator.store.tables import CampaignState, JobState
from workers.ledger import HEARTBEAT_S
from workers.runner import owner_is_gone

_LOOK_EVERY_S = 0.5
"""How long the loop sleeps when no job ends: dependents of other processes' jobs become ready meanwhile."""


def run_campaign(
    store: Store,
    campaign_id: int,
    executor: Executor,
    on_progress: Callable[[Progress], None],
) -> CampaignState:
    """Run a campaign to its end and return its state, ``finished`` or ``incomplete``.

    Whatever ends the loop before that, Ctrl-C included, leaves the campaign to be resumed: it is marked as
    interrupted, and running jobs are given back when the executor is closed.
    """
    queue.release_dead(store, owner_is_gone)
    campaigns.mark(store, campaign_id, CampaignState.RUNNING)
    last_beat = time.monotonic()
    state = CampaignState.INTERRUPTED
    try:
        while True:
            ready = queue.ready_jobs(
                store, campaign_id, limit=executor.capacity(), other_than=executor.in_flight()
            )
            if ready:
                executor.submit(ready)
            progress = campaigns.progress(store, campaign_id)
            on_progress(progress)
            if progress.is_over:
                all_done = progress.jobs[JobState.DONE] == sum(progress.jobs.values())
                state = CampaignState.FINISHED if all_done else CampaignState.INCOMPLETE
                return state
            executor.wait(_LOOK_EVERY_S)
            if time.monotonic() - last_beat >= HEARTBEAT_S:
                last_beat = time.monotonic()
                campaigns.mark(store, campaign_id, CampaignState.RUNNING)
                queue.requeue_lapsed(store)
    finally:
        campaigns.mark(store, campaign_id, state)
