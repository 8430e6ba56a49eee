"""Openings of claims of version 3: trigger rows and controls that a judge's challenge draws.

The owner shows the header, the secret (so that the judge can recompute the draw) and some rows with their
Merkle paths, and signs commitment, challenge and the numbers of these rows. The other rows stay hidden.
Which rows are shown is a function of the commitment, the trigger rows, which the beacon drew, the judge's
challenge, and how many are shown of each. Without the trigger rows an owner who foresees the challenge could
try commitments until pool rows of wrong labels are never shown as controls:

    C        = HMAC(HMAC-SHA256(commitment, challenge), u64(trigger row) || ..., ascending)
    triggers : those with the smallest HMAC(C, "trigger" || u64(i)) among the trigger rows
    controls : those with the smallest HMAC(C, "control" || u64(i)) among the other rows
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from numpy.typing import NDArray
from pydantic import Field

from wm.claims.beacons.base import Receipt
from wm.claims.commitment import merkle_paths, root_from_path, whole
from wm.claims.document import Document, Hash, parse_checked
from wm.claims.keys import is_signed, public_hex
from wm.claims.packing import packed_labels, packed_rows, unpacked_labels, unpacked_rows
from wm.claims.pooled import (
    Header,
    PooledClaim,
    check_rows,
    header_leaf,
    leaf_nonce,
    leaves_of,
    row_leaf,
    row_name,
    secret_leaf,
)
from wm.errors import ClaimError


class OpenedPart(Document):
    """Proof that one leaf is in the tree.

    Attributes
    ----------
    nonce
        The leaf's own, hex.
    path
        Hashes from the leaf to the commitment, hex.
    """

    nonce: Hash
    path: tuple[Hash, ...]

    @property
    def own_nonce(self) -> bytes:
        """The nonce's bytes."""
        return bytes.fromhex(self.nonce)


class OpenedClaim(Document):
    """Part of a claim; `check_opened` says whether it leads to the commitment.

    Attributes
    ----------
    header, secret, commitment, receipts
        As in `PooledClaim`.
    header_proof, secret_proof
        Their places in the tree.
    indices
        Numbers of the shown rows in the pool, ascending.
    rows, labels
        The shown rows and labels, as in `PooledClaim`.
    proofs
        One for each shown row.
    challenge
        The judge's text.
    signature
        The owner's, of `signed_text`, hex.
    """

    format: Literal["treeproof-opening"] = "treeproof-opening"
    version: Literal[3] = 3
    header: Header
    header_proof: OpenedPart
    secret: Hash
    secret_proof: OpenedPart
    commitment: Hash
    receipts: tuple[Receipt, ...]
    indices: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)]
    rows: str
    labels: str
    proofs: tuple[OpenedPart, ...]
    challenge: str = Field(min_length=1)
    signature: str = Field(pattern=r"^[0-9a-f]{128}$")

    @property
    def X(self) -> NDArray[np.float32]:  # noqa: N802 - the field's name for a data matrix
        """The shown rows: (n, d)."""
        return unpacked_rows(self.rows, len(self.indices), len(self.header.feature_names))

    @property
    def y(self) -> NDArray[np.int64]:
        """Their labels: (n,)."""
        return unpacked_labels(self.labels, len(self.indices))


def signed_text(commitment: str, challenge: str, indices: Sequence[int]) -> bytes:
    """Return what an owner signs: that these rows, no fewer, are opened for this challenge."""
    # The numbers are on the last line, the commitment has a fixed length: the challenge may hold anything.
    numbers = ",".join(map(str, indices))
    return f"treeproof/opening/v3\n{commitment}\n{challenge}\n{numbers}".encode()


def challenged_rows(
    commitment: str, challenge: str, triggers: Sequence[int], pool_size: int, *, shown: int, controls: int
) -> tuple[int, ...]:
    """Return the numbers of the rows that a challenge opens, ascending.

    Parameters
    ----------
    triggers
        Numbers of the trigger rows.
    shown, controls
        How many trigger rows and controls, each at least 1.

    Raises
    ------
    ClaimError
        More than there are, or none, or a challenge that is no text.
    """
    others = sorted(set(range(pool_size)) - set(triggers))
    if not 1 <= shown <= len(triggers) or not 1 <= controls <= len(others):
        raise ClaimError(
            f"{shown} trigger rows and {controls} controls cannot be opened: there are {len(triggers)} and "
            f"{len(others)}, and at least one of each is needed"
        )
    drawn = b"".join(map(whole, sorted(triggers)))
    key = hmac.digest(challenge_key(commitment, challenge), drawn, "sha256")

    def first(prefix: bytes, numbers: Sequence[int], count: int) -> list[int]:
        return sorted(numbers, key=lambda number: hmac.digest(key, prefix + whole(number), "sha256"))[:count]

    return tuple(sorted(first(b"trigger", triggers, shown) + first(b"control", others, controls)))


