"""Give workers access to the store: `workers.runtime.ledger.Ledger` over SQLAlchemy."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from orchestrator.errors import NotFoundError, StoreError
from orchestrator.store import forgery_state
from orchestrator.store.database import Store
from orchestrator.store.queue import count_failure, finish, given_back, lock_jobs
from orchestrator.store.tables import JobState, artifact, job, job_need, outcome
from workers.jobs.base import LeasedJob, Outcome
from workers.jobs.kinds import JobKind
from workers.runtime.ledger import LEASE_S


class StoreLedger:
    """A `workers.runtime.ledger.Ledger`; may be shared by threads."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def lease(self, job_id: int, owner: str) -> LeasedJob | None:
        """Lease a ready job."""
        with self._store.write() as connection:
            row = connection.execute(
                sa.update(job)
                .where(job.c.id == job_id, job.c.state == JobState.READY)
                .values(
                    state=JobState.RUNNING,
                    lease_owner=owner,
                    lease_until=self._store.clock() + LEASE_S,
                    leases=job.c.leases + 1,
                )
                .returning(job.c.kind, job.c.parameters, job.c.failures, job.c.leases)
            ).one_or_none()
            if row is None:
                return None
            needs = connection.execute(
                sa.select(job.c.id, job.c.kind, job.c.parameters, job_need.c.optional, outcome.c.result)
                .join(job_need, job_need.c.needs_id == job.c.id)
                .outerjoin(outcome, outcome.c.job_id == job.c.id)
                .where(job_need.c.job_id == job_id)
            ).all()
            inputs: dict[str, tuple[dict[str, Any], ...]] = {}
            for need in needs:
                if not need.optional:
                    inputs[need.kind] = (*inputs.get(need.kind, ()), need.result)
            state = None
            if row.kind == JobKind.FORGERY:
                state = forgery_state.load(connection, job_id, row.parameters, needs, again=row.leases > 1)
            return LeasedJob(job_id, row.kind, row.parameters, inputs, row.failures, state)

    def heartbeat(self, job_id: int, owner: str) -> bool:
        """Renew a lease, if this owner still has it."""
        with self._store.write() as connection:
            renewed = connection.execute(
                sa.update(job).where(*_held(job_id, owner)).values(lease_until=self._store.clock() + LEASE_S)
            )
            return renewed.rowcount == 1

    def artifact(self, sha256: str) -> bytes:
        """Return an artifact's bytes.

        Raises
        ------
        NotFoundError
            The store has none of that hash.
        StoreError
            The bytes have another hash: somebody has put them there, or the database is damaged.
        """
        found = self._store.rows(sa.select(artifact.c.data).where(artifact.c.sha256 == sha256))
        if not found:
            raise NotFoundError(f"no artifact {sha256} in {self._store}")
        content = bytes(found[0].data)
        if hashlib.sha256(content).hexdigest() != sha256:
            raise StoreError(f"artifact {sha256} in {self._store} has other bytes than its name says")
        return content

    def save(self, job_id: int, rows: Sequence[object]) -> None:
        """Record rows of a job's state; existing ones stay."""
        with self._store.write() as connection:
            forgery_state.save(self._store, connection, job_id, rows)

    def record(
        self,
        job_id: int,
        owner: str,
        outcome: Outcome,
        artifacts: Mapping[str, bytes],
        rows: Sequence[object] = (),
    ) -> bool:
        """Record an outcome with its artifacts and the last rows of the job's state."""
        with self._store.write() as connection:
            for sha256, data in artifacts.items():  # one statement each: they can be large
                kept = {"sha256": sha256, "size": len(data), "data": data}
                self._store.insert_new(connection, artifact, [kept])
            # Before the rows, which refer to the job: else two workers with the same job could deadlock.
            lock_jobs(self._store, connection, sa.select(job.c.id).where(job.c.id == job_id))
            forgery_state.save(self._store, connection, job_id, rows)
            return finish(self._store, connection, job_id, owner, outcome)

    def hand_back(self, job_id: int, owner: str) -> None:
        """Make a job ready again, if this owner still has the lease."""
        with self._store.write() as connection:
            connection.execute(sa.update(job).where(*_held(job_id, owner)).values(**given_back()))

    def fail(self, job_id: int, owner: str, reason: str) -> None:
        """Count a failed attempt, if this owner still has the lease."""
        with self._store.write() as connection:
            held = sa.select(job.c.id).where(*_held(job_id, owner)).with_for_update()
            if connection.execute(held).one_or_none() is not None:
                count_failure(self._store, connection, job_id, owner, reason)


def _held(job_id: int, owner: str) -> tuple[sa.ColumnElement[bool], ...]:
    return job.c.id == job_id, job.c.state == JobState.RUNNING, job.c.lease_owner == owner
