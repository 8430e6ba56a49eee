"""The document by which an owner asks a notary for a receipt, and strict reading of untrusted JSON.

The owner's key signs it: receipts count against a key, so nobody else may collect them in its name. Signed
are the bytes ``treeproof/commitment/v3``, commitment and owner, each on a line.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import Field

from wm.claims.document import Document, Hash, named_errors
from wm.claims.keys import is_signed, public_hex
from wm.errors import ClaimError
from wm.formats.bounded import read_bounded

MAX_REQUEST_BYTES = 4096
"""Largest request; a usual one has 380 bytes."""


class CommitmentRequest(Document):
    """What an owner shows to a beacon: nothing secret.

    Attributes
    ----------
    commitment
        Hex.
    owner
        The owner's public key (Ed25519), hex.
    signature
        The owner's, hex.
    """

    format: Literal["treeproof-commitment"] = "treeproof-commitment"
    version: Literal[3] = 3
    commitment: Hash
    owner: Hash
    signature: str = Field(pattern=r"^[0-9a-f]{128}$")


def sign_request(commitment: str, key: Ed25519PrivateKey) -> CommitmentRequest:
    """Return the request for a commitment, hex, by its owner's key."""
    owner = public_hex(key)
    signature = key.sign(_signed_text(commitment, owner)).hex()
    return CommitmentRequest(commitment=commitment, owner=owner, signature=signature)


def _signed_text(commitment: str, owner: str) -> bytes:
    return f"treeproof/commitment/v3\n{commitment}\n{owner}".encode()


def parse_request(text: str | bytes, *, what: str) -> CommitmentRequest:
    """Read a request; raise `ClaimError`, with the name `what`, for a faulty one."""
    with named_errors(what, "a commitment"):
        refuse_repeated_keys(text)
        request = CommitmentRequest.model_validate_json(text)
        signed = _signed_text(request.commitment, request.owner)
        if not is_signed(request.owner, bytes.fromhex(request.signature), signed):
            raise ClaimError("is not signed by the owner's key that it names")
        return request


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
