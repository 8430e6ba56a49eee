"""The store as workers see it: `workers.runtime.ledger.Ledger` over SQLAlchemy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from orchestrator.errors import NotFoundError
from orchestrator.store.database import Store
from orchestrator.store.queue import count_failure, finish, given_back
from orchestrator.store.settling import lock_jobs
from orchestrator.store.tables import (
    REASON_LENGTH,
    JobState,
    artifact,
    forgery_answer,
    job,
    job_need,
    outcome,
    whole_domain_proof,
)
from wm.engines import Status
from workers.jobs import ForgeryAnswer, JobKind, KnownAnswer, LeasedJob, Outcome, proof_subject
from workers.runtime.ledger import LEASE_S

_CUT = " [...] "


class StoreLedger:
    """Keeps the contract of `workers.runtime.ledger.Ledger`; may be shared by threads."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def lease(self, job_id: int, owner: str) -> LeasedJob | None:
        """Take the right to run a ready job."""
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
            needed = connection.execute(
                sa.select(job.c.id, job.c.kind, job.c.parameters, job_need.c.optional, outcome.c.result)
                .join(job_need, job_need.c.needs_id == job.c.id)
                .outerjoin(outcome, outcome.c.job_id == job.c.id)
                .where(job_need.c.job_id == job_id)
            )
            inputs: dict[str, tuple[dict[str, Any], ...]] = {}
            helpers: dict[int, float] = {}
            embed_id = None
            for need in needed:
                kind = need.kind
                if not need.optional:
                    inputs[kind] = (*inputs.get(kind, ()), need.result)
                    embed_id = need.id if kind == JobKind.EMBED else embed_id
                elif kind == JobKind.FORGERY:
                    helpers[need.id] = need.parameters["eps"]
            return LeasedJob(
                job_id=job_id,
                kind=row.kind,
                parameters=row.parameters,
                owner=owner,
                inputs=inputs,
                answered=_answered(connection, job_id) if row.leases > 1 else frozenset(),
                failures=row.failures,
                known=_known(connection, helpers) if helpers else (),
                proved=(
                    _proved(connection, embed_id, row.parameters)
                    if embed_id is not None and row.kind == JobKind.FORGERY
                    else frozenset()
                ),
            )

    def heartbeat(self, job_id: int, owner: str) -> bool:
        """Renew a lease that is still this owner's."""
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
        """
        with self._store.read() as connection:
            data = connection.execute(
                sa.select(artifact.c.data).where(artifact.c.sha256 == sha256)
            ).scalar_one_or_none()
        if data is None:
            raise NotFoundError(f"no artifact {sha256} in {self._store}")
        return bytes(data)

    def answer(self, job_id: int, answers: Sequence[ForgeryAnswer]) -> None:
        """Record answers; those already there stay."""
        with self._store.write() as connection:
            self._insert(connection, job_id, answers)

    def prove(self, job_id: int, label: int) -> None:
        """Keep a proof in the whole domain, for jobs that are leased from now on."""
        asked = (
            sa.select(job.c.parameters, job_need.c.needs_id)
            .join(job_need, job_need.c.job_id == job.c.id)
            .join(needed := job.alias(), needed.c.id == job_need.c.needs_id)
            .where(job.c.id == job_id, needed.c.kind == JobKind.EMBED)
        )
        with self._store.write() as connection:
            row = connection.execute(asked).one()
            proof = {"embed_id": row.needs_id, "subject": proof_subject(row.parameters), "label": label}
            self._store.insert_new(connection, whole_domain_proof, [proof])

    def record(
        self,
        job_id: int,
        owner: str,
        outcome: Outcome,
        artifacts: Mapping[str, bytes],
        answers: Sequence[ForgeryAnswer] = (),
    ) -> bool:
        """Record an outcome with its artifacts and last answers."""
        rows = [{"sha256": sha256, "size": len(data), "data": data} for sha256, data in artifacts.items()]
        with self._store.write() as connection:
            for row in rows:  # one statement each: they can be large
                self._store.insert_new(connection, artifact, [row])
            # Before the answers, which refer to the job: two workers that have them must not each wait for
            # the other's reference to go.
            lock_jobs(self._store, connection, sa.select(job.c.id).where(job.c.id == job_id))
            self._insert(connection, job_id, answers)
            return finish(self._store, connection, job_id, owner, asdict(outcome))

    def hand_back(self, job_id: int, owner: str) -> None:
        """Make a job ready again, if the lease is still this owner's."""
        with self._store.write() as connection:
            connection.execute(sa.update(job).where(*_held(job_id, owner)).values(**given_back()))

    def fail(self, job_id: int, owner: str, reason: str) -> None:
        """Count a failed attempt, if the lease is still this owner's."""
        with self._store.write() as connection:
            held = sa.select(job.c.id).where(*_held(job_id, owner)).with_for_update()
            if connection.execute(held).one_or_none() is not None:
                count_failure(self._store, connection, job_id, owner, reason)

    def _insert(self, connection: sa.Connection, job_id: int, answers: Sequence[ForgeryAnswer]) -> None:
        rows = [{"job_id": job_id, **vars(answer), "reason": _short(answer.reason)} for answer in answers]
        self._store.insert_new(connection, forgery_answer, rows)


def _answered(connection: sa.Connection, job_id: int) -> frozenset[int]:
    """Return the instances that a job, taken before, has answers about."""
    query = sa.select(forgery_answer.c.instance).where(forgery_answer.c.job_id == job_id)
    return frozenset(connection.execute(query).scalars())


def _known(connection: sa.Connection, helpers: Mapping[int, float]) -> tuple[KnownAnswer, ...]:
    """Return the decisions of forgery jobs, which are given with their distances."""
    names = ("job_id", "instance", "status", "distance", "reason", "witness")
    decisions = (
        sa.select(*(forgery_answer.c[name] for name in names))
        .where(
            forgery_answer.c.job_id.in_(helpers),
            forgery_answer.c.status.in_((Status.FORGED, Status.IMPOSSIBLE)),
        )
        .order_by(forgery_answer.c.job_id, forgery_answer.c.instance)
    )
    return tuple(
        KnownAnswer(
            instance=row.instance,
            eps=helpers[row.job_id],
            status=row.status,
            distance=row.distance,
            reason=row.reason,
            witness=None if row.witness is None else bytes(row.witness),
        )
        for row in connection.execute(decisions)
    )


def _proved(connection: sa.Connection, embed_id: int, parameters: Mapping[str, Any]) -> frozenset[int]:
    """Return what is known of the labels of a forgery job about an embed job's forest."""
    labels = sa.select(whole_domain_proof.c.label).where(
        whole_domain_proof.c.embed_id == embed_id, whole_domain_proof.c.subject == proof_subject(parameters)
    )
    return frozenset(connection.execute(labels).scalars())


def _short(reason: str) -> str:
    """Return a reason that fits its column: of a long one, such as a traceback, beginning and end."""
    if len(reason) <= REASON_LENGTH:
        return reason
    part = (REASON_LENGTH - len(_CUT)) // 2
    return reason[:part] + _CUT + reason[-part:]


def _held(job_id: int, owner: str) -> tuple[sa.ColumnElement[bool], ...]:
    return job.c.id == job_id, job.c.state == JobState.RUNNING, job.c.lease_owner == owner
