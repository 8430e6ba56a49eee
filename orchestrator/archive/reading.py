"""Import an archive into a store: all of it or nothing; to import it again changes nothing.

Rows that the store has already stay, so that a campaign which ran here too keeps its own results; what it
lacks is added. Before anything is written every part is checked against its hash.
"""

from __future__ import annotations

import hashlib
import itertools
import struct
import zipfile
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from pydantic import BaseModel, ValidationError

from orchestrator.archive import document
from orchestrator.archive.writing import JOBS_AT_ONCE
from orchestrator.errors import ArchiveError
from orchestrator.plan import GridPoint, PlannedJob
from orchestrator.spec import CampaignSpec
from orchestrator.spec.attacks import not_installed
from orchestrator.store.campaigns import progress_of
from orchestrator.store.database import Lock, Store
from orchestrator.store.planned import insert_jobs
from orchestrator.store.queue import jobs_of, lock_campaign, settle
from orchestrator.store.tables import (
    CampaignState,
    JobState,
    artifact,
    attempt,
    campaign,
    forgery_answer,
    global_proof,
    job,
    outcome,
)
from workers.jobs.base import OutcomeStatus

_ANSWERS_AT_ONCE = 2000
_LONGEST_LINE = 64 * 2**20
_LARGEST_MANIFEST = 256 * 2**20
_AT_ONCE = 2**20
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError),
    *(NotImplementedError, RuntimeError, ValueError, OSError),
)
"""What Python's reader of ZIP files raises about damaged ones."""
_OWNER = "an archive"
"""Stands for the workers, whose names may reveal host names."""

Line = TypeVar("Line", bound=BaseModel)


@dataclass(frozen=True)
class Imported:
    """What an import did."""

    campaign_id: int
    name: str
    was_there: bool
    """Whether the store had the campaign already."""
    jobs: int
    outcomes: int
    """New outcomes, answers and artifacts."""
    answers: int
    artifacts: int


def import_archive(store: Store, path: Path) -> Imported:
    """Update the store's schema, and add a campaign with all that an archive has of it.

    Raises
    ------
    ArchiveError
        The file is not an archive, is damaged, or is of a newer program.
    """
    with path.open("rb") as file:
        try:
            archive = _Archive(zipfile.ZipFile(file), path)
        except _DAMAGE as reason:
            raise ArchiveError(f"{path}: is not an archive, or is damaged ({reason})") from reason
        store.upgrade()
        with store.write() as connection:
            store.lock(connection, Lock.PLAN)
            return _Import(store, connection, archive).run()


class _Archive:
    """An archive whose every part has the hash that its manifest names."""

    def __init__(self, file: zipfile.ZipFile, path: Path) -> None:
        self._file = file
        self._path = path
        self.members = self._manifest().members
        names = file.namelist()
        expected = {document.MANIFEST, *self.members}
        if len(names) != len(expected) or set(names) != expected:
            raise self.error("its parts are not those of its manifest")
        for name in (document.CAMPAIGN, document.JOBS, document.ANSWERS, document.PROOFS):
            if name not in self.members:
                raise self.error(f"{name} is missing")
        for name, member in self.members.items():
            if name.startswith(document.ARTIFACTS) and name != f"{document.ARTIFACTS}{member.sha256}":
                raise self.error(f"{name} has another hash")
            self._check(name, member)

    def error(self, what: str) -> ArchiveError:
        return ArchiveError(f"{self._path}: {what}")

    def _manifest(self) -> document.Manifest:
        try:
            with self._file.open(document.MANIFEST) as part:
                manifest = document.Manifest.model_validate_json(part.read(_LARGEST_MANIFEST))
        except (KeyError, ValidationError) as reason:
            raise self.error("is not an archive of a campaign") from reason
        if manifest.format != document.FORMAT:
            raise self.error("is not an archive of a campaign")
        if manifest.version != document.VERSION:
            raise self.error(
                f"was written by treeproof {manifest.treeproof} in version {manifest.version} of the format, "
                f"this program reads {document.VERSION}: upgrade treeproof"
            )
        return manifest

    def _check(self, name: str, member: document.Member) -> None:
        digest, size = hashlib.sha256(), 0
        with self._file.open(name) as part:
            while data := part.read(_AT_ONCE):
                digest.update(data)
                size += len(data)
                if size > member.size:
                    break
        if (digest.hexdigest(), size) != (member.sha256, member.size):
            raise self.error(f"{name} is damaged: its hash differs from the one in the manifest")

    def lines(self, name: str, model: type[Line]) -> Iterator[Line]:
        with self._file.open(name) as part:
            for number in itertools.count(1):
                if not (line := part.readline(_LONGEST_LINE)):
                    return
                try:
                    yield model.model_validate_json(line)
                except ValidationError as reason:
                    fault = reason.errors(include_url=False, include_input=False)[0]
                    place = ".".join(map(str, fault["loc"]))
                    raise self.error(f"{name}, line {number}: {place}: {fault['msg']}") from reason

    def artifacts(self) -> Iterator[tuple[str, bytes]]:
        for name, member in self.members.items():
            if name.startswith(document.ARTIFACTS):
                yield member.sha256, self._file.read(name)


