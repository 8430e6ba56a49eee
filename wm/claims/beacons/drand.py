"""Beacon `drand`: the first round of a public randomness network after the commitment's proven time.

A receipt's content is JSON, a `Pulse`. R is SHA-256 of the round's signature, the network's own randomness.
The round's BLS signature is checked with the network's key. Nobody chooses the round: it is the first whose
time is later than the time that a nested receipt (notary or rfc3161) proves for the commitment, plus
`CLOCK_ERROR_S`. Round n of a network is due at genesis_time + (n - 1) period.

The network itself leaves no choice, but the nested receipt does: an owner who gets many timestamps for a
commitment sees many rounds. So the grinding factor is the nested receipt's, not 1.
"""

from __future__ import annotations

import hashlib
import json
import math
from datetime import UTC, datetime
from typing import Annotated, Final, get_args

from pydantic import Field

from wm.claims.beacons.base import Beacon, BeaconValue, DrandChain, Receipt, Trust
from wm.claims.beacons.bls import Scheme, is_round_signed
from wm.claims.beacons.notary import NotaryBeacon
from wm.claims.beacons.request import refuse_repeated_keys
from wm.claims.beacons.rfc3161 import TimestampBeacon
from wm.claims.document import Document, Hash, named_errors
from wm.errors import ClaimError

CLOCK_ERROR_S: Final = 60
"""Seconds by which the clock that proves a commitment's time may be slow.

With a clock slow by one period an owner would know the round, and could try commitments without limit.
"""

QUICKNET: Final = DrandChain(
    hash="52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971",
    public_key="83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d106451"
    "0d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a",
    scheme="bls-unchained-g1-rfc9380",
    genesis_time=1692803367,
    period=3,
)
"""The League of Entropy's network of 3 s."""

DEFAULT: Final = DrandChain(
    hash="8990e7a9aaed2ffed73dbd7092123d6f289930540d7651336225dc172e51b2ce",
    public_key="868f005eb8e6e4ca0a47c8a77ceaa5309a47978a7c71bc5cce96366b5d7a569937c529eeda66c7293784a9402801af31",
    scheme="pedersen-bls-chained",
    genesis_time=1595431050,
    period=30,
)
"""The League of Entropy's first network, of 30 s."""

_PROOFS: dict[str, Beacon] = {"notary": NotaryBeacon(), "rfc3161": TimestampBeacon()}
"""Beacons that prove a time."""

_Bytes = Annotated[str, Field(pattern=r"^([0-9a-f]{2}){1,96}$")]


class Pulse(Document):
    """Content of a receipt.

    Attributes
    ----------
    chain
        Hash of the network's chain, hex.
    round
        Number of the round, from 1.
    signature
        Its signature, hex.
    previous_signature
        That of the round before, hex, if the network's scheme is chained.
    proof
        Receipt that proves the commitment's time.
    """

    chain: Hash
    round: int = Field(ge=1, lt=2**63)
    signature: _Bytes
    previous_signature: _Bytes | None = None
    proof: Receipt


def round_time(chain: DrandChain, number: int) -> datetime:
    """Return when a round, numbered from 1, is due; raise `ClaimError` if beyond the calendar."""
    try:
        return datetime.fromtimestamp(chain.genesis_time + (number - 1) * chain.period, UTC)
    except (OverflowError, ValueError, OSError) as reason:
        raise ClaimError(f"round {number} of the drand network lies beyond the calendar") from reason


