"""What every beacon has in common: receipts, what a judge trusts, and what a receipt is worth."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from pydantic import Field

from wm.claims.document import Document, Hash, named_errors, read_document


class Receipt(Document):
    """What a beacon gave for a commitment.

    Attributes
    ----------
    kind
        Name of the beacon, a key of `wm.claims.beacons.BEACONS`.
    content
        In the beacon's own format, as text.
    """

    kind: str
    content: str


class DrandChain(Document):
    """A drand network that a judge trusts.

    Attributes
    ----------
    hash
        Hash of the chain, hex.
    public_key
        The group's BLS key, hex.
    scheme
        Name of its signature scheme.
    genesis_time, period
        Time of round 1 in seconds since 1970, and seconds between rounds.
    """

    hash: str
    public_key: str
    scheme: str
    genesis_time: int
    period: int = Field(ge=1)


class Trust(Document):
    """Beacons that a judge trusts.

    Attributes
    ----------
    notaries
        Public keys of notaries.
    timestamp_roots
        Certificates of timestamp authorities' roots, PEM.
    drand
        Networks.
    """

    format: Literal["treeproof-trust"] = "treeproof-trust"
    notaries: tuple[Hash, ...] = ()
    timestamp_roots: tuple[str, ...] = ()
    drand: tuple[DrandChain, ...] = ()

    @property
    def size(self) -> int:
        """Number of ways to a trusted value; a drand round can be reached by each proof of a time."""
        return (len(self.notaries) + len(self.timestamp_roots)) * (1 + len(self.drand))


@dataclass(frozen=True)
class BeaconValue:
    """A checked receipt.

    Attributes
    ----------
    value
        R, 32 bytes.
    time
        When it was given; None if nobody vouches for it.
    trusted
        Whether the judge trusts the beacon.
    choices
        Number of values among which the claimant could have chosen, at least 1.
    about
        Who gave it, for the transcript.
    """

    value: bytes
    time: datetime | None
    trusted: bool
    choices: float
    about: str


class Beacon(Protocol):
    """One kind of beacon."""

    def check(
        self, content: str, *, commitment: str, owner: str, trust: Trust, log: tuple[str, ...]
    ) -> BeaconValue:
        """Check a receipt offline.

        Parameters
        ----------
        content
            Of the receipt.
        commitment, owner
            The claim's commitment and its owner's public key, hex.
        log
            Lines of the beacon's log that the judge has, perhaps none.

        Raises
        ------
        ClaimError
            The receipt is damaged, not validly signed, or of another commitment.
        """
        ...


def read_trust(path: str | Path) -> Trust:
    """Read a trust file; raise `ClaimError` for a faulty one."""
    with named_errors(str(path), "a list of trusted beacons"):
        return Trust.model_validate_json(read_document(path, "a list of trusted beacons"))


def read_receipt(path: str | Path) -> Receipt:
    """Read a receipt's file; raise `ClaimError` for a faulty one."""
    return parse_receipt(read_document(path, "a receipt"), what=str(path))


def parse_receipt(text: str | bytes, *, what: str) -> Receipt:
    """Read a receipt; raise `ClaimError`, with the name `what`, for a faulty one."""
    with named_errors(what, "a beacon's receipt"):
        return Receipt.model_validate_json(text)
