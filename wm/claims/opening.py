"""Partial disclosure: some trigger rows are opened for a judge, the others stay secret for the next dispute.

An opening holds the signature, the opened rows with their labels and nonces, and for each the path of hashes
to the commitment (version 2, `wm.claims.commitment`). Whoever reads it learns nothing about the rows that
stay closed but how many they are. Which rows are opened must not be the claimant's choice after seeing the
suspect: let the judge draw them (`draw_rows`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, Field, ValidationError

from wm.claims import commitment as commitments
from wm.claims.claim import (
    MAX_CLAIM_BYTES,
    NONCE_BYTES,
    Claim,
    StrictModel,
    TriggerSet,
    check_trigger_set,
    first_fault,
    parse_claim,
)
from wm.errors import ClaimError
from wm.formats.bounded import read_bounded
from wm.signature import Signature

_HASH = r"^[0-9a-f]{64}$"
_Hash = Annotated[str, Field(pattern=_HASH)]


class OpenedRow(StrictModel):
    """One trigger row with its proof.

    Attributes
    ----------
    index
        Its number in the owner's trigger set, from 0.
    row
        d numbers, each exactly a float32.
    label
        0 or 1.
    nonce
        The row's own, hex.
    path
        Hashes from the row to the commitment, hex.
    """

    index: int = Field(ge=0)
    row: tuple[float, ...] = Field(min_length=1)
    label: int = Field(ge=0, le=1)
    nonce: str = Field(pattern=rf"^[0-9a-f]{{{2 * NONCE_BYTES}}}$")
    path: tuple[_Hash, ...]


class Opening(StrictModel):
    """What an owner shows instead of the whole claim; check it with `check_opening`.

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
    header_nonce: str = Field(pattern=rf"^[0-9a-f]{{{2 * NONCE_BYTES}}}$")
    header_path: tuple[_Hash, ...]
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

    def to_json(self) -> str:
        """Return the file's text."""
        return json.dumps(self.model_dump(mode="json"), indent=1) + "\n"


def draw_rows(commitment: str, challenge: bytes, size: int, count: int) -> tuple[int, ...]:
    """Return which rows to open: drawn by the judge's challenge and the commitment, the same for everybody.

    Parameters
    ----------
    commitment
        Of the claim, hex.
    challenge
        The judge's random bytes, made known only after the commitment was fixed.
    size, count
        k, and how many of the rows are opened, in 1..k.

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
        Indexes, distinct, at least one.

    Raises
    ------
    ClaimError
        A claim of version 1, or indexes that are none of its rows.
    """
    if claim.version != 2:
        raise ClaimError(
            f"a claim of version {claim.version} has one hash for all rows: it can only be shown whole"
        )
    size = len(claim.trigger_set.rows)
    if not rows or len(set(rows)) != len(rows) or min(rows) < 0 or max(rows) >= size:
        raise ClaimError(f"rows to open must be distinct numbers from 0 to {size - 1}, at least one")
    nonce = bytes.fromhex(claim.nonce)
    trigger_set = claim.trigger_set
    leaves = commitments.leaves_of(claim.bits, trigger_set.X, trigger_set.labels, nonce)
    opening = Opening(
        scheme=claim.scheme,
        signature=claim.signature,
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
        commitment=claim.commitment,
        model_hash=claim.model_hash,
        model_id=claim.model_id,
        class_names=claim.class_names,
        created=claim.created,
    )
    check_opening(opening)
    return opening


def _path(leaves: Sequence[bytes], place: int) -> tuple[str, ...]:
    return tuple(part.hex() for part in commitments.merkle_path(leaves, place))


def check_opening(opening: Opening) -> None:
    """Raise `ClaimError`, with the reason, for an opening that no judge should look at further.

    Checked: what `check_trigger_set` checks of the opened rows; each row once, with a number below k; header
    and every row lead to the commitment.
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
    """Read and check an opening's text; `what` names the file in errors.

    Raises
    ------
    ClaimError
        Not such a file, a malformed one, or one that `check_opening` refuses.
    """
    try:
        opening = Opening.model_validate_json(text)
        check_opening(opening)
    except ValidationError as reason:
        raise ClaimError(f"{what}: not a valid opening: {first_fault(reason)}") from reason
    except ClaimError as reason:
        raise ClaimError(f"{what}: {reason}") from reason
    return opening


class _AnyFormat(BaseModel):
    """The one field that tells what a file is."""

    format: str


def read_claim_or_opening(path: str | Path) -> Claim | Opening:
    """Read and check what an owner shows a judge: a whole claim, or some of its rows.

    Raises
    ------
    ClaimError
        No such file, one larger than `MAX_CLAIM_BYTES`, or as in `parse_claim` and `parse_opening`; what is
        neither is refused as a claim.
    """
    text = read_bounded(path, error=ClaimError, max_bytes=MAX_CLAIM_BYTES, kind="a claim")
    try:
        found = _AnyFormat.model_validate_json(text).format
    except ValidationError:
        found = ""
    if found == Opening.model_fields["format"].default:
        return parse_opening(text, what=str(path))
    return parse_claim(text, what=str(path))
