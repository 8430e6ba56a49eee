"""Find what keeps a campaign from going on, with a fix for each obstacle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.store import campaigns, launched, services
from orchestrator.store.campaigns import CampaignRecord, Progress
from orchestrator.store.database import Store
from orchestrator.store.services import ServiceRecord
from orchestrator.store.tables import CampaignState, JobState


@dataclass(frozen=True)
class Situation:
    """A campaign and all known services at one time."""

    record: CampaignRecord
    progress: Progress
    is_launched: bool
    """Whether orchestrators run it."""
    workers: Sequence[ServiceRecord]
    """Alive or silent."""
    orchestrators: Sequence[ServiceRecord]
    """Alive or silent."""
    options: str = ""
    """What commands need to find the store, as in " --store sqlite:///mine.db"."""

    @property
    def workers_alive(self) -> list[ServiceRecord]:
        """Workers with a recent heartbeat."""
        return [worker for worker in self.workers if worker.is_alive]

    @property
    def orchestrators_alive(self) -> list[ServiceRecord]:
        """Orchestrators with a recent heartbeat."""
        return [orchestrator for orchestrator in self.orchestrators if orchestrator.is_alive]

    @property
    def state(self) -> str:
        """The state to show: a campaign that waits for an orchestrator is launched, not interrupted."""
        if self.progress.is_over:  # the loop will mark it so in a moment
            return self.progress.end_state.value
        if self.is_launched and self.record.state is CampaignState.INTERRUPTED:
            return "launched"
        return self.record.state.value

    @property
    def attention(self) -> list[str]:
        """Obstacles, each with its fix; empty if there is none."""
        record, jobs = self.record, self.progress.jobs
        if self.progress.is_over:
            without = jobs[JobState.FAILED] + jobs[JobState.BLOCKED]
            found = (
                [f"{without} jobs have no result: see wm results jobs {record.id}{self.options}"]
                if without
                else []
            )
            if cancelled := jobs[JobState.CANCELLED]:
                resume = f"wm campaign resume {record.id}{self.options}"
                found.append(f"{cancelled} jobs are cancelled: to run them, {resume}")
            return found
        if record.state is CampaignState.CANCELLED:
            return ["cancelled: running slices go on to their end"]
        if self.is_launched:
            return self._missing_services()
        if record.state is CampaignState.INTERRUPTED:
            return [f"not running: wm campaign resume {record.id}{self.options}, or launch its file again"]
        if not self.workers_alive and jobs[JobState.READY] and not jobs[JobState.RUNNING]:
            return [
                "no job runs: wm campaign run --executor celery needs a worker, start one with wm worker"
                + self.options
            ]
        return []

    def _missing_services(self) -> list[str]:
        found = []
        if not self.orchestrators_alive:
            found.append(f"no orchestrator is alive: start one with wm orchestrate{self.options}")
        if not self.workers_alive:
            found.append(f"no worker is alive: start one with wm worker{self.options}")
        versions = {orchestrator.version for orchestrator in self.orchestrators_alive}
        mismatches = [worker for worker in self.workers_alive if versions and worker.version not in versions]
        if mismatches:
            found.append(
                f"{len(mismatches)} of {len(self.workers_alive)} workers have another version than the "
                f"orchestrator and get no jobs: install {min(versions)} there"
            )
        return found


def situation(
    store: Store, campaign_id: int, progress: Progress | None = None, *, options: str = ""
) -> Situation:
    """Return the situation of a campaign now; its jobs are counted unless `progress` is given.

    `options` is as in `Situation`.
    """
    return Situation(
        record=campaigns.get_campaign(store, campaign_id),
        progress=progress or campaigns.progress(store, campaign_id),
        is_launched=campaign_id in launched.unfinished(store),
        workers=services.workers(store),
        orchestrators=services.orchestrators(store),
        options=options,
    )
