"""Publications: the document by which an owner fixes a claim before releasing the model.

It holds the commitment and the numbers of rows and bits; neither bits, rows nor nonce can be found from it.
Its date proves nothing, since the owner wrote it. Proof is a timestamp of a third party (RFC 3161,
OpenTimestamps) or a place whose history the owner cannot rewrite. A log is a file with one such document a
line.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from wm.claims.claim import Claim
from wm.claims.document import Document, named_errors, read_document
from wm.errors import ClaimError

Algorithm = Literal["sha256", "sha256-merkle-rfc6962"]
"""Hash of the commitment: of everything at once, or of a Merkle tree (`wm.claims.commitment`)."""

_ALGORITHMS: dict[int, Algorithm] = {1: "sha256", 2: "sha256-merkle-rfc6962"}


def parse_moment(text: str) -> datetime:
    """Return a date or time in ISO 8601, by default in UTC; raise `ValueError` for other text."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _moment(text: str) -> str:
    parse_moment(text)
    return text


class Publication(Document):
    """The public document of a claim.

    Attributes
    ----------
    commitment
        Hex.
    algorithm
        See `Algorithm`.
    trigger_size, n_trees
        k rows and m bits.
    model_id
        The owner's name for the model.
    published
        Date stated by the owner, ISO 8601.
    """

    format: Literal["treeproof-commitment"] = "treeproof-commitment"
    version: Literal[1] = 1
    commitment: str = Field(pattern=r"^[0-9a-f]{64}$")
    algorithm: Algorithm
    trigger_size: int = Field(ge=1)
    n_trees: int = Field(ge=1)
    model_id: str
    published: Annotated[str, AfterValidator(_moment)]


def publication_of(claim: Claim, published: datetime) -> Publication:
    """Return the public document of a claim; `published` must have a time zone."""
    return Publication(
        commitment=claim.commitment,
        algorithm=_ALGORITHMS[claim.version],
        trigger_size=len(claim.trigger_set.rows),
        n_trees=len(claim.bits),
        model_id=claim.model_id,
        published=published.isoformat(timespec="seconds"),
    )


def parse_publications(content: bytes, *, what: str) -> tuple[Publication, ...]:
    """Read one published document, or a log; raise `ClaimError`, with the name `what`, for other content."""
    lines = [(number, line) for number, line in enumerate(content.split(b"\n"), 1) if line.strip()]
    if not lines:
        raise ClaimError(f"{what}: holds no published commitment")
    if not lines[0][1].rstrip().endswith(b"}"):  # a document over several lines
        lines = [(lines[0][0], content)]
    found = []
    for number, line in lines:
        with named_errors(f"{what}: line {number}", "a published commitment"):
            found.append(Publication.model_validate_json(line))
    return tuple(found)


def read_publications(path: str | Path) -> tuple[Publication, ...]:
    """Read a published document or a log; errors as in `read_document` and `parse_publications`."""
    return parse_publications(read_document(path, "a log of commitments"), what=str(path))


def commitments_before(
    publications: Collection[Publication], suspect_since: datetime | None
) -> frozenset[str]:
    """Return the commitments that were published before the suspect appeared.

    Parameters
    ----------
    suspect_since
        Date from which the suspect is known; None counts all of them.
    """
    return frozenset(
        each.commitment
        for each in publications
        if suspect_since is None or parse_moment(each.published) < suspect_since
    )
