"""The claim of scheme `lineup`: keys that make the random choices of an honest forest, committed before.

Nothing is marked. The owner commits to a header and to a secret for each position of the forest; a beacon's
value R appears; keys, and from them the trees' seeds (or which of N committed candidates is released), are a
function of both. All by SHA-256 and HMAC-SHA256; u64 is a little-endian integer of 8 bytes:

    position secret i   HMAC(secret, "position" || u64(i))
    position leaf i     0x00 || "treeproof/position/v1" || 0x00 || u64(i) || position secret
    header leaf         0x00 || "treeproof/lineup/v1"   || 0x00 || canonical JSON of the header || nonce
    nonce               HMAC(salt, "header")
    commitment          the root (RFC 6962) over the header and positions 0..m - 1
    key i               HMAC(position secret i, commitment || R || u64(i))
    seed (i, s)         HMAC(key i, "lineup/v1" || context || u64(i) || u64(s)), first 8 bytes, mod 2^31
    place i             HMAC(key i, "slot" || context || customer), first 8 bytes, mod N

A position is a tree of a forest, or a round of a boosted model. Each has a secret of its own, so that some
trees can be shown to a judge and others kept for the next dispute. The context is the hash of training rows,
settings and library versions of `wm.embedding.lineup.context`: without it in the seeds a claimant could look
for rows and settings whose forest happens to fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Protocol, Self

from pydantic import Field, model_validator

from wm.claims.beacons import claimed_value, receipts_in_order
from wm.claims.beacons.base import BeaconValue, Receipt, Trust
from wm.claims.commitment import leaf_hash, merkle_root, whole
from wm.claims.document import Document, Hash, Names, SecretDocument, parse_checked
from wm.claims.lineup_keys import position_key, position_secret
from wm.claims.lineup_settings import BoostingSettings, Settings
from wm.claims.pooled import check_features, leaf_nonce
from wm.datasets.preparation import MinMax, Preparation
from wm.errors import ClaimError

Mode = Literal["retrained", "committed"]
"""Whence the candidates beside the owner's tree come: `retrained` by the judge from training rows (mode R),
or `committed` by the owner before the draw (mode C), for a judge without training rows."""

FORMAT = "treeproof-lineup"


class LineupHeader(Document):
    """What an owner commits to besides the secrets.

    Attributes
    ----------
    mode
        See `Mode`.
    trees
        m.
    candidates
        N for committed candidates; None if the judge retrains, who then chooses it.
    candidates_root
        Merkle root over the hashes of all m N committed candidates, position after position, hex.
    owner
        The owner's public key (Ed25519), hex.
    model_id
        The owner's name for the model.
    class_names, feature_names
        Names of the classes 0 and 1, and of the d features.
    domain
        d pairs: the range of each feature over the training rows, as model input.
    preparation
        How raw rows become model input; None: they are model input.
    training
        How each tree is trained, alone or in a round of gradient boosting.
    environment
        Versions of the libraries that decide how a tree grows, by name.
    context
        `wm.embedding.lineup.context.context_hash` of training rows and the fields above, hex.
    """

    scheme: Literal["lineup"] = "lineup"
    mode: Mode
    trees: int = Field(ge=2, le=100_000)
    candidates: Annotated[int, Field(ge=2)] | None
    candidates_root: Hash | None
    owner: Hash
    model_id: str
    class_names: Annotated[Names, Field(min_length=2, max_length=2)]
    feature_names: Annotated[Names, Field(min_length=1)]
    domain: tuple[tuple[float, float], ...]
    preparation: MinMax | Preparation | None
    training: Settings
    environment: dict[str, str]
    context: Hash

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        given = {self.candidates is not None, self.candidates_root is not None}
        if given != {self.mode == "committed"}:
            raise ValueError("committed candidates have a number and a root, retrained ones neither")
        if self.mode == "committed" and self.is_boosted:
            raise ValueError("the candidates of a round depend on the draw: they cannot be committed before")
        check_features(self.feature_names, self.domain, self.preparation)
        return self

    @property
    def is_boosted(self) -> bool:
        """Whether the positions are rounds of a boosted model, not trees of a forest."""
        return isinstance(self.training, BoostingSettings)


class LineupClaim(SecretDocument):
    """A claim file; `check_lineup` says whether it is consistent.

    Attributes
    ----------
    salt, secret
        Random bytes, hex.
    commitment
        Hex.
    receipts
        What the beacons gave, in ascending order of their values; none before the draw.
    released
        Content hash of the released forest, or SHA-256 of the released file of a boosted model, hex, for the
        owner's records; no verdict reads it.
    source
        How the owner's rows were read; no verdict reads it.
    """

    format: Literal["treeproof-lineup"] = "treeproof-lineup"
    version: Literal[1] = 1
    header: LineupHeader
    salt: Hash
    secret: Hash
    commitment: Hash
    receipts: tuple[Receipt, ...] = ()
    released: Hash | None = None
    source: dict[str, str | int | float | bool | tuple[str, ...] | None] | None = None

    def keys(self, value: bytes) -> dict[int, bytes]:
        """Return the key of each position, 0..m - 1, for a beacon's value R."""
        secret, commitment = bytes.fromhex(self.secret), bytes.fromhex(self.commitment)
        return {
            position: position_key(position_secret(secret, position), commitment, value, position)
            for position in range(self.header.trees)
        }


