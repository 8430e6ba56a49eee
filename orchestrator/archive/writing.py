"""Write a campaign into an archive, from one snapshot of the store, with bounded memory."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import IO, Any

import sqlalchemy as sa

import wm
from orchestrator.archive import document
from orchestrator.errors import StoreError
from orchestrator.files import SECRET, new_file
from orchestrator.plan import GridPoint
from orchestrator.store.database import Store
from orchestrator.store.tables import (
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

JOBS_AT_ONCE = 1000
_ROWS_AT_ONCE = 10_000
_HASH = re.compile(r'"([0-9a-f]{64})"')
_LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""Time of each part: equal campaigns give equal archives."""


def write_archive(store: Store, campaign_id: int, path: Path) -> str:
    """Write a campaign with all that it found into a new file, and return the hash of its manifest.

    Raises
    ------
    OutputError
        The file exists, or cannot be written.
    StoreError
        An artifact has other bytes than its name says.
    """
    with new_file(path, mode=SECRET) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        parts = _Parts(archive)
        with store.snapshot() as connection:
            parts.write(document.CAMPAIGN, [_campaign(connection, campaign_id)])
            found: set[str] = set()
            parts.write(document.JOBS, _jobs(store, connection, campaign_id, found))
            parts.write(document.ANSWERS, _answers(connection, campaign_id))
            parts.write(document.PROOFS, _proofs(connection, campaign_id))
            for sha256 in sorted(found):
                for data in connection.execute(sa.select(artifact.c.data).where(artifact.c.sha256 == sha256)):
                    parts.write_artifact(sha256, bytes(data[0]))
        return parts.close()


class _Parts:
    """Writes parts one after the other, and remembers their hashes."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._members: dict[str, document.Member] = {}

    def write(self, name: str, lines: Iterable[object]) -> None:
        digest, size = hashlib.sha256(), 0
        with self._open(name) as part:
            for line in lines:
                data = f"{_json(line)}\n".encode()
                digest.update(data)
                size += len(data)
                part.write(data)
        self._members[name] = document.Member(sha256=digest.hexdigest(), size=size)

    def write_artifact(self, sha256: str, data: bytes) -> None:
        if hashlib.sha256(data).hexdigest() != sha256:
            raise StoreError(f"artifact {sha256} has other bytes than its name says")
        name = f"{document.ARTIFACTS}{sha256}"
        with self._open(name) as part:
            part.write(data)
        self._members[name] = document.Member(sha256=sha256, size=len(data))

    def close(self) -> str:
        manifest = document.Manifest(
            format=document.FORMAT, version=document.VERSION, treeproof=wm.__version__, members=self._members
        )
        data = f"{_json(manifest.model_dump(mode='json'))}\n".encode()
        with self._open(document.MANIFEST) as part:
            part.write(data)
        return hashlib.sha256(data).hexdigest()

    @contextmanager
    def _open(self, name: str) -> Iterator[IO[bytes]]:
        entry = zipfile.ZipInfo(name, _LONG_AGO)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = SECRET << 16
        entry.create_system = 3  # Unix, wherever it is written
        with self._archive.open(entry, "w", force_zip64=True) as part:
            yield part


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _campaign(connection: sa.Connection, campaign_id: int) -> dict[str, Any]:
    columns = [campaign.c[name] for name in document.Campaign.model_fields]
    row = connection.execute(sa.select(*columns).where(campaign.c.id == campaign_id)).one()
    return dict(row._mapping)


def _jobs(
    store: Store, connection: sa.Connection, campaign_id: int, found: set[str]
) -> Iterator[dict[str, Any]]:
    """Yield a campaign's jobs in the order of the plan; add the hashes in their results to `found`."""
    ours = campaign_job.c.campaign_id == campaign_id
    last = connection.execute(sa.select(sa.func.max(campaign_job.c.position)).where(ours)).scalar_one()
    plain = [job.c[name] for name in ("id", "key", "kind", "parameters", "weight", "failures")]
    point = [cell.c[field.name] for field in fields(GridPoint)]
    ended = [outcome.c[name] for name in document.Ended.model_fields]
    query = (
        sa.select(*plain, *point, *ended)
        .join(campaign_job, campaign_job.c.job_id == job.c.id)
        .join(cell, cell.c.id == campaign_job.c.cell_id)
        .outerjoin(outcome, outcome.c.job_id == job.c.id)
        .where(ours)
        .order_by(campaign_job.c.position)
    )
    for first in range(0, (-1 if last is None else last) + 1, JOBS_AT_ONCE):
        places = campaign_job.c.position.between(first, first + JOBS_AT_ONCE - 1)
        rows = [row._mapping for row in connection.execute(query.where(places))]
        among = store.is_one_of(job.c.id, [row["id"] for row in rows])
        needs = _needs(connection, campaign_id, among)
        attempts = _attempts(connection, among)
        for row in rows:
            line = {column.name: row[column.name] for column in plain[1:]}
            line["cell"] = {column.name: row[column.name] for column in point}
            line["needs"] = [key for key, optional in needs.get(row["id"], ()) if not optional]
            line["helped_by"] = [key for key, optional in needs.get(row["id"], ()) if optional]
            line["attempts"] = attempts.get(row["id"], [])
            line["outcome"] = None
            if row["status"] is not None:
                line["outcome"] = {column.name: row[column.name] for column in ended}
                found.update(_HASH.findall(_json(row["result"])))
            yield line