def challenge_key(commitment: str, challenge: str) -> bytes:
    """Return the key of a commitment and a challenge; raise `ClaimError` for a challenge that is no text."""
    try:
        return hmac.digest(bytes.fromhex(commitment), challenge.encode(), "sha256")
    except UnicodeEncodeError as reason:
        raise ClaimError("the judge's challenge is no text") from reason


def check_opener(key: Ed25519PrivateKey, owner: str) -> None:
    """Raise `ClaimError` for another key than that of the owner, whose public half is given (hex)."""
    if public_hex(key) != owner:
        raise ClaimError("the key is not the one that the claim names as its owner's")


def open_claim(
    claim: PooledClaim, key: Ed25519PrivateKey, challenge: str, indices: Sequence[int]
) -> OpenedClaim:
    """Return the opening of some rows of a claim, signed by its owner.

    Raises
    ------
    ClaimError
        Another key than the owner's, or an empty challenge.
    """
    check_opener(key, claim.header.owner)
    if not challenge:
        raise ClaimError("the judge's challenge is empty: without it the owner would choose the rows")
    salt, secret, X, y = bytes.fromhex(claim.salt), bytes.fromhex(claim.secret), claim.X, claim.y
    leaves = leaves_of(claim.header, secret, X, y.tolist(), salt)
    names = [b"header", b"secret", *(row_name(index) for index in indices)]
    paths = merkle_paths(leaves, [0, 1, *(index + 2 for index in indices)])
    header, hidden, *rows = (
        OpenedPart(nonce=leaf_nonce(salt, name).hex(), path=tuple(part.hex() for part in path))
        for name, path in zip(names, paths, strict=True)
    )
    chosen = list(indices)
    opened = OpenedClaim(
        header=claim.header,
        header_proof=header,
        secret=claim.secret,
        secret_proof=hidden,
        commitment=claim.commitment,
        receipts=claim.receipts,
        indices=tuple(chosen),
        rows=packed_rows(X[chosen]),
        labels=packed_labels(y[chosen]),
        proofs=tuple(rows),
        challenge=challenge,
        signature=key.sign(signed_text(claim.commitment, challenge, chosen)).hex(),
    )
    check_opened(opened)
    return opened


def check_opened(opened: OpenedClaim) -> None:
    """Raise `ClaimError` unless every part leads to the commitment and the owner signed the opening."""
    header, indices = opened.header, opened.indices
    if list(indices) != sorted(set(indices)) or indices[-1] >= header.pool_size:
        raise ClaimError("the opened rows are not in ascending order, each once, within the pool")
    if len(opened.proofs) != len(indices):
        raise ClaimError(f"the opening has {len(opened.proofs)} proofs for {len(indices)} rows")
    X, y = opened.X, opened.y
    check_rows(header, X, y)
    check_signed(header.owner, opened.signature, signed_text(opened.commitment, opened.challenge, indices))
    header_proof, secret_proof = opened.header_proof, opened.secret_proof
    secret = bytes.fromhex(opened.secret)
    parts = [
        (0, "the header", header_leaf(header, header_proof.own_nonce), header_proof.path),
        (1, "the secret", secret_leaf(secret, secret_proof.own_nonce), secret_proof.path),
        *(
            (index + 2, f"row {index}", row_leaf(index, row, label, proof.own_nonce), proof.path)
            for index, row, label, proof in zip(indices, X, y.tolist(), opened.proofs, strict=True)
        ),
    ]
    check_paths(parts, header.pool_size + 2, opened.commitment)


def check_signed(owner: str, signature: str, text: bytes) -> None:
    """Raise `ClaimError` unless an owner's signature of an opening, hex, is of a text."""
    if not is_signed(owner, bytes.fromhex(signature), text):
        raise ClaimError("the opening is not signed by the owner that the claim names")


def check_paths(parts: Sequence[tuple[int, str, bytes, Sequence[str]]], count: int, commitment: str) -> None:
    """Raise `ClaimError` unless each part (place of `count`, name, leaf, path) leads to the commitment."""
    for place, name, leaf, path in parts:
        root = root_from_path(leaf, place, count, [bytes.fromhex(part) for part in path])
        if root is None or root.hex() != commitment:
            raise ClaimError(f"{name} does not lead to the commitment: it was edited or never in it")


def parse_opened(text: str | bytes, *, what: str = "opening") -> OpenedClaim:
    """Read and check an opening's text; raise `ClaimError`, with the name `what`, for a faulty one."""
    return parse_checked(text, OpenedClaim, check_opened, what=what, kind="a valid opening of version 3")
