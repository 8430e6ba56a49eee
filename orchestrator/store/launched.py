"""Launch, cancel and resume campaigns."""

from __future__ import annotations

import sqlalchemy as sa

from orchestrator.store.database import Lock, Store
from orchestrator.store.queue import jobs_of, lock_campaign, settle
from orchestrator.store.tables import CampaignState, JobState, campaign, campaign_job, job


def hand_over(store: Store, campaign_id: int) -> None:
    """Hand a campaign over to the orchestrators, which run it to its end."""
    with store.write() as connection:
        connection.execute(
            sa.update(campaign).where(campaign.c.id == campaign_id).values(launched_at=store.clock())
        )


def unfinished(store: Store) -> list[int]:
    """Return the ids of launched campaigns that have not ended, the oldest launch first."""
    states = (CampaignState.RUNNING, CampaignState.INTERRUPTED)
    query = (
        sa.select(campaign.c.id)
        .where(campaign.c.launched_at.is_not(None), campaign.c.state.in_(states))
        .order_by(campaign.c.launched_at, campaign.c.id)
    )
    return [row.id for row in store.rows(query)]


def cancel(store: Store, campaign_id: int) -> int:
    """Cancel a campaign and return the number of its jobs that will not run.

    No new job starts. Running jobs go on to the end of their slice. Jobs that another unfinished campaign
    shares are not cancelled.
    """
    with store.write() as connection:
        store.lock(connection, Lock.PLAN)
        connection.execute(
            sa.update(campaign)
            .where(
                campaign.c.id == campaign_id,
                campaign.c.state.not_in((CampaignState.FINISHED, CampaignState.INCOMPLETE)),
            )
            .values(state=CampaignState.CANCELLED, launched_at=None)
        )
        other = campaign_job.alias("other")
        wanted_elsewhere = sa.exists().where(
            other.c.job_id == job.c.id,
            other.c.campaign_id != campaign_id,
            campaign.c.id == other.c.campaign_id,
            campaign.c.state.in_((CampaignState.RUNNING, CampaignState.INTERRUPTED)),
        )
        ours = sa.update(job).where(job.c.id.in_(jobs_of(campaign_id)), ~wanted_elsewhere)
        connection.execute(ours.where(job.c.state == JobState.RUNNING).values(cancelled=True))
        return connection.execute(
            ours.where(job.c.state.in_((JobState.WAITING, JobState.READY))).values(state=JobState.CANCELLED)
        ).rowcount


def revive(store: Store, campaign_id: int) -> int:
    """Queue a campaign's cancelled jobs again, also those cancelled with another; return their number."""
    with store.write() as connection:
        store.lock(connection, Lock.PLAN)
        connection.execute(
            sa.update(campaign)
            .where(campaign.c.id == campaign_id, campaign.c.state == CampaignState.CANCELLED)
            .values(state=CampaignState.INTERRUPTED)
        )
        ours = sa.update(job).where(job.c.id.in_(jobs_of(campaign_id)))
        connection.execute(ours.where(job.c.cancelled).values(cancelled=False))
        count = connection.execute(
            ours.where(job.c.state == JobState.CANCELLED).values(state=JobState.WAITING)
        ).rowcount
        if count:
            lock_campaign(store, connection, campaign_id)
            settle(connection, jobs_of(campaign_id))
    return count
