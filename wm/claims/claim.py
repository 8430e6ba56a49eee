"""The claim: the secret JSON file by which an owner proves ownership to a judge.

It holds the signature, the trigger set and a commitment (`wm.claims.commitment`). An owner who publishes the
commitment before releasing the model can show later that nothing was chosen after seeing the suspect. Files
of version 1 commit to everything with one hash, those of version 2 with a Merkle tree. In both the owner
chose rows and signature, so that no verdict on them is better than an indication; campaigns use them, real
claims are of version 3 (`wm.claims.pooled`).
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from wm.claims import commitment as commitments
from wm.claims.document import MAX_CLASSES, Document, SecretDocument, first_error, named_errors, read_document
from wm.codebook import Codebook, Marks, flat_bits
from wm.errors import ClaimError, SignatureError
from wm.signature import Signature

NONCE_BYTES = 32


class TriggerSet(Document):
    """k secret training rows with their true labels.

    Attributes
    ----------
    rows
        k lists of d numbers, each exactly a float32.
    labels
        k class values, 0, 1, ....
    """

    rows: tuple[tuple[float, ...], ...] = Field(min_length=1)
    labels: tuple[Annotated[int, Field(ge=0, lt=MAX_CLASSES)], ...]

    @property
    def X(self) -> NDArray[np.float32]:  # noqa: N802 - the field's name for a data matrix
        """The rows as an array: (k, d)."""
        return np.array(self.rows, dtype=np.float32)

    @property
    def y(self) -> NDArray[np.int64]:
        """The labels as an array: (k,)."""
        return np.array(self.labels, dtype=np.int64)


class Claim(SecretDocument):
    """A claim file's content; `check_claim` says whether it is consistent.

    Attributes
    ----------
    version
        Version of the commitment.
    scheme
        Name of the watermarking scheme.
    signature
        m bits as a string of 0 and 1; in scheme codebook those of the first trigger row, of the second, ....
    expected_ones
        In scheme codebook: each bit is 1 with this chance, over m. None in other schemes.
    trigger_set
        See `TriggerSet`.
    nonce
        Random bytes, hex, without which nobody can guess what the commitment hides.
    commitment
        Hex; see `commitment_of`.
    model_hash
        Content hash of the forest as released.
    model_id
        The owner's name for the model.
    class_names
        Names of the classes 0, 1, ....
    created
        Date of the claim, ISO 8601; None in campaigns, whose outcomes must not depend on the clock.
    """

    format: Literal["treeproof-claim"] = "treeproof-claim"
    version: Literal[1, 2] = 1
    scheme: str
    signature: str = Field(pattern=r"^[01]+$")
    expected_ones: int | None = Field(default=None, ge=1, exclude_if=lambda value: value is None)
    trigger_set: TriggerSet
    nonce: str = Field(pattern=rf"^[0-9a-f]{{{2 * NONCE_BYTES}}}$")
    commitment: str
    model_hash: str
    model_id: str
    class_names: Annotated[tuple[str, ...], Field(min_length=2, max_length=MAX_CLASSES)]
    created: str | None

    @property
    def bits(self) -> Marks:
        """The signature, or the codebook.

        Raises
        ------
        ClaimError
            A codebook that does not fit the trigger rows.
        """
        if self.expected_ones is None:
            return Signature.of(self.signature)
        try:
            return Codebook.from_text(self.signature, len(self.trigger_set.labels), self.expected_ones)
        except SignatureError as reason:
            raise ClaimError(str(reason)) from reason


def commitment_of(signature: Marks, trigger_set: TriggerSet, nonce: bytes, version: Literal[1, 2] = 1) -> str:
    """Return the commitment to a signature and trigger set, as hex.

    Version 1 is `commitments.whole_commitment`, version 2 the Merkle root of `commitments.leaves_of`.
    """
    rows, labels = trigger_set.X, trigger_set.labels
    if version == 1:
        return commitments.whole_commitment(signature, rows, labels, nonce)
    return commitments.merkle_root(commitments.leaves_of(signature, rows, labels, nonce)).hex()


def make_claim(
    *,
    scheme: str,
    signature: Marks,
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    model_hash: str,
    model_id: str,
    class_names: tuple[str, ...],
    nonce: bytes | None = None,
    created: str | None = None,
    version: Literal[1, 2] = commitments.LATEST,
) -> Claim:
    """Return the claim of an owner.

    Parameters
    ----------
    X : (k, d) float32
        The trigger set.
    y : (k,)
        Its true labels, 0, 1, ....
    nonce
        `NONCE_BYTES` secret bytes; None draws them.
    version
        Version of the commitment.

    Raises
    ------
    ClaimError
        The claim would be refused by `check_claim`.
    """
    nonce = secrets.token_bytes(NONCE_BYTES) if nonce is None else nonce
    try:
        trigger_set = TriggerSet(
            rows=tuple(tuple(float(value) for value in row) for row in X),
            labels=tuple(int(label) for label in y),
        )
        check_trigger_set(trigger_set)
        claim = Claim(
            version=version,
            scheme=scheme,
            signature=str(flat_bits(signature)),
            expected_ones=signature.expected_ones if isinstance(signature, Codebook) else None,
            trigger_set=trigger_set,
            nonce=nonce.hex(),
            commitment=commitment_of(signature, trigger_set, nonce, version),
            model_hash=model_hash,
            model_id=model_id,
            class_names=class_names,
            created=created,
        )
    except ValidationError as reason:
        raise ClaimError(f"no claim can be made of this: {first_error(reason)}") from reason
    check_claim(claim)
    return claim


def parse_claim(text: str | bytes, *, what: str = "claim") -> Claim:
    """Read and check a claim file's text; raise `ClaimError`, with the name `what`, for a faulty one."""
    with named_errors(what, "a valid claim"):
        claim = Claim.model_validate_json(text)
        check_claim(claim)
    return claim


def read_claim(path: str | Path) -> Claim:
    """Read and check a claim file; errors as in `read_document` and `parse_claim`."""
    return parse_claim(read_document(path, "a claim"), what=str(path))


def check_claim(claim: Claim) -> None:
    """Raise `ClaimError` unless `check_trigger_set` passes, labels are named, and the commitment fits."""
    check_trigger_set(claim.trigger_set)
    if max(claim.trigger_set.labels) >= len(claim.class_names):
        raise ClaimError(f"a label is none of the {len(claim.class_names)} classes that are named")
    expected = commitment_of(claim.bits, claim.trigger_set, bytes.fromhex(claim.nonce), claim.version)
    if expected != claim.commitment:
        raise ClaimError("the commitment does not fit: signature, trigger set or nonce was edited")


def check_trigger_set(trigger_set: TriggerSet) -> None:
    """Raise `ClaimError` for rows without label, of unequal length, repeated, or not exactly float32."""
    if len(trigger_set.labels) != len(trigger_set.rows):
        raise ClaimError(f"{len(trigger_set.rows)} trigger rows have {len(trigger_set.labels)} labels")
    if len({len(row) for row in trigger_set.rows}) != 1 or not trigger_set.rows[0]:
        raise ClaimError("the trigger rows are not equally long, or empty")
    with np.errstate(over="ignore"):
        exact = np.array(trigger_set.rows, dtype=np.float64)
        if not np.array_equal(exact.astype(np.float32).astype(np.float64), exact):
            raise ClaimError("a trigger row holds a number that is not a float32")
    if len(set(commitments.row_bytes(trigger_set.X))) != len(exact):
        raise ClaimError("a trigger row occurs twice: repeated rows prove nothing")
