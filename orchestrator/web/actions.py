"""What people with the right may change: campaigns and single jobs, queued again or cancelled."""

from __future__ import annotations

from orchestrator.errors import InUseError
from orchestrator.store import campaigns, details, launched, single_jobs
from orchestrator.store.campaigns import CampaignRecord
from orchestrator.store.database import Store
from orchestrator.store.services import orchestrators
from orchestrator.store.tables import CampaignState
from orchestrator.web.live import Live


class Actions:
    """Changes a store, and lets the live page look at it anew; each raises `InUseError` where it cannot."""

    def __init__(self, store: Store, live: Live) -> None:
        self._store = store
        self._live = live

    def retry(self, campaign_id: int) -> None:
        """Queue a campaign's failed jobs again."""
        record = self._not_cancelled(campaign_id)
        campaigns.retry_failed(self._store, record.id)
        self._go_on(record)

    def cancel(self, campaign_id: int) -> None:
        """Cancel a campaign that has not ended."""
        record = campaigns.get_campaign(self._store, campaign_id)
        if record.state in (CampaignState.FINISHED, CampaignState.INCOMPLETE):
            raise InUseError(f"{record.name} is {record.state.value}: there is nothing to cancel")
        launched.cancel(self._store, record.id)
        self._live.forget(record.id)

    def retry_job(self, job_id: int) -> None:
        """Queue a job that failed or was cancelled again, in all campaigns that share it."""
        sharing = details.job_details(self._store, job_id).campaigns
        records = [self._not_cancelled(campaign_id) for campaign_id, _ in sharing]
        single_jobs.retry_job(self._store, job_id)
        for record in records:
            self._go_on(record)

    def cancel_job(self, job_id: int) -> None:
        """Cancel a job that has not ended."""
        sharing = details.job_details(self._store, job_id).campaigns
        single_jobs.cancel_job(self._store, job_id)
        for campaign_id, _ in sharing:
            self._live.forget(campaign_id)

    def _not_cancelled(self, campaign_id: int) -> CampaignRecord:
        record = campaigns.get_campaign(self._store, campaign_id)
        if record.state is CampaignState.CANCELLED:
            raise InUseError(f"{record.name} is cancelled: wm campaign resume {record.id}")
        return record

    def _go_on(self, record: CampaignRecord) -> None:
        """Let orchestrators, if there are any, run a campaign that was over."""
        if record.state is not CampaignState.RUNNING:
            campaigns.mark(self._store, record.id, CampaignState.INTERRUPTED)
            if any(service.is_alive for service in orchestrators(self._store)):
                launched.hand_over(self._store, record.id)
        self._live.forget(record.id)