def new_lineup(
    header: LineupHeader,
    *,
    salt: bytes,
    secret: bytes,
    source: dict[str, str | int | float | bool | tuple[str, ...] | None] | None = None,
) -> LineupClaim:
    """Return a claim that commits to a header and to secrets of 32 bytes; its draw is still open."""
    return LineupClaim(
        header=header,
        salt=salt.hex(),
        secret=secret.hex(),
        commitment=_root(header, salt, secret),
        source=source,
    )


def check_lineup(claim: LineupClaim) -> None:
    """Raise `ClaimError` unless the commitment fits."""
    if _root(claim.header, bytes.fromhex(claim.salt), bytes.fromhex(claim.secret)) != claim.commitment:
        raise ClaimError("the commitment does not fit: header or secret was edited")


def parse_lineup(text: str | bytes, *, what: str = "claim") -> LineupClaim:
    """Read and check a claim file's text; raise `ClaimError`, with the name `what`, for a faulty one."""
    return parse_checked(text, LineupClaim, check_lineup, what=what, kind="a valid claim of a line-up")


class Drawn(Protocol):
    """A claim of a line-up, or the opening of one."""

    @property
    def header(self) -> LineupHeader:
        """What the owner committed to besides the secrets."""

    @property
    def commitment(self) -> str:
        """Hex."""

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """What the beacons gave."""

    def keys(self, value: bytes) -> dict[int, bytes]:
        """Return the keys of the positions that are shown, ascending, for a beacon's value R."""


def drawn_value(
    claim: Drawn, *, trust: Trust | None = None, log: tuple[str, ...] = ()
) -> tuple[bytes, tuple[BeaconValue, ...]]:
    """Return the beacon's value R of a claim, and what each of its receipts is worth.

    Raises
    ------
    ClaimError
        No receipt yet, too many, or others than `with_receipts` would write.
    """
    return claimed_value(
        claim.receipts, commitment=claim.commitment, owner=claim.header.owner, trust=trust, log=log
    )


def with_receipts(claim: LineupClaim, receipts: Sequence[Receipt]) -> LineupClaim:
    """Return the claim with its receipts, in order; raise `ClaimError` for none or one of another claim."""
    ordered = receipts_in_order(receipts, commitment=claim.commitment, owner=claim.header.owner)
    return claim.model_copy(update={"receipts": ordered})


def header_leaf(header: LineupHeader, nonce: bytes) -> bytes:
    """Return the hash of the header."""
    return leaf_hash(b"lineup/v1", header.canonical() + nonce)


def position_leaf(position: int, secret: bytes) -> bytes:
    """Return the hash of a position's secret."""
    return leaf_hash(b"position/v1", whole(position) + secret)


def lineup_leaves(header: LineupHeader, salt: bytes, secret: bytes) -> list[bytes]:
    """Return the leaves: the header, then the positions."""
    return [
        header_leaf(header, leaf_nonce(salt, b"header")),
        *(position_leaf(position, position_secret(secret, position)) for position in range(header.trees)),
    ]


def _root(header: LineupHeader, salt: bytes, secret: bytes) -> str:
    return merkle_root(lineup_leaves(header, salt, secret)).hex()
