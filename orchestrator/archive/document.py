"""The parts of an archive, as models: each line of a part is one of them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from workers.jobs.base import OutcomeStatus

FORMAT = "treeproof campaign archive"
VERSION = 1

MANIFEST = "manifest.json"
CAMPAIGN = "campaign.json"
JOBS = "jobs.jsonl"
ANSWERS = "answers.jsonl"
PROOFS = "proofs.jsonl"
ARTIFACTS = "artifacts/"
"""Folder of files named by their SHA-256."""

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Number = Annotated[int, Field(ge=0, lt=2**31)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")


class Member(_Part):
    """A part of the archive."""

    sha256: Sha256
    size: Annotated[int, Field(ge=0)]
    """Bytes, uncompressed."""


class Manifest(_Part):
    """What an archive is, and the hashes of its parts."""

    format: str
    version: int
    treeproof: str
    """Version of the program that wrote it."""
    members: dict[str, Member]


class Campaign(_Part):
    """The campaign, as in the store."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    spec_sha256: Sha256
    spec: dict[str, Any]
    seed: Annotated[int, Field(ge=0, lt=2**63)]
    provenance: dict[str, Any]
    created_at: Finite
    finished_at: Finite | None


class Ended(_Part):
    """A job's outcome."""

    status: OutcomeStatus
    result: dict[str, Any] | None
    timings: dict[str, Finite]
    error: str
    recorded_at: Finite


class Attempt(_Part):
    """A failed attempt at a job."""

    failed_at: Finite
    reason: str


class Job(_Part):
    """A job of the campaign, at its place in the plan; others name it by its number, from 0."""

    key: Sha256
    kind: Annotated[str, Field(min_length=1, max_length=20)]
    parameters: dict[str, Any]
    weight: Annotated[int, Field(ge=0, lt=2**31)]
    cell: dict[str, Any]
    needs: tuple[Sha256, ...] = ()
    helped_by: tuple[Sha256, ...] = ()
    failures: Number = 0
    attempts: tuple[Attempt, ...] = ()
    outcome: Ended | None = None


class Answer(_Part):
    """The answer to a forgery query; fields as in `workers.jobs.ForgeryAnswer`."""

    job: Number
    instance: Number
    row: Number
    status: Annotated[str, Field(max_length=20)]
    distance: Finite | None
    seconds: Finite
    reason: Annotated[str, Field(max_length=200)]
    witness: bytes | None
    followed_from: Finite | None
    certified: bool | None


class Proof(_Part):
    """A global proof about the forest of an embed job."""

    job: Number
    subject: Sha256
    label: int
    found_by: Number | None = None
    """Number of the job that found it; None if that is of another campaign, or not known."""
