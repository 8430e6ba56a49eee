"""What keeps a campaign from going on, one line each with its fix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.store import campaigns, launched, services
from orchestrator.store.campaigns import CampaignRecord, Progress
from orchestrator.store.database import Store
from orchestrator.store.services import Service
from orchestrator.store.tables import CampaignState, JobState


@dataclass(frozen=True)
class Situation:
    """A campaign and those who may work on it, at one time.

    Attributes
    ----------
    record, progress
        The campaign.
    is_launched
        Whether orchestrators are to run it.
    workers, orchestrators
        All known, alive or silent.
    """

    record: CampaignRecord
    progress: Progress
    is_launched: bool
    workers: Sequence[Service]
    orchestrators: Sequence[Service]

    @property
    def workers_alive(self) -> list[Service]:
        """Workers with a recent heartbeat."""
        return [worker for worker in self.workers if worker.is_alive]

    @property
    def orchestrators_alive(self) -> list[Service]:
        """Orchestrators with a recent heartbeat."""
        return [orchestrator for orchestrator in self.orchestrators if orchestrator.is_alive]

    @property
    def state(self) -> str:
        """Its state for people: what waits for an orchestrator is launched, not interrupted."""
        if self.progress.is_over:  # which whoever runs it will mark in a moment
            return self.progress.end_state.value
        if self.is_launched and self.record.state is CampaignState.INTERRUPTED:
            return "launched"
        return self.record.state.value

    @property
    def attention(self) -> list[str]:
        """What keeps it from going on, and what to do about it; nothing if all is well."""
        record, jobs = self.record, self.progress.jobs
        if self.progress.is_over:
            without = jobs[JobState.FAILED] + jobs[JobState.BLOCKED]
            found = [f"{without} jobs have no result: see wm results jobs {record.id}"] if without else []
            if jobs[JobState.CANCELLED]:
                found.append(
                    f"{jobs[JobState.CANCELLED]} jobs are cancelled: to take them up again, wm campaign "
                    f"resume {record.id}"
                )
            return found
        if record.state is CampaignState.CANCELLED:
            return ["cancelled: running slices end by themselves"]
        if self.is_launched:
            return self._of_services()
        if record.state is CampaignState.INTERRUPTED:
            return [f"nobody runs it: wm campaign resume {record.id}, or launch its file again"]
        if not self.workers_alive and jobs[JobState.READY] and not jobs[JobState.RUNNING]:
            return ["no job runs: wm campaign run --executor celery needs a worker, start one with wm worker"]
        return []

    def _of_services(self) -> list[str]:
        found = []
        if not self.orchestrators_alive:
            found.append("no orchestrator is alive: start one with wm orchestrate")
        if not self.workers_alive:
            found.append("no worker is alive: start one with wm worker")
        versions = {orchestrator.version for orchestrator in self.orchestrators_alive}
        mismatches = [worker for worker in self.workers_alive if versions and worker.version not in versions]
        if mismatches:
            found.append(
                f"{len(mismatches)} of {len(self.workers_alive)} workers are of another version than the "
                f"orchestrator and get no jobs: install {min(versions)} there"
            )
        return found


def situation(store: Store, campaign_id: int, progress: Progress | None = None) -> Situation:
    """Look at a campaign now; `progress` spares the count where it is known."""
    return Situation(
        record=campaigns.get_campaign(store, campaign_id),
        progress=progress or campaigns.progress(store, campaign_id),
        is_launched=campaign_id in launched.unfinished(store),
        workers=services.workers(store),
        orchestrators=services.orchestrators(store),
    )
