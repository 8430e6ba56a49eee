"""Openings of line-ups: the secrets of positions that a judge's challenge draws; the others stay for later.

The owner shows the header and the secrets of some positions with their Merkle paths, and signs commitment,
challenge and positions. Which positions, is a function of the commitment and the challenge:

    C         = HMAC-SHA256(commitment, challenge)
    positions : those with the smallest HMAC(C, "position" || u64(i))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import Field

from wm.claims.beacons.base import Receipt
from wm.claims.commitment import merkle_paths
from wm.claims.document import Document, Hash, parse_checked
from wm.claims.draw import smallest
from wm.claims.lineup import (
    LineupClaim,
    LineupHeader,
    header_leaf,
    lineup_leaves,
    position_leaf,
)
from wm.claims.lineup_keys import position_key, position_secret
from wm.claims.opened import OpenedPart, challenge_key, check_opener, check_paths, check_signed
from wm.claims.pooled import leaf_nonce
from wm.errors import ClaimError

FORMAT = "treeproof-lineup-opening"


class OpenedPosition(Document):
    """One position's secret and its place in the tree.

    Attributes
    ----------
    secret
        Hex.
    path
        Hashes from its leaf to the commitment, hex.
    """

    secret: Hash
    path: tuple[Hash, ...]


class OpenedLineup(Document):
    """Part of a claim of scheme `lineup`; `check_opened_lineup` says whether it leads to the commitment.

    Attributes
    ----------
    header, commitment, receipts, source
        As in `wm.claims.lineup.LineupClaim`.
    header_proof
        The header's place in the tree.
    positions
        Numbers of the opened positions, ascending.
    opened
        One for each of them.
    challenge
        The judge's text.
    signature
        The owner's, of `signed_text`, hex.
    """

    format: Literal["treeproof-lineup-opening"] = "treeproof-lineup-opening"
    version: Literal[1] = 1
    header: LineupHeader
    header_proof: OpenedPart
    commitment: Hash
    receipts: tuple[Receipt, ...]
    positions: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)]
    opened: tuple[OpenedPosition, ...]
    challenge: str = Field(min_length=1)
    signature: str = Field(pattern=r"^[0-9a-f]{128}$")
    source: dict[str, str | int | float | bool | tuple[str, ...] | None] | None = None

    def keys(self, value: bytes) -> dict[int, bytes]:
        """Return the keys of the opened positions, for a beacon's value R."""
        commitment = bytes.fromhex(self.commitment)
        return {
            position: position_key(bytes.fromhex(part.secret), commitment, value, position)
            for position, part in zip(self.positions, self.opened, strict=True)
        }


def challenged_positions(commitment: str, challenge: str, trees: int, count: int) -> tuple[int, ...]:
    """Return the positions that a challenge opens, ascending.

    Raises
    ------
    ClaimError
        More than there are, or none, or a challenge that is no text.
    """
    if not 1 <= count <= trees:
        raise ClaimError(f"{count} of {trees} positions cannot be opened")
    return smallest(challenge_key(commitment, challenge), b"position", trees, count)


def signed_text(commitment: str, challenge: str, positions: Sequence[int]) -> bytes:
    """Return what an owner signs: that these positions, no fewer, are opened for this challenge."""
    numbers = ",".join(map(str, positions))
    return f"treeproof/lineup-opening/v1\n{commitment}\n{challenge}\n{numbers}".encode()


def open_lineup(claim: LineupClaim, key: Ed25519PrivateKey, challenge: str, count: int) -> OpenedLineup:
    """Return the opening of so many positions of a claim, signed by its owner.

    Raises
    ------
    ClaimError
        Another key than the owner's, an empty challenge, an impossible number, or a claim of a boosted model.
    """
    header = claim.header
    check_opener(key, header.owner)
    if header.is_boosted:
        raise ClaimError(
            "a line-up of a boosted model is judged by its whole claim: its rounds depend on each other, so "
            "that some of them show nothing"
        )
    if not challenge:
        raise ClaimError("the judge's challenge is empty: without it the owner would choose the positions")
    positions = challenged_positions(claim.commitment, challenge, header.trees, count)
    salt, secret = bytes.fromhex(claim.salt), bytes.fromhex(claim.secret)
    places = [0, *(position + 1 for position in positions)]
    first, *paths = (
        tuple(part.hex() for part in path)
        for path in merkle_paths(lineup_leaves(header, salt, secret), places)
    )
    opened = OpenedLineup(
        header=header,
        header_proof=OpenedPart(nonce=leaf_nonce(salt, b"header").hex(), path=first),
        commitment=claim.commitment,
        receipts=claim.receipts,
        positions=positions,
        opened=tuple(
            OpenedPosition(secret=position_secret(secret, position).hex(), path=path)
            for position, path in zip(positions, paths, strict=True)
        ),
        challenge=challenge,
        signature=key.sign(signed_text(claim.commitment, challenge, positions)).hex(),
        source=claim.source,
    )
    check_opened_lineup(opened)
    return opened


def check_opened_lineup(opened: OpenedLineup) -> None:
    """Raise `ClaimError` unless every part leads to the commitment, drawn by the challenge and signed.

    Whether the challenge and the number of positions are the judge's, is for the judge to say.
    """
    header, positions = opened.header, opened.positions
    if len(opened.opened) != len(positions):
        raise ClaimError(f"the opening has {len(opened.opened)} secrets for {len(positions)} positions")
    count = len(positions)
    if positions != challenged_positions(opened.commitment, opened.challenge, header.trees, count):
        raise ClaimError("the opened positions are not those that the challenge draws: they were picked")
    check_signed(header.owner, opened.signature, signed_text(opened.commitment, opened.challenge, positions))
    header_proof = opened.header_proof
    parts = [
        (0, "the header", header_leaf(header, header_proof.own_nonce), header_proof.path),
        *(
            (
                position + 1,
                f"position {position}",
                position_leaf(position, bytes.fromhex(part.secret)),
                part.path,
            )
            for position, part in zip(positions, opened.opened, strict=True)
        ),
    ]
    check_paths(parts, header.trees + 1, opened.commitment)


def parse_opened_lineup(text: str | bytes, *, what: str = "opening") -> OpenedLineup:
    """Read and check an opening's text; raise `ClaimError`, with the name `what`, for a faulty one."""
    kind = "a valid opening of a line-up"
    return parse_checked(text, OpenedLineup, check_opened_lineup, what=what, kind=kind)