class _Import:
    """One import, in one transaction."""

    def __init__(self, store: Store, connection: sa.Connection, archive: _Archive) -> None:
        self._store = store
        self._connection = connection
        self._archive = archive
        self._ids = array("q")
        """Id of each job, by its number in the archive."""
        self._takes = bytearray()
        """Whether the store had no outcome of it."""

    def run(self) -> Imported:
        (about,) = self._archive.lines(document.CAMPAIGN, document.Campaign)
        try:
            CampaignSpec.model_validate(about.spec, strict=False)
        except ValidationError as reason:
            what = not_installed(reason) or "its campaign is not one that this program knows"
            raise self._archive.error(what) from reason
        campaign_id, was_there = self._campaign(about)
        lock_campaign(self._store, self._connection, campaign_id)
        outcomes = sum(
            self._outcomes(jobs) for jobs in self._batches(document.JOBS, document.Job, JOBS_AT_ONCE)
        )
        answers = sum(
            self._insert(forgery_answer, [self._answer(line) for line in lines if self._takes_of(line)])
            for lines in self._batches(document.ANSWERS, document.Answer, _ANSWERS_AT_ONCE)
        )
        for proofs in self._batches(document.PROOFS, document.Proof, _ANSWERS_AT_ONCE):
            self._insert(global_proof, [self._proof(line) for line in proofs])
        artifacts = sum(
            self._insert(artifact, [{"sha256": sha256, "size": len(data), "data": data}])
            for sha256, data in self._archive.artifacts()
        )
        settle(self._connection, jobs_of(campaign_id))
        if outcomes or not was_there:
            self._end(campaign_id, about)
        return Imported(campaign_id, about.name, was_there, len(self._ids), outcomes, answers, artifacts)

    def _campaign(self, about: document.Campaign) -> tuple[int, bool]:
        """Return the campaign's id, and whether it was there already; else insert it with its jobs."""
        same = sa.select(campaign.c.id).where(
            campaign.c.name == about.name, campaign.c.spec_sha256 == about.spec_sha256
        )
        known = self._connection.execute(same).scalar_one_or_none()
        if known is not None:
            return int(known), True
        row = about.model_dump() | {"state": CampaignState.INTERRUPTED, "finished_at": None}
        campaign_id = self._connection.execute(
            sa.insert(campaign).values(row).returning(campaign.c.id)
        ).scalar_one()
        jobs = map(_planned, self._archive.lines(document.JOBS, document.Job))
        try:
            insert_jobs(self._store, self._connection, campaign_id, jobs)
        except (KeyError, TypeError) as reason:
            raise self._archive.error(
                f"a job needs one that is missing, or has no place ({reason})"
            ) from reason
        return int(campaign_id), False

    def _outcomes(self, jobs: Sequence[document.Job]) -> int:
        """Add the outcomes of jobs that have none here, and return their number."""
        query = (
            sa.select(job.c.key, job.c.id, outcome.c.status)
            .outerjoin(outcome, outcome.c.job_id == job.c.id)
            .where(job.c.key.in_([line.key for line in jobs]))
        )
        here = {row.key: row for row in self._connection.execute(query)}
        if missing := [line.key for line in jobs if line.key not in here]:
            raise self._archive.error(f"the store has the campaign, but not its job {missing[0]}")
        outcomes, attempts = [], []
        for line in jobs:
            takes = here[line.key].status is None
            self._ids.append(here[line.key].id)
            self._takes.append(takes)
            if not takes or line.outcome is None:
                continue
            common = {"job_id": here[line.key].id, "owner": _OWNER}
            outcomes.append(common | line.outcome.model_dump())
            attempts += [common | each.model_dump() for each in line.attempts]
            state = JobState.DONE if line.outcome.status is OutcomeStatus.DONE else JobState.FAILED
            ended = {"state": state, "failures": line.failures, "lease_owner": None, "lease_until": None}
            self._connection.execute(sa.update(job).where(job.c.id == common["job_id"]).values(ended))
        if attempts:
            self._connection.execute(sa.insert(attempt), attempts)
        return self._insert(outcome, outcomes)

    def _answer(self, line: document.Answer) -> dict[str, Any]:
        return line.model_dump(exclude={"job"}) | {"job_id": self._id(line.job)}

    def _proof(self, line: document.Proof) -> dict[str, Any]:
        finder = None if line.found_by is None else self._id(line.found_by)
        return {
            "embed_id": self._id(line.job),
            "subject": line.subject,
            "label": line.label,
            "job_id": finder,
        }

    def _id(self, number: int) -> int:
        if number >= len(self._ids):
            raise self._archive.error(f"an answer or a proof is of job {number}, which is missing")
        return self._ids[number]

    def _takes_of(self, line: document.Answer) -> bool:
        self._id(line.job)
        return bool(self._takes[line.job])

    def _batches(self, name: str, model: type[Line], size: int) -> Iterator[Sequence[Line]]:
        lines = self._archive.lines(name, model)
        while batch := tuple(itertools.islice(lines, size)):
            yield batch

    def _insert(self, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> int:
        return self._store.insert_new(self._connection, table, rows)

    def _end(self, campaign_id: int, about: document.Campaign) -> None:
        """Record the state of a campaign that is over; one that runs here is its loop's."""
        found = progress_of(self._connection, campaign_id)
        if not found.is_over:
            return
        self._connection.execute(
            sa.update(campaign)
            .where(campaign.c.id == campaign_id, campaign.c.state != CampaignState.RUNNING)
            .values(state=found.end_state, finished_at=about.finished_at or self._store.clock())
        )


def _planned(line: document.Job) -> PlannedJob:
    point: Callable[..., GridPoint] = GridPoint
    return PlannedJob(
        key=line.key,
        kind=line.kind,
        parameters=line.parameters,
        needs=line.needs,
        cell=point(**line.cell),
        weight=line.weight,
        helped_by=tuple((key,) for key in line.helped_by),
    )
