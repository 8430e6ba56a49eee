"""Beacon `notary`: a second party signs commitment, time and fresh randomness.

A receipt is a DSSE envelope, signed with Ed25519, around an in-toto statement: subject is the commitment,
predicate the time, 32 random bytes, the owner's public key, and how many receipts this owner has had from
this notary. R is SHA-256 of the envelope's payload. A notary keeps a log with one receipt a line; a judge who
has it sees how many draws the owner could have chosen from.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError
from securesystemslib.dsse import Envelope

from wm.claims.beacons.base import BeaconValue, Receipt, Trust
from wm.claims.document import Hash, first_error
from wm.claims.keys import is_signed, public_hex
from wm.errors import ClaimError

PAYLOAD_TYPE = "application/vnd.in-toto+json"
PREDICATE_TYPE = "https://treeproof.example/receipt/v1"


MAX_LINE = 2**16
"""Longest line of a log, in bytes; a receipt has about 900."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Digest(_Strict):
    sha256: Hash


class _Subject(_Strict):
    name: str
    digest: _Digest


class _Predicate(_Strict):
    time: AwareDatetime
    randomness: Hash
    owner: Hash
    number: int = Field(ge=1, le=10**100)  # a float, and so are products of a few


class Statement(_Strict):
    """The in-toto statement of a receipt."""

    type_: Literal["https://in-toto.io/Statement/v1"] = Field(alias="_type")
    subject: Annotated[tuple[_Subject, ...], Field(min_length=1, max_length=1)]
    predicate_type: Literal["https://treeproof.example/receipt/v1"] = Field(alias="predicateType")
    predicate: _Predicate


def sign_receipt(
    key: Ed25519PrivateKey, *, commitment: str, owner: str, number: int, now: datetime | None = None
) -> Receipt:
    """Return a notary's receipt for a commitment, with fresh randomness.

    Parameters
    ----------
    key
        The notary's.
    commitment, owner
        The commitment and the owner's public key, hex.
    number
        Receipts of this owner so far, this one included.
    now
        Time, with a time zone; None: the clock's.
    """
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "commitment", "digest": {"sha256": commitment}}],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "time": (now or datetime.now(UTC)).isoformat(timespec="seconds"),
            "randomness": secrets.token_hex(32),
            "owner": owner,
            "number": number,
        },
    }
    envelope = Envelope(json.dumps(statement).encode(), PAYLOAD_TYPE, {})
    signature = base64.b64encode(key.sign(envelope.pae())).decode()
    content = envelope.to_dict() | {"signatures": [{"keyid": public_hex(key), "sig": signature}]}
    return Receipt(kind="notary", content=json.dumps(content, sort_keys=True))


def read_statement(content: str) -> tuple[str, Statement, bytes]:
    """Return the notary's public key, its statement, and R, after checking the signature.

    Raises
    ------
    ClaimError
        Not a validly signed receipt.
    """
    notary, signed, envelope = _read_envelope(content)
    if envelope.payload_type != PAYLOAD_TYPE or not is_signed(notary, signed, envelope.pae()):
        raise ClaimError("a notary's receipt is not signed by the key that it names: it was edited")
    return notary, _statement_of(envelope), hashlib.sha256(envelope.payload).digest()


def read_unchecked(content: str) -> tuple[str, Statement]:
    """Return the notary's public key and its statement without checking the signature.

    It takes a tenth of the time of `read_statement`, for a notary that reads its own log.

    Raises
    ------
    ClaimError
        Not a receipt.
    """
    notary, _, envelope = _read_envelope(content)
    return notary, _statement_of(envelope)


def _read_envelope(content: str) -> tuple[str, bytes, Envelope]:
    """Return the notary's public key, its signature and the envelope."""
    try:
        given: Any = json.loads(content)
        (signature,) = given["signatures"]
        signed = base64.b64decode(signature["sig"], validate=True)
        payload = base64.b64decode(given["payload"], validate=True)
        return str(signature["keyid"]), signed, Envelope(payload, str(given["payloadType"]), {})
    except (KeyError, TypeError, ValueError, RecursionError) as reason:
        raise ClaimError("a notary's receipt is not a DSSE envelope with one signature") from reason


def _statement_of(envelope: Envelope) -> Statement:
    try:
        return Statement.model_validate_json(envelope.payload)
    except ValidationError as reason:
        raise ClaimError(f"a notary's receipt is no in-toto statement: {first_error(reason)}") from reason


def count_receipts(log: tuple[str, ...], *, notary: str, owner: str) -> int:
    """Return how many receipts of a notary's log are this owner's; lines of other notaries do not count.

    Raises
    ------
    ClaimError
        A line that is no validly signed receipt.
    """
    found = 0
    for line in log:
        if not _mentions(line, owner):
            continue
        signer, statement, _ = read_statement(line)
        found += signer == notary and statement.predicate.owner == owner
    return found


def read_log(path: str | Path, owner: str, receipts: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the lines of a notary's log that name an owner's key, hex.

    The others are read and not kept, so that a log may be of any size.

    Parameters
    ----------
    receipts
        Contents of a claim's receipts, of which the log must hold one: that of a notary who gave none of them
        does not count the draws of those who did. None: any log.

    Raises
    ------
    ClaimError
        No such file, a line that is no receipt, or none of the receipts that are given.
    """
    found = []
    try:
        with Path(path).open("rb") as file:
            for number, content in enumerate(iter(lambda: file.readline(MAX_LINE + 1), b""), start=1):
                if len(content) > MAX_LINE:
                    raise ClaimError(f"{path}: line {number} is longer than a receipt may be")
                line = content.decode(errors="replace").rstrip("\r\n")
                try:
                    if line.strip() and _mentions(line, owner):
                        found.append(line)
                except ClaimError as reason:
                    raise ClaimError(f"{path}: line {number}: {reason}") from reason
    except OSError as reason:
        raise ClaimError(f"{path}: cannot be read ({reason.strerror})") from reason
    if receipts is not None and set(found).isdisjoint(receipts):
        raise ClaimError(
            f"{path}: holds no receipt of this claim: it is another notary's log, or older than the claim"
        )
    return tuple(found)


def _mentions(line: str, owner: str) -> bool:
    return owner in line or owner in _payload_text(line)


def _payload_text(line: str) -> str:
    """Return a line's payload as text, unchecked; a log may have millions of lines of other owners."""
    try:
        return base64.b64decode(json.loads(line)["payload"]).decode(errors="replace")
    except (KeyError, TypeError, ValueError, RecursionError) as reason:
        raise ClaimError("a line of the notary's log is no receipt") from reason


class NotaryBeacon:
    """Receipts that a notary signed."""

    def check(
        self, content: str, *, commitment: str, owner: str, trust: Trust, log: tuple[str, ...]
    ) -> BeaconValue:
        """Check a receipt; as in `wm.claims.beacons.base.Beacon`."""
        notary, statement, value = read_statement(content)
        predicate = statement.predicate
        if statement.subject[0].digest.sha256 != commitment:
            raise ClaimError("the notary's receipt is of another commitment")
        if predicate.owner != owner:
            raise ClaimError("the notary's receipt was given to another owner's key")
        return BeaconValue(
            value,
            time=predicate.time,
            trusted=notary in trust.notaries,
            choices=float(max(predicate.number, count_receipts(log, notary=notary, owner=owner))),
            about=f"notary {notary[:16]}, receipt {predicate.number} of this owner",
        )