def _needs(
    connection: sa.Connection, campaign_id: int, among: sa.ColumnElement[bool]
) -> Mapping[int, list[tuple[str, bool]]]:
    """Return the keys of the jobs that jobs need, and whether these only help, by job."""
    needed = job.alias("needed")
    query = (
        sa.select(job.c.id, needed.c.key, job_need.c.optional)
        .join(job_need, job_need.c.job_id == job.c.id)
        .join(needed, needed.c.id == job_need.c.needs_id)
        .join(campaign_job, campaign_job.c.job_id == needed.c.id)
        .where(among, campaign_job.c.campaign_id == campaign_id)
        .order_by(job.c.id, needed.c.key)
    )
    needs: dict[int, list[tuple[str, bool]]] = {}
    for job_id, key, optional in connection.execute(query):
        needs.setdefault(job_id, []).append((key, optional))
    return needs


def _attempts(connection: sa.Connection, among: sa.ColumnElement[bool]) -> Mapping[int, list[dict[str, Any]]]:
    query = sa.select(job.c.id, attempt.c.failed_at, attempt.c.reason).join(attempt).where(among)
    attempts: dict[int, list[dict[str, Any]]] = {}
    for job_id, failed_at, reason in connection.execute(query.order_by(attempt.c.id)):
        attempts.setdefault(job_id, []).append({"failed_at": failed_at, "reason": reason})
    return attempts


def _answers(connection: sa.Connection, campaign_id: int) -> Iterator[dict[str, Any]]:
    columns = [forgery_answer.c[name] for name in document.Answer.model_fields if name != "job"]
    query = (
        sa.select(campaign_job.c.position.label("job"), *columns)
        .join(campaign_job, campaign_job.c.job_id == forgery_answer.c.job_id)
        .where(campaign_job.c.campaign_id == campaign_id)
        .order_by(campaign_job.c.position, forgery_answer.c.instance)
    )
    for row in connection.execution_options(yield_per=_ROWS_AT_ONCE).execute(query):
        yield document.Answer.model_construct(
            **{**row._mapping, "witness": None if row.witness is None else bytes(row.witness)}
        ).model_dump(mode="json")


def _proofs(connection: sa.Connection, campaign_id: int) -> Iterator[dict[str, Any]]:
    finder = campaign_job.alias("finder")
    found = sa.and_(finder.c.job_id == global_proof.c.job_id, finder.c.campaign_id == campaign_id)
    query = (
        sa.select(
            campaign_job.c.position.label("job"),
            global_proof.c.subject,
            global_proof.c.label,
            finder.c.position.label("found_by"),
        )
        .join(campaign_job, campaign_job.c.job_id == global_proof.c.embed_id)
        .outerjoin(finder, found)
        .where(campaign_job.c.campaign_id == campaign_id)
        .order_by(campaign_job.c.position, global_proof.c.subject, global_proof.c.label)
    )
    for row in connection.execute(query):
        yield dict(row._mapping)
