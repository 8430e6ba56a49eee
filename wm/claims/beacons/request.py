"""The document by which an owner asks a notary for a receipt, and strict reading of untrusted JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from wm.claims.document import Document, Hash, named_errors
from wm.errors import ClaimError
from wm.formats.bounded import read_bounded

MAX_REQUEST_BYTES = 4096
"""Largest request; a usual one has 230 bytes."""


class CommitmentRequest(Document):
    """What an owner shows to a beacon: nothing secret.

    Attributes
    ----------
    commitment
        Hex.
    owner
        The owner's public key (Ed25519), hex.
    """

    format: Literal["treeproof-commitment"] = "treeproof-commitment"
    version: Literal[2] = 2
    commitment: Hash
    owner: Hash


def parse_request(text: str | bytes, *, what: str) -> CommitmentRequest:
    """Read a request; raise `ClaimError`, with the name `what`, for a faulty one."""
    with named_errors(what, "a commitment"):
        refuse_repeated_keys(text)
        return CommitmentRequest.model_validate_json(text)


def read_request(path: str | Path) -> CommitmentRequest:
    """Read a request from a file; raise `ClaimError` for one that is missing, too large or faulty."""
    content = read_bounded(path, error=ClaimError, max_bytes=MAX_REQUEST_BYTES, kind="a commitment")
    return parse_request(content, what=str(path))


def refuse_repeated_keys(text: str | bytes) -> None:
    """Raise `ClaimError` for text that is not JSON, or in which an object has a key twice.

    Of two values under one key some programs read the first and others the last: they would judge different
    documents.
    """
    try:
        json.loads(text, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as reason:
        raise ClaimError(f"not JSON: {' '.join(str(reason).split())[:100]}") from reason


def _distinct(pairs: list[tuple[str, Any]]) -> None:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ClaimError("a key occurs twice in one JSON object")
