"""Publication: the small document by which an owner fixes a claim before releasing the model.

It holds the commitment and what it commits to in kind and number, nothing secret: neither bits nor rows nor
the nonce can be found from it. Its date is only the owner's word. What counts before a judge is when others
first saw it: a timestamp of a third party (RFC 3161, OpenTimestamps) or a place whose history is not the
owner's to rewrite. A log is a file with one such document a line.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationError

from wm.claims.claim import MAX_CLAIM_BYTES, Claim, StrictModel, first_fault
from wm.errors import ClaimError
from wm.formats.bounded import read_bounded

Algorithm = Literal["sha256", "sha256-merkle-rfc6962"]
"""How the commitment was computed: over everything at once, or row by row (`wm.claims.commitment`)."""

_ALGORITHMS: dict[int, Algorithm] = {1: "sha256", 2: "sha256-merkle-rfc6962"}


def parse_moment(text: str) -> datetime:
    """Return a moment, ISO 8601; a day or time without a zone is in UTC.

    Raises
    ------
    ValueError
        Something else.
    """
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _moment(text: str) -> str:
    try:
        parse_moment(text)
    except ValueError as reason:
        raise ValueError("no moment in ISO 8601") from reason
    return text


class Publication(StrictModel):
    """What an owner publishes of a claim.

    Attributes
    ----------
    commitment
        Hex.
    algorithm
        See `Algorithm`.
    trigger_size, n_trees
        k, and m, the number of bits.
    model_id
        The owner's name for the model.
    published
        When, by the owner's word, ISO 8601.
    """

    format: Literal["treeproof-commitment"] = "treeproof-commitment"
    version: Literal[1] = 1
    commitment: str = Field(pattern=r"^[0-9a-f]{64}$")
    algorithm: Algorithm
    trigger_size: int = Field(ge=1)
    n_trees: int = Field(ge=1)
    model_id: str
    published: Annotated[str, AfterValidator(_moment)]

    def to_line(self) -> str:
        """Return the document as one line of a log, with its end."""
        return json.dumps(self.model_dump(mode="json")) + "\n"

    def to_json(self) -> str:
        """Return the document's text."""
        return json.dumps(self.model_dump(mode="json"), indent=1) + "\n"


def publication_of(claim: Claim, published: datetime) -> Publication:
    """Return what is published of a claim; `published` must have a time zone."""
    return Publication(
        commitment=claim.commitment,
        algorithm=_ALGORITHMS[claim.version],
        trigger_size=len(claim.trigger_set.rows),
        n_trees=len(claim.bits),
        model_id=claim.model_id,
        published=published.isoformat(timespec="seconds"),
    )


def parse_publications(content: bytes, *, what: str) -> tuple[Publication, ...]:
    """Read a published document, or a log of them, one a line; `what` names the file in errors.

    Raises
    ------
    ClaimError
        Something else, or nothing.
    """
    lines = [(number, line) for number, line in enumerate(content.split(b"\n"), 1) if line.strip()]
    if not lines:
        raise ClaimError(f"{what}: holds no published commitment")
    if not lines[0][1].rstrip().endswith(b"}"):  # a document over several lines
        lines = [(lines[0][0], content)]
    found = []
    for number, line in lines:
        try:
            found.append(Publication.model_validate_json(line))
        except ValidationError as reason:
            raise ClaimError(
                f"{what}: line {number}: not a published commitment: {first_fault(reason)}"
            ) from reason
    return tuple(found)


def read_publications(path: str | Path) -> tuple[Publication, ...]:
    """Read a published document or a log of them.

    Raises
    ------
    ClaimError
        No such file, a too large one, or as in `parse_publications`.
    """
    content = read_bounded(path, error=ClaimError, max_bytes=MAX_CLAIM_BYTES, kind="a log of commitments")
    return parse_publications(content, what=str(path))


def commitments_before(
    publications: Collection[Publication], suspect_since: datetime | None
) -> frozenset[str]:
    """Return the commitments that were published before the suspect was there.

    Parameters
    ----------
    suspect_since
        Since when; None: the judge has seen to it that all of them are older.
    """
    return frozenset(
        each.commitment
        for each in publications
        if suspect_since is None or parse_moment(each.published) < suspect_since
    )