def first_round(chain: DrandChain, proven: datetime) -> int:
    """Return the round of a commitment: the first later than its proven time plus `CLOCK_ERROR_S`."""
    since_genesis = math.floor(proven.timestamp()) + CLOCK_ERROR_S - chain.genesis_time
    return max(0, since_genesis // chain.period + 1) + 1


def drand_receipt(chain: DrandChain, answer: str | bytes, proof: Receipt) -> Receipt:
    """Return the receipt for a round.

    Parameters
    ----------
    answer
        Of the network's HTTP interface, `/HASH/public/ROUND`: JSON with round, signature and, for chained
        networks, previous_signature.
    proof
        Receipt of kind notary or rfc3161 for the same commitment.

    Raises
    ------
    ClaimError
        The answer is not such JSON.
    """
    what = "the drand network's answer"
    with named_errors(what, "a round"):
        refuse_repeated_keys(answer)
        given = json.loads(answer)
        if not isinstance(given, dict):
            raise ClaimError("not a JSON object")
        names = ("round", "signature", *(("previous_signature",) if _is_chained(chain.scheme) else ()))
        pulse = Pulse.model_validate(
            {"chain": chain.hash, "proof": proof} | {name: given.get(name) for name in names}
        )
    return Receipt(kind="drand", content=pulse.model_dump_json(exclude_none=True))


class DrandBeacon:
    """Rounds of drand networks: those that the judge trusts, and the two known here."""

    def check(
        self, content: str, *, commitment: str, owner: str, trust: Trust, log: tuple[str, ...]
    ) -> BeaconValue:
        """Check a receipt; as in `wm.claims.beacons.base.Beacon`.

        Trusted only if the judge's trust holds the network and the beacon that proves the commitment's time.
        """
        pulse = _read(content)
        chain = _chain_of(pulse.chain, trust)
        if pulse.proof.kind not in _PROOFS:
            raise ClaimError(f"a drand receipt needs a proof of time of kind {' or '.join(_PROOFS)}")
        proof = _PROOFS[pulse.proof.kind].check(
            pulse.proof.content, commitment=commitment, owner=owner, trust=trust, log=log
        )
        if proof.time is not None and pulse.round != (due := first_round(chain, proof.time)):
            raise ClaimError(f"the drand receipt is of round {pulse.round}, not of {due}, which was due")
        time = round_time(chain, pulse.round)
        _check_signature(chain, pulse)
        return BeaconValue(
            hashlib.sha256(bytes.fromhex(pulse.signature)).digest(),
            time=time,
            trusted=chain in trust.drand and proof.trusted,
            choices=proof.choices,
            about=f"drand {chain.hash[:16]}, round {pulse.round}, after {proof.about}",
        )


def _read(content: str) -> Pulse:
    with named_errors("a drand receipt", "a round with a proof of time"):
        refuse_repeated_keys(content)
        return Pulse.model_validate_json(content)


def _chain_of(chain_hash: str, trust: Trust) -> DrandChain:
    for chain in (*trust.drand, QUICKNET, DEFAULT):
        if chain.hash == chain_hash:
            return chain
    raise ClaimError(f"a drand receipt is of the network {chain_hash[:16]}, whose key is not known")


def _check_signature(chain: DrandChain, pulse: Pulse) -> None:
    scheme = _scheme(chain)
    previous = pulse.previous_signature
    if (previous is not None) != _is_chained(scheme):
        needs = "needs" if previous is None else "must not give"
        raise ClaimError(f"a drand receipt of scheme {scheme} {needs} the previous round's signature")
    if not is_round_signed(
        scheme,
        _key(chain),
        number=pulse.round,
        signature=bytes.fromhex(pulse.signature),
        previous=bytes.fromhex(previous or ""),
    ):
        raise ClaimError(f"the drand network did not sign round {pulse.round} so: the receipt was edited")


def _scheme(chain: DrandChain) -> Scheme:
    schemes: tuple[Scheme, ...] = get_args(Scheme)
    for scheme in schemes:
        if scheme == chain.scheme:
            return scheme
    known = ", ".join(schemes)
    raise ClaimError(f"a drand network of an unknown scheme, {chain.scheme[:40]!r}; known: {known}")


def _key(chain: DrandChain) -> bytes:
    try:
        return bytes.fromhex(chain.public_key)
    except ValueError as reason:
        raise ClaimError(f"the key of the drand network {chain.hash[:16]!r} is not hex") from reason


def _is_chained(scheme: str) -> bool:
    return scheme == "pedersen-bls-chained"
