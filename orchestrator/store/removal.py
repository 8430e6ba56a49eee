"""Rename campaigns, and delete them with everything that no other campaign uses."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import sqlalchemy as sa
from pydantic import ValidationError

from orchestrator.errors import InUseError, SpecError
from orchestrator.spec import CampaignSpec
from orchestrator.spec.attacks import not_installed
from orchestrator.store import launched
from orchestrator.store.campaigns import get_campaign
from orchestrator.store.database import Lock, Store
from orchestrator.store.queue import settle
from orchestrator.store.tables import (
    CampaignState,
    JobState,
    artifact,
    attempt,
    campaign,
    campaign_job,
    cell,
    forgery_answer,
    global_proof,
    job,
    job_need,
    outcome,
)

_AT_ONCE = 5000
_T = TypeVar("_T")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Removal:
    """What the deletion of a campaign removes, or removed."""

    jobs: int
    """That no other campaign has, with their outcomes and answers."""
    shared: int
    """Jobs that stay because another campaign has them too."""
    artifacts: int
    """That no outcome left in the store names."""
    artifact_bytes: int


def rename(store: Store, campaign_id: int, name: str) -> None:
    """Give a campaign another name, also in its stored specification.

    Raises
    ------
    SpecError
        A name that no campaign file could have.
    InUseError
        The name of a campaign with the same content.
    """
    record = get_campaign(store, campaign_id)
    try:
        spec = CampaignSpec.model_validate({**record.spec, "name": name}, strict=False)
    except ValidationError as reason:
        rule = "letters, digits, dot, dash, underscore; the first a letter or digit; at most 200"
        raise SpecError([not_installed(reason) or f"{name!r} cannot name a campaign: {rule}"]) from reason
    with store.write() as connection:
        store.lock(connection, Lock.PLAN)
        same = sa.select(campaign.c.id).where(
            campaign.c.name == name, campaign.c.spec_sha256 == spec.sha256, campaign.c.id != campaign_id
        )
        other = connection.execute(same).scalar_one_or_none()
        if other is not None:
            raise InUseError(f"campaign {other} has this name and the same content")
        connection.execute(
            sa.update(campaign)
            .where(campaign.c.id == campaign_id)
            .values(name=name, spec_sha256=spec.sha256, spec=spec.model_dump(mode="json"))
        )


def preview(store: Store, campaign_id: int) -> Removal:
    """Return what `delete` would remove.

    Raises
    ------
    InUseError
        As in `delete`.
    """
    with store.read() as connection:
        own, shared = _jobs(connection, campaign_id)
        _refuse_if_in_use(store, connection, campaign_id, own)
        sizes = _unused_artifacts(store, connection, own)
    return Removal(len(own), shared, len(sizes), sum(sizes.values()))


def delete(store: Store, campaign_id: int) -> Removal:
    """Delete a campaign, and the jobs and artifacts that no other campaign uses; all or nothing.

    A SQLite file keeps its size: what is free in it is used again.

    Raises
    ------
    InUseError
        It is being run or launched, or one of its jobs is.
    """
    with store.write() as connection:
        store.lock(connection, Lock.PLAN)
        own, shared = _jobs(connection, campaign_id)
        _refuse_if_in_use(store, connection, campaign_id, own)
        sizes = _unused_artifacts(store, connection, own)
        connection.execute(sa.delete(campaign_job).where(campaign_job.c.campaign_id == campaign_id))
        connection.execute(sa.delete(cell).where(cell.c.campaign_id == campaign_id))
        connection.execute(sa.delete(campaign).where(campaign.c.id == campaign_id))
        # All needs go before any job: a need may lie in another batch.
        freed = {
            row.job_id
            for ids in _batches(own)
            for row in connection.execute(
                sa.delete(job_need)
                .where(
                    sa.or_(store.is_one_of(job_need.c.job_id, ids), store.is_one_of(job_need.c.needs_id, ids))
                )
                .returning(job_need.c.job_id)
            )
        }
        for ids in _batches(own):
            for column in (
                *(global_proof.c.embed_id, global_proof.c.job_id, forgery_answer.c.job_id, attempt.c.job_id),
                outcome.c.job_id,
                job.c.id,
            ):
                connection.execute(sa.delete(column.table).where(store.is_one_of(column, ids)))
        for hashes in _batches(list(sizes)):
            connection.execute(sa.delete(artifact).where(artifact.c.sha256.in_(hashes)))
        # Jobs of other campaigns that waited for the help of a deleted one need not wait any more.
        for ids in _batches(sorted(freed.difference(own))):
            settle(connection, sa.select(job.c.id).where(store.is_one_of(job.c.id, ids)))
    return Removal(len(own), shared, len(sizes), sum(sizes.values()))


def _jobs(connection: sa.Connection, campaign_id: int) -> tuple[list[int], int]:
    """Return the ids of the jobs that only this campaign has, and the number of its others."""
    other = campaign_job.alias("other")
    is_shared = sa.exists().where(
        other.c.job_id == campaign_job.c.job_id, other.c.campaign_id != campaign_job.c.campaign_id
    )
    query = (
        sa.select(campaign_job.c.job_id, is_shared.label("shared"))
        .where(campaign_job.c.campaign_id == campaign_id)
        .order_by(campaign_job.c.job_id)
    )
    rows = connection.execute(query).all()
    own = [row.job_id for row in rows if not row.shared]
    return own, len(rows) - len(own)


def _refuse_if_in_use(store: Store, connection: sa.Connection, campaign_id: int, own: Sequence[int]) -> None:
    record = get_campaign(store, campaign_id)
    if record.state is CampaignState.RUNNING or campaign_id in launched.unfinished(store):
        raise InUseError(f"{record.name} is being run: stop it, or wm campaign cancel {campaign_id}")
    is_leased = sa.and_(job.c.state == JobState.RUNNING, job.c.lease_until >= store.clock())
    running = sum(
        connection.execute(
            sa.select(sa.func.count()).select_from(job).where(is_leased, store.is_one_of(job.c.id, ids))
        ).scalar_one()
        for ids in _batches(own)
    )
    if running:
        still = f"{running} job{'s are' if running > 1 else ' is'} still running"
        raise InUseError(f"{record.name}: {still}: wait for the end of their slices")


def _unused_artifacts(store: Store, connection: sa.Connection, own: Sequence[int]) -> dict[str, int]:
    """Return the sizes in bytes, by hash, of the artifacts that only outcomes of these jobs name."""
    candidates: set[str] = set()
    kinds: set[str] = set()
    for ids in _batches(own):
        query = sa.select(job.c.kind, outcome.c.result).join(outcome, outcome.c.job_id == job.c.id)
        for kind, result in connection.execute(query.where(store.is_one_of(job.c.id, ids))):
            if found := set(_hashes(result)):
                candidates |= found
                kinds.add(kind)
    if not candidates:
        return {}
    # Artifacts are named by the few kinds of jobs that make them; others have millions of outcomes.
    mine = set(own)
    others = (
        sa.select(job.c.id, outcome.c.result)
        .join(outcome, outcome.c.job_id == job.c.id)
        .where(job.c.kind.in_(kinds))
    )
    for job_id, result in connection.execute(others.execution_options(yield_per=_AT_ONCE)):
        if job_id not in mine:
            candidates.difference_update(_hashes(result))
    sizes: dict[str, int] = {}
    for hashes in _batches(sorted(candidates)):
        query = sa.select(artifact.c.sha256, artifact.c.size).where(artifact.c.sha256.in_(hashes))
        sizes |= {row.sha256: row.size for row in connection.execute(query)}
    return sizes


def _hashes(result: Any) -> Iterator[str]:
    """Yield every SHA-256 (hex) at the first level of a job's result, where artifacts are named."""
    for value in (result or {}).values():
        if isinstance(value, str) and _SHA256.fullmatch(value):
            yield value


def _batches(values: Iterable[_T]) -> Iterator[list[_T]]:
    iterator = iter(values)
    while batch := list(itertools.islice(iterator, _AT_ONCE)):
        yield batch
