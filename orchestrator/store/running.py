"""The jobs that are being run."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from orchestrator.store.database import Store
from orchestrator.store.tables import JobState, campaign_job, cell, job


@dataclass(frozen=True)
class RunningJob:
    """A job that a worker has.

    Attributes
    ----------
    job_id, kind, owner
        What, and who runs it.
    leases
        How often it was taken: a batch of slow queries is taken again and again.
    place
        Its place in the grid, for people.
    """

    job_id: int
    kind: str
    owner: str
    leases: int
    place: str


def longest_running(store: Store, campaign_id: int) -> RunningJob | None:
    """Return the running job that was taken most often, and of those the one that was planned first."""
    query = (
        sa.select(
            job.c.id,
            job.c.kind,
            job.c.lease_owner,
            job.c.leases,
            cell.c.engine,
            cell.c.signature,
            cell.c.eps,
        )
        .join(campaign_job, campaign_job.c.job_id == job.c.id)
        .join(cell, cell.c.id == campaign_job.c.cell_id)
        .where(campaign_job.c.campaign_id == campaign_id, job.c.state == JobState.RUNNING)
        .order_by(job.c.leases.desc(), job.c.id)
        .limit(1)
    )
    with store.read() as connection:
        row = connection.execute(query).one_or_none()
    if row is None:
        return None
    parts = [f"taken {row.leases} times"]
    if row.engine is not None:
        parts += [f"engine {row.engine}", f"signature {row.signature}", f"eps {row.eps}"]
    return RunningJob(row.id, row.kind, row.lease_owner, row.leases, ", ".join(parts))
