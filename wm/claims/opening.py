"""Openings: some trigger rows are shown to a judge, the others stay secret for the next dispute.

An opening holds the signature, the opened rows with their labels and nonces, and for each row the Merkle path
to the commitment (version 2, `wm.claims.commitment`). Of the closed rows it reveals only their number. The
judge draws which rows are opened (`draw_rows`); a claimant who has seen the suspect could pick those that
fit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel, Field, ValidationError

from wm.claims import commitment as commitments
from wm.claims.claim import Claim, TriggerSet, check_trigger_set, parse_claim
from wm.claims.document import Document, Hash, named_errors, read_document
from wm.errors import ClaimError
from wm.signature import Signature

_SHARED = ("scheme", "signature", "commitment", "model_hash", "model_id", "class_names", "created")
"""Fields that an opening takes over from its claim."""


class OpenedRow(Document):
    """One trigger row with its proof.

    Attributes
    ----------
    index
        Row number in the owner's trigger set, from 0.
    row
        d numbers, each exactly a float32.
    label
        0 or 1.
    nonce
        The row's own nonce, hex.
    path
        Hashes from the row to the commitment, hex.
    """

    index: int = Field(ge=0)
    row: tuple[float, ...] = Field(min_length=1)
    label: int = Field(ge=0, le=1)
    nonce: Hash
    path: tuple[Hash, ...]


class Opening(Document):
    """Part of a claim; `check_opening` says whether it leads to the commitment.

    Attributes
    ----------
    scheme, signature, commitment, model_hash, model_id, class_names, created
        As in `Claim`.
    trigger_size
        k, opened and closed rows together.
    header_nonce, header_path
        Proof of signature and k.
    opened
        The rows, by ascending index.
    """

    format: Literal["treeproof-opening"] = "treeproof-opening"
    version: Literal[2] = 2
    scheme: str
    signature: str = Field(pattern=r"^[01]+$")
    trigger_size: int = Field(ge=1, le=2**40)
    header_nonce: Hash
    header_path: tuple[Hash, ...]
    opened: tuple[OpenedRow, ...] = Field(min_length=1)
    commitment: str
    model_hash: str
    model_id: str
    class_names: tuple[str, str]
    created: str | None

    @property
    def bits(self) -> Signature:
        """The signature."""
        return Signature.of(self.signature)

    @property
    def trigger_set(self) -> TriggerSet:
        """The opened rows."""
        return TriggerSet(
            rows=tuple(each.row for each in self.opened), labels=tuple(each.label for each in self.opened)
        )


def draw_rows(commitment: str, challenge: bytes, size: int, count: int) -> tuple[int, ...]:
    """Return the sorted indexes of the rows to open, a function of commitment and challenge.

    Parameters
    ----------
    commitment
        The claim's, hex.
    challenge
        The judge's random bytes, revealed only after the commitment was fixed.
    size, count
        k, and the number of rows to open, in 1..k.

    Raises
    ------
    ClaimError
        An impossible count, or an empty challenge.
    """
    if not 1 <= count <= size:
        raise ClaimError(f"{count} of {size} rows cannot be opened: give a number from 1 to {size}")
    if not challenge:
        raise ClaimError("the judge's challenge is empty: without it the owner would choose the rows")
    seed = hashlib.sha256(b"treeproof/challenge/v2\x00" + commitment.encode() + b"\x00" + challenge).digest()
    rng = np.random.default_rng(np.frombuffer(seed, dtype="<u4").tolist())
    return tuple(sorted(int(index) for index in rng.choice(size, size=count, replace=False)))


def open_rows(claim: Claim, rows: Sequence[int]) -> Opening:
    """Return the opening of some rows of a claim of version 2.

    Parameters
    ----------
    rows
        One or more distinct indexes in 0..k - 1.

    Raises
    ------
    ClaimError
        A claim of version 1, or other indexes.
    """
    if claim.version != 2:
        raise ClaimError(
            f"a claim of version {claim.version} has one hash for all rows: it can only be shown whole"
        )
    size = len(claim.trigger_set.rows)
    if not rows or len(set(rows)) != len(rows) or min(rows) < 0 or max(rows) >= size:
        raise ClaimError(f"rows to open must be distinct numbers from 0 to {size - 1}, at least one")
    nonce, trigger_set = bytes.fromhex(claim.nonce), claim.trigger_set
    leaves = commitments.leaves_of(claim.bits, trigger_set.X, trigger_set.labels, nonce)
    opening = Opening(
        **{name: getattr(claim, name) for name in _SHARED},
        trigger_size=size,
        header_nonce=commitments.header_nonce(nonce).hex(),
        header_path=_path(leaves, 0),
        opened=tuple(
            OpenedRow(
                index=index,
                row=trigger_set.rows[index],
                label=trigger_set.labels[index],
                nonce=commitments.row_nonce(nonce, index).hex(),
                path=_path(leaves, index + 1),
            )
            for index in sorted(rows)
        ),
    )
    check_opening(opening)
    return opening


def _path(leaves: Sequence[bytes], place: int) -> tuple[str, ...]:
    (path,) = commitments.merkle_paths(leaves, [place])
    return tuple(part.hex() for part in path)


def check_opening(opening: Opening) -> None:
    """Check that header and opened rows lead to the commitment, each row once, with an index below k.

    Raises
    ------
    ClaimError
        They do not, or `check_trigger_set` refuses the rows; the text gives the reason.
    """
    check_trigger_set(opening.trigger_set)
    opened = opening.opened
    indexes = [each.index for each in opened]
    if sorted(set(indexes)) != indexes:
        raise ClaimError("the opened rows are not in ascending order, each once")
    if indexes[-1] >= opening.trigger_size:
        raise ClaimError(f"row {indexes[-1]} is opened, but there are {opening.trigger_size} rows")
    count = opening.trigger_size + 1
    header = commitments.header_leaf(
        opening.bits, opening.trigger_size, len(opened[0].row), bytes.fromhex(opening.header_nonce)
    )
    if not _leads(header, 0, count, opening.header_path, opening.commitment):
        raise ClaimError("signature or number of rows does not lead to the commitment: it was edited")
    for each in opened:
        row = np.array(each.row, dtype=np.float32)
        leaf = commitments.row_leaf(each.index, row, each.label, bytes.fromhex(each.nonce))
        if not _leads(leaf, each.index + 1, count, each.path, opening.commitment):
            raise ClaimError(
                f"row {each.index} does not lead to the commitment: it was edited or never in it"
            )


def _leads(leaf: bytes, place: int, count: int, path: Sequence[str], commitment: str) -> bool:
    root = commitments.root_from_path(leaf, place, count, [bytes.fromhex(part) for part in path])
    return root is not None and root.hex() == commitment


def parse_opening(text: str | bytes, *, what: str = "opening") -> Opening:
    """Read and check an opening's text; raise `ClaimError`, with the name `what`, for a faulty one."""
    with named_errors(what, "a valid opening"):
        opening = Opening.model_validate_json(text)
        check_opening(opening)
    return opening


class _AnyFormat(BaseModel):
    """The field that says which kind of file this is."""

    format: str


def read_claim_or_opening(path: str | Path) -> Claim | Opening:
    """Read and check a whole claim, or the opening of one; other files are refused as claims."""
    text = read_document(path, "a claim")
    try:
        found = _AnyFormat.model_validate_json(text).format
    except ValidationError:
        found = ""
    if found == Opening.model_fields["format"].default:
        return parse_opening(text, what=str(path))
    return parse_claim(text, what=str(path))
